//! Meters are told the round-trip times that transports measure: each one, before the next packet,
//! and of no other flow.

#[path = "common/tcp.rs"]
mod settings;
#[path = "../../core/tests/common/toy.rs"]
mod toy;

use settings::ALL;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::endpoint::{Endpoint, EndpointSetup, HostCx, Notice, Payload};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::Packet;
use tidegate_core::params::Role;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::{EndpointFactory, Traffic};
use tidegate_sim::world::World;
use toy::toy;

#[derive(Clone, Copy, Debug, PartialEq)]
/// An event at a meter or an endpoint.
pub enum Happened {
    /// An acknowledgement has reached the sender, which now has this smoothed round-trip time.
    Acknowledged(Option<Span>),
    /// The meter receives a profile's round-trip time.
    Told(ProfileIx, Span),
    /// A packet of a profile passes the meter.
    Passed(ProfileIx),
}

/// The events in order.
pub type Log = Arc<Mutex<Vec<Happened>>>;

/// A meter that follows round-trip times, and logs the events.
#[derive(Default)]
pub struct Follower(Log);

toy!(FollowerParams makes Follower: "follower", Role::Meter { colours: false });

impl Meter for Follower {
    fn follows_round_trips(&self) -> bool {
        true
    }

    fn set_round_trip(&mut self, profile: ProfileIx, round_trip: Span) {
        self.0.lock().unwrap().push(Happened::Told(profile, round_trip));
    }

    fn see(&mut self, _: &mut Ctx<'_>, profile: ProfileIx, _: &mut Packet) -> Reading {
        self.0.lock().unwrap().push(Happened::Passed(profile));
        Verdict::Accept.into()
    }
}

/// An endpoint, and a log of its measurement at each packet that it receives.
struct Noted(Box<dyn Endpoint>, Log);

impl Endpoint for Noted {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.0.wake(cx)
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        let at = self.0.receive(cx, packet, payload);
        self.1.lock().unwrap().push(Happened::Acknowledged(self.0.round_trip()));
        at
    }

    fn notice(&mut self, cx: &mut HostCx<'_>, notice: Notice) -> Time {
        self.0.notice(cx, notice)
    }

    fn round_trip(&self) -> Option<Span> {
        self.0.round_trip()
    }
}

#[derive(Debug)]
struct Noting(Arc<dyn EndpointFactory>, Log);

impl EndpointFactory for Noting {
    fn make(&self, setup: EndpointSetup) -> Box<dyn Endpoint> {
        Box::new(Noted(self.0.make(setup), self.1.clone()))
    }
}

/// A host with these flows to another one over a link that loses packets.
fn network(flows: &str, rate: &str, delay: &str, loss: f64) -> Network {
    let text = format!(
        "version = 1\nduration = \"5s\"\n[[node]]\nname = \"a\"\nkind = \"host\"\n[[node]]\nname = \"b\"\nkind = \"host\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\nloss = {loss}\n\
         dropper = {{ kind = \"drop-tail\", limit = \"20p\" }}\n{flows}"
    );
    let scenario =
        Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap()
}

/// Puts a meter in front of the first link that logs events, along with the measurements of its
/// first flow.
fn noted(network: &mut Network) -> Log {
    let log = Log::default();
    let meters = log.clone();
    let meter = MeterKind::outside(FollowerParams {}).made_by(move || Box::new(Follower(meters.clone())));
    network.links[0].port.meters = vec![meter];
    if let Traffic::Endpoint(factory) = &network.flows[0].traffic {
        let noting = Noting(factory.clone(), log.clone());
        network.flows[0].traffic = Traffic::Endpoint(Arc::new(noting));
    }
    log
}

fn run(network: &Network) -> World<Calendar> {
    let mut world = World::new(network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

const CROSS: &str = "[[flow]]\nname = \"cross\"\nfrom = \"a\"\nto = \"b\"\nsize = \"500B\"\n\
                     source = { kind = \"poisson\", rate = \"500kbit\" }\n";

/// After each acknowledgement the meter has the sender's smoothed round-trip time. It gets none for
/// other profiles.
#[test]
fn a_meter_has_the_smoothed_round_trip_time_after_every_acknowledgement() {
    let (mut told, mut different, mut passed) = (0, 0, 0);
    for seed in 0..40 {
        let mut rng = Rng::named(seed, "round trips");
        let settings = ALL[rng.below(ALL.len() as u64) as usize];
        let granularity = ["1ms", "10ms", "100ms"][rng.below(3) as usize];
        let connection = format!(
            "[[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, granularity = \"{granularity}\" }}\n"
        );
        let delay = format!("{}us", 100 + rng.below(80_000));
        let loss = [0.0, 0.01][rng.below(2) as usize];
        let mut network = network(&format!("{connection}{CROSS}"), "4mbit", &delay, loss);
        // Flows come first.
        network.flows.rotate_left(1);
        for flow in &mut network.flows {
            flow.peer = flow.peer.map(|peer| peer - 1);
        }
        let log = noted(&mut network);
        run(&network);
        let log = log.lock().unwrap();
        let (mut known, mut own) = (None, None);
        let mut events = log.iter().peekable();
        while let Some(happened) = events.next() {
            match happened {
                Happened::Acknowledged(Some(srtt)) => {
                    let Some(Happened::Told(profile, round_trip)) = events.next() else {
                        panic!("seed {seed}: nobody was told of {srtt:?}");
                    };
                    assert_eq!(round_trip, srtt, "seed {seed}");
                    assert_eq!(own.get_or_insert(*profile), profile, "seed {seed}");
                    told += 1;
                    different += u32::from(known != Some(*srtt));
                    known = Some(*srtt);
                }
                Happened::Acknowledged(None) => {}
                Happened::Told(..) => panic!("seed {seed}: told twice"),
                Happened::Passed(profile) => passed += u32::from(own.is_some_and(|own| own != *profile)),
            }
        }
    }
    assert!(told > 5_000 && different > 1_000 && passed > 1_000, "{told} {different} {passed}");
}

/// A source with a pattern of its own has no round-trip time. A meter that would follow it is told
/// none, and every packet leaves as without it.
#[test]
fn a_source_without_round_trip_times_tells_of_none() {
    let plain = network(CROSS, "1mbit", "5ms", 0.0);
    let mut metered = plain.clone();
    let log = noted(&mut metered);
    assert_eq!(run(&metered).fingerprint(), run(&plain).fingerprint());
    let log = log.lock().unwrap();
    assert!(log.len() > 500 && log.iter().all(|happened| matches!(happened, Happened::Passed(_))));
}
