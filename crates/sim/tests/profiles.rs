//! One profile and several flows: used together, divided by weights, or by the senders' own choice
//! of colours.

#[path = "../../core/tests/common/toy.rs"]
mod toy;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::{Colour, Packet};
use tidegate_core::params::Role;
use tidegate_core::units::{TICKS_PER_SECOND, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;
use toy::toy;

/// Packets in order: time, length, colour. Flows differ in the lengths of their packets.
type Seen = Vec<(Time, u32, Colour)>;

/// A meter behind those of a port: it notes the colour of each packet.
#[derive(Default)]
pub struct Notes(Arc<Mutex<Seen>>);

toy!(NotesParams makes Notes: "notes", Role::Meter { colours: false });

impl Meter for Notes {
    fn see(&mut self, cx: &mut Ctx<'_>, _: ProfileIx, packet: &mut Packet) -> Reading {
        self.0.lock().unwrap().push((cx.now, packet.len, packet.mark.colour()));
        Verdict::Accept.into()
    }
}

/// The colours that the meter at the host of these flows gives to their packets.
fn seen(meter: &str, profile: &str, flows: &[&str]) -> Seen {
    let text = format!(
        "version = 1\nduration = \"20s\"\n[[node]]\nname = \"a\"\nkind = \"host\"\n[[node]]\nname = \"b\"\nkind = \"host\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"100mbit\"\ndelay = \"1ms\"\nmeter = {meter}\n\
         [[profile]]\nname = \"p\"\n{profile}\n{}",
        flows.concat()
    );
    let scenario =
        Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut network = assemble(&scenario).unwrap();
    let notes = Arc::new(Mutex::new(Seen::new()));
    let kept = notes.clone();
    let meter = MeterKind::outside(NotesParams {}).made_by(move || Box::new(Notes(kept.clone())));
    network.links[0].port.meters.push(meter);
    let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    std::mem::take(&mut *notes.lock().unwrap())
}

/// A flow of Poisson traffic whose packets have a size of their own.
fn flow(name: &str, size: u32, rate: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nsize = \"{size}B\"\n\
         source = {{ kind = \"poisson\", rate = \"{rate}\" }}\n{keys}\n"
    )
}

/// The single rate three colour marker (RFC 2697) with whole tokens: bits, times the ticks of a
/// second.
struct Buckets {
    rate: u128,
    depths: [u128; 2],
    levels: [u128; 2],
    filled: Time,
}

impl Buckets {
    /// With a committed and an excess burst in bytes, both full.
    fn new(bits_per_second: u128, bursts: [u128; 2]) -> Buckets {
        let depths = bursts.map(|bytes| bytes * 8 * u128::from(TICKS_PER_SECOND));
        Buckets { rate: bits_per_second, depths, levels: depths, filled: Time::ORIGIN }
    }

    fn colour(&mut self, now: Time, len: u32) -> Colour {
        let mut gained = u128::from(now.since(self.filled).ticks()) * self.rate;
        self.filled = now;
        for (level, depth) in self.levels.iter_mut().zip(self.depths) {
            let taken = gained.min(depth - *level);
            *level += taken;
            gained -= taken;
        }
        let needed = u128::from(len) * 8 * u128::from(TICKS_PER_SECOND);
        for (level, colour) in self.levels.iter_mut().zip([Colour::Green, Colour::Yellow]) {
            if *level >= needed {
                *level -= needed;
                return colour;
            }
        }
        Colour::Red
    }
}

/// Checks the packets of these lengths against one pair of buckets, and that every colour occurs.
fn check(seen: &Seen, lengths: &[u32], mut buckets: Buckets) {
    let mut colours = BTreeMap::<Colour, u32>::new();
    for (now, len, colour) in seen.iter().filter(|(_, len, _)| lengths.contains(len)) {
        assert_eq!(*colour, buckets.colour(*now, *len), "{len} at {now:?}");
        *colours.entry(*colour).or_default() += 1;
    }
    assert!(colours.len() == 3 && colours.values().all(|count| *count >= 5), "{lengths:?}: {colours:?}");
}

fn of(seen: &Seen, len: u32) -> Seen {
    seen.iter().filter(|one| one.1 == len).copied().collect()
}

