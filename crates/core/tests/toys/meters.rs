//! Meters that do their own work: one bucket for several flows, and one behind the other.

use crate::common::{World, kind, pick, rate, rounds};
use crate::toy::toy;
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::contract::Contract;
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::{BodyId, Colour, Packet};
use tidegate_core::params::Role;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::TokenBucket;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

/// Ticks a byte at 8 Mbit/s, of which the rates below are parts.
const TICKS: i128 = 100_000;

/// Colours red the packets that do not conform to the profile's bucket, of an average interval's
/// depth; ignores packets that came red.
#[derive(Default)]
pub struct Bucket(Vec<Option<TokenBucket>>);
impl Meter for Bucket {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        let (rate, interval) = terms.reserve.zip(terms.interval).unwrap();
        self.0.resize(self.0.len().max(profile.ix() + 1), None);
        self.0[profile.ix()] = Some(TokenBucket::new(rate, rate.bytes_in(interval) as u32));
    }
    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let bucket = self.0[profile.ix()].as_mut().unwrap();
        if packet.mark.colour() == Colour::Green {
            if bucket.conforms_at(packet.len) > cx.now {
                packet.mark = packet.mark.coloured(Colour::Red);
            } else {
                bucket.take(cx.now, packet.len);
            }
        }
        Verdict::Accept.into()
    }
}

toy!(BucketParams makes Bucket: "bucket", Role::Meter { colours: true });

fn bucket() -> MeterKind {
    MeterKind::outside(BucketParams {})
}

fn terms(bits: u64, millis: u64) -> Contract {
    let interval = Some(Span::from_millis(millis));
    Contract { reserve: Some(rate(bits)), interval, ..Contract::default() }
}

/// The bucket as it is defined: bytes × ticks that drip in.
struct Oracle {
    slower: i128,
    depth: i128,
    tokens: i128,
}
impl Oracle {
    fn new(bits: u64, millis: i128) -> Oracle {
        let depth = i128::from(bits) / 8 * millis / 1000;
        let slower = i128::from(8_000_000 / bits);
        let tokens = depth * TICKS * slower;
        Oracle { slower, depth: tokens, tokens }
    }
    fn wait(&mut self, span: Span) {
        self.tokens = self.depth.min(self.tokens + i128::from(span.ticks()));
    }
    fn conforms(&mut self, len: u32) -> bool {
        let need = i128::from(len) * TICKS * self.slower;
        let conforms = need <= self.tokens;
        self.tokens -= if conforms { need } else { 0 };
        conforms
    }
}

/// Three flows share a bucket, a fourth has one of its own with the same terms.
#[test]
fn one_bucket_for_three_flows() {
    let mut seen = [[0; 2]; 4];
    for seed in 0..rounds(5) {
        let port = PortPlan {
            meters: vec![bucket()],
            profiles: vec![terms(1_000_000, 20)],
            ..PortPlan::new(kind("fifo"))
        };
        let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
        let legs = [Some(0), Some(0), Some(0), None].map(|shared| {
            let profiles = [shared, None, None, None];
            world.open(0, &FlowPlan { contract: terms(1_000_000, 20), profiles, ..FlowPlan::default() })
        });
        let mut oracles = [0; 2].map(|_| Oracle::new(1_000_000, 20));
        let mut rng = Rng::named(seed, "aggregate");
        for body in 0..2000 {
            let (flow, len) = (rng.below(4) as usize, pick(&mut rng, &[40, 576, 1500]));
            world.arrive_packet(&[legs[flow]], Packet::new(BodyId(body), len));
            let green = world.send(0).unwrap().mark.colour() == Colour::Green;
            assert_eq!(green, oracles[flow / 3].conforms(len), "seed {seed}, packet {body}");
            seen[flow][usize::from(green)] += 1;
            let gap = Span::from_micros(rng.below(8000));
            world.wait(gap);
            oracles.iter_mut().for_each(|oracle| oracle.wait(gap));
        }
    }
    assert!(seen.as_flattened().iter().all(|count| *count > 50), "{seen:?}");
}

/// A packet passes its flow's own bucket in its class, its site's and the port's: each takes the
/// packets passed by the one before, and nothing else.
#[test]
fn a_cascade_of_three_meters() {
    let mut stopped = [0; 4];
    for seed in 0..rounds(5) {
        let class = |parent| ClassPlan { parent, meters: vec![bucket()], ..ClassPlan::new(kind("fifo")) };
        let port = PortPlan {
            classes: vec![class(None), class(Some(0))],
            meters: vec![bucket()],
            profiles: vec![terms(2_000_000, 10), terms(2_000_000, 20)],
            ..PortPlan::new(kind("fifo"))
        };
        let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
        let legs = [0; 3].map(|_| {
            let profiles = [None, Some(0), Some(1), None];
            let contract = terms(1_000_000, 20);
            world.open(0, &FlowPlan { class: Some(1), contract, profiles, ..FlowPlan::default() })
        });
        // The port's alone: its profile is the last that is shared, and the first that such a
        // packet passes.
        let beside = FlowPlan { profiles: [Some(1), None, None, None], ..FlowPlan::default() };
        let beside = world.open(0, &FlowPlan { contract: terms(1_000_000, 20), ..beside });
        let mut own = [0; 3].map(|_| Oracle::new(1_000_000, 20));
        let (mut site, mut all) = (Oracle::new(2_000_000, 10), Oracle::new(2_000_000, 20));
        let mut rng = Rng::named(seed, "cascade");
        for body in 0..3000 {
            let (flow, len) = (rng.below(4) as usize, pick(&mut rng, &[40, 576, 1000]));
            let leg = legs.get(flow).copied().unwrap_or(beside);
            world.arrive_packet(&[leg], Packet::new(BodyId(body), len));
            let green = world.send(0).unwrap().mark.colour() == Colour::Green;
            let passes = match own.get_mut(flow) {
                Some(own) => vec![own, &mut site, &mut all],
                None => vec![&mut all],
            };
            let first = 3 - passes.len();
            let stopped_at = passes.into_iter().position(|bucket| !bucket.conforms(len));
            let stage = stopped_at.map_or(3, |at| first + at);
            assert_eq!(green, stage == 3, "seed {seed}, packet {body} at stage {stage}");
            stopped[stage] += 1;
            let gap = Span::from_micros(rng.below(4000));
            world.wait(gap);
            own.iter_mut().chain([&mut site, &mut all]).for_each(|oracle| oracle.wait(gap));
        }
    }
    assert!(stopped.iter().all(|count| *count > 100), "{stopped:?}");
}
