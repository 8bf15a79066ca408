//! Whole networks of connections whose windows a loss reduces, and which a lost packet does not
//! silence.

#[path = "common/long.rs"]
mod long;
#[path = "common/tcp.rs"]
mod settings;

use settings::{CUBIC, SACK};
use std::path::Path;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::world::World;

fn defect(file: &str, sets: &[(&str, &str)]) -> Network {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects").join(file);
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    assemble(&Scenario::load(&path, &sets).unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn run(network: &Network, seed: u64, probes: &Probes) -> World<Calendar> {
    let mut world = World::new(network, seed, probes).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// The share of the busiest link that was used, and the mean time that a
/// packet of data waited, in ms.
fn outcome(network: &Network, seed: u64) -> (f64, f64) {
    let world = run(network, seed, &Probes::default());
    // The data of a connection are one flow, and its acknowledgements, which are 40 B, another.
    let data = || world.records().iter().filter(|record| record.received.1 > 100 * record.received.0);
    let packets: u64 = data().map(|record| record.received.0).sum();
    let waited = |record: &tidegate_sim::record::FlowRecord| {
        record.queueing.mean().unwrap().as_secs_f64() * record.received.0 as f64
    };
    let seconds = (network.duration - network.warmup).as_secs_f64();
    // Bits out of the link: those that left their sources before the warm-up's end count, too.
    let used =
        |ix: usize| world.link(ix).sent.1 as f64 * 8.0 / seconds / network.links[ix].rate.bits_per_second();
    let most = (0..network.links.len()).map(used).fold(0.0, f64::max);
    (most, data().map(waited).sum::<f64>() / packets as f64 * 1e3)
}

/// CoDel's target is 5 ms. With windows that losses raised, the link was used to 82 %, and packets
/// waited for 84 ms.
#[test]
fn cubic_over_codel_fills_its_link_without_a_queue() {
    let (used, waited) = outcome(&defect("cubic-rises.toml", &[]), 1);
    assert!(used > 0.98 && waited < 8.0, "{used} of the link, {waited} ms");
}

/// Connections that start together over one link with a dropper.
fn relative(settings: &str, mbit: u64, delay: u64, connections: u64, dropper: &str, seconds: u64) -> Network {
    let text = format!(
        "version = 1\nduration = \"{seconds}s\"\nwarmup = \"{}s\"\n\
         node = [{{ name = \"L\" }}, {{ name = \"R\" }}, {{ name = \"s\", kind = \"host\" }}, {{ name = \"d\", kind = \"host\" }}]\n\
         link = [{{ from = \"s\", to = \"L\", rate = \"10gbit\", delay = \"{delay}ms\" }},\n\
         {{ from = \"L\", to = \"R\", rate = \"{mbit}mbit\", delay = \"{delay}ms\", duplex = false, dropper = {dropper} }},\n\
         {{ from = \"R\", to = \"L\", rate = \"{mbit}mbit\", delay = \"{delay}ms\", duplex = false }},\n\
         {{ from = \"R\", to = \"d\", rate = \"10gbit\" }}]\n\
         [[connection]]\nname = \"c\"\ncount = {connections}\nfrom = \"s\"\nto = \"d\"\nsize = \"1500B\"\nevery = \"20ms\"\n\
         transport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, receiver_window = \"64MB\" }}",
        seconds / 2
    );
    let scenario = Scenario::parse(&text, "a.toml", Path::new(""), &[]);
    assemble(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

/// Relatives of that network: CUBIC uses as much of a link as Reno does, and no packets wait much
/// longer for it.
#[test]
fn cubic_needs_no_longer_queue_than_reno() {
    for seed in 0..if long::is_long() { 200 } else { 20 } {
        let mut rng = Rng::named(seed, "relatives");
        let mbit = [5, 10, 20][rng.below(3) as usize];
        let delay = [2, 5, 10, 20][rng.below(4) as usize];
        let connections = 1 + rng.below(12);
        let dropper =
            ["\"codel\"", "\"pie\"", "{ kind = \"drop-tail\", limit = \"100p\" }"][rng.below(3) as usize];
        let [cubic, reno] = [CUBIC, SACK]
            .map(|settings| outcome(&relative(settings, mbit, delay, connections, dropper, 20), seed));
        let case =
            format!("{seed}: {mbit} Mbit/s, {delay} ms, {connections}, {dropper}: {cubic:?}, Reno {reno:?}");
        assert!(cubic.0 > reno.0 - 0.01, "{case}");
        // The targets of CoDel and PIE in ms; a queue that only its end limits is as long as CUBIC
        // fills it.
        let target = match dropper {
            "\"codel\"" => 5.0,
            "\"pie\"" => 15.0,
            _ => f64::INFINITY,
        };
        assert!(cubic.1 < target.max(1.2 * reno.1 + 1.0), "{case}");
    }
}

/// The longest time in seconds for which a receiver got nothing new, and the timeouts of all
/// connections.
fn silence(network: &Network, seed: u64) -> (f64, u64) {
    let probes = Probes { sample: Some(Span::from_millis(500)), ..Probes::default() };
    let world = run(network, seed, &probes);
    let flows = 0..network.flows.len();
    let timeouts = flows.clone().filter_map(|ix| world.counts(ix).timeouts).sum();
    let mut longest = 0.0_f64;
    // Bytes delivered by a receiver are in the series of its acknowledgements.
    for flow in flows.filter(|ix| world.counts(*ix).timeouts.is_none()) {
        let delivered = world.series().unwrap().values(Subject::Flow(flow as u32), "delivered");
        assert!(delivered.len() >= 40, "{}", delivered.len());
        // All have begun after 10 s.
        let same = delivered[20..].chunk_by(|one, next| one == next).map(<[f64]>::len).max().unwrap();
        longest = longest.max((same - 1) as f64 * 0.5);
    }
    (longest, timeouts)
}

/// Four connections behind a short queue: the recovery of 1990 waited for the timer again and
/// again, and one connection had 50 kbit/s for 50 s.
#[test]
fn reno_by_itself_is_never_silent_for_long() {
    let bell = |recovery| defect("bell.toml", &[("connection.reno.transport.recovery", recovery)]);
    let (sack, old) = (bell("sack"), bell("reno-1990"));
    let runs: Vec<_> = (1..=10).map(|seed| (silence(&sack, seed), silence(&old, seed))).collect();
    for ((silent, timeouts), _) in &runs {
        assert!(*silent <= 1.0 && *timeouts <= 1, "{runs:?}");
    }
    let all =
        |of_1990: bool| runs.iter().map(|(sack, old)| if of_1990 { old.1 } else { sack.1 }).sum::<u64>();
    assert!(all(true) > all(false), "{runs:?}");
}

/// Relatives of that network, in which a connection names Reno and no recovery: it recovers with
/// SACK (RFC 6675), is never silent for long, and waits for its timer less often than in 1990.
#[test]
fn reno_by_itself_recovers_with_sack() {
    let (mut timeouts, mut of_1990) = (0, 0);
    for seed in 0..if long::is_long() { 200 } else { 80 } {
        let mut rng = Rng::named(seed, "reno");
        let mbit = [2, 5, 10][rng.below(3) as usize];
        let delay = [5, 10, 20, 40][rng.below(4) as usize];
        let connections = 2 + rng.below(4);
        // Windows of a dozen packets and more: with fewer, a lost retransmission leaves the timer.
        let limit = connections * (12 + rng.below(12));
        let dropper = format!("{{ kind = \"drop-tail\", limit = \"{limit}p\" }}");
        let network = |settings| relative(settings, mbit, delay, connections, &dropper, 20);
        let reno = network("congestion = \"reno\"");
        let fingerprint = |network| run(network, seed, &Probes::default()).fingerprint();
        let (silent, waited) = silence(&reno, seed);
        let case = format!("{seed}: {mbit} Mbit/s, {delay} ms, {connections}, {dropper}");
        assert!(silent <= 1.5, "{case}: silent for {silent} s");
        if seed % 5 == 0 {
            assert_eq!(fingerprint(&reno), fingerprint(&network(SACK)));
            timeouts += waited;
            of_1990 += silence(&network("congestion = \"reno\", recovery = \"reno-1990\""), seed).1;
        }
    }
    assert!(timeouts < of_1990 / 4, "{timeouts} timeouts, and {of_1990} of 1990");
}