const PROFILE: &str = "reserve = \"1mbit\"\nworkahead = \"5kB\"\nexcess_burst = \"2500B\"";

/// A fifth and four fifths of 1 Mbit/s, of 5000 bytes and of 2500 bytes are separate buckets. Use
/// of one has no effect on the other.
#[test]
fn a_weight_is_a_share_of_the_rate_and_of_the_bursts() {
    let keys = |weight: u32| format!("profile = \"p\"\nweight = {weight}");
    let (small, large) = (flow("a", 250, "260kbit", &keys(1)), flow("b", 700, "1mbit", &keys(4)));
    let both = seen("\"srtcm\"", PROFILE, &[&small, &large]);
    check(&both, &[250], Buckets::new(200_000, [1000, 500]));
    check(&both, &[700], Buckets::new(800_000, [4000, 2000]));
    let silent = large.replace("weight = 4", "weight = 4\nstart = \"20s\"");
    let alone = seen("\"srtcm\"", PROFILE, &[&small, &silent]);
    assert_eq!(alone.len(), of(&alone, 250).len());
    assert_eq!(alone, of(&both, 250));
    // Three flows of weight 1 count three times.
    let three = format!("{}count = 3\n", flow("c", 250, "1mbit", &keys(1)));
    let beside =
        seen("\"srtcm\"", PROFILE, &[&small, &three.replace("250B", "90B"), &silent.replace("= 4", "= 1")]);
    assert_eq!(of(&beside, 250), of(&both, 250));
}

/// Without weights, the flows that name a profile use it together, and no other flow does.
#[test]
fn a_profile_is_used_by_the_flows_that_name_it() {
    let named = "profile = \"p\"";
    let flows =
        [flow("a", 250, "500kbit", named), flow("b", 700, "600kbit", named), flow("c", 90, "300kbit", "")];
    let all = seen("\"srtcm\"", PROFILE, &flows.each_ref().map(String::as_str));
    check(&all, &[250, 700], Buckets::new(1_000_000, [5000, 2500]));
    let others = of(&all, 90);
    assert!(others.len() > 1000 && others.iter().all(|one| one.2 == Colour::Green));
}

/// Packets that the source has coloured out of profile use none of the profile where the meter
/// heeds colours. A colour-blind meter meters all packets alike.
#[test]
fn a_sender_chooses_what_is_in_its_profile() {
    let keys = |colour: &str| format!("profile = \"p\"\ncolour = \"{colour}\"");
    let chosen = flow("a", 250, "1050kbit", &keys("green"));
    let rest = flow("b", 700, "1mbit", &keys("red"));
    let aware = seen("{ kind = \"srtcm\", mode = \"colour-aware\" }", PROFILE, &[&chosen, &rest]);
    check(&aware, &[250], Buckets::new(1_000_000, [5000, 2500]));
    let out = of(&aware, 700);
    assert!(out.len() > 1000 && out.iter().all(|one| one.2 == Colour::Red));
    let blind = seen("\"srtcm\"", PROFILE, &[&chosen, &rest]);
    check(&blind, &[250, 700], Buckets::new(1_000_000, [5000, 2500]));
}

/// A connection's data leave in the colour that was chosen, and its answers in theirs.
#[test]
fn a_connection_has_colours() {
    let connection = "[[connection]]\nname = \"c\"\nfrom = \"b\"\nto = \"a\"\nsize = \"1kB\"\n\
                      transport = { kind = \"tcp\", stack = \"rfc\" }\n\
                      data = { kind = \"transfers\", size = \"9600B\", think = \"100ms\" }\n\
                      colour = \"red\"\nanswers = { colour = \"yellow\" }\n";
    for (data, len, colour) in [
        (connection.to_owned(), 40, Colour::Yellow),
        (connection.replace("from = \"b\"\nto = \"a\"", "from = \"a\"\nto = \"b\""), 1000, Colour::Red),
    ] {
        let seen = seen("{ kind = \"srtcm\", mode = \"colour-aware\" }", PROFILE, &[&data]);
        assert!(seen.len() > 100 && seen.iter().all(|one| (one.1, one.2) == (len, colour)), "{colour:?}");
    }
}
