//! Detection of losses by time (RFC 8985) beside detection by three duplicates (RFC 6675): over a
//! path that reorders packets, and over one that only loses them.

use std::path::Path;
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Counts of a connection in the measured time.
#[derive(Clone, Copy, Debug)]
struct Seen {
    mbits: f64,
    sent_again: u64,
    timeouts: u64,
    dropped: u64,
}

fn run<const N: usize>(network: &Network, seed: u64, flows: [usize; N]) -> [Seen; N] {
    let mut world: World<Calendar> = World::new(network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    let seconds = (network.duration - network.warmup).as_secs_f64();
    flows.map(|flow| {
        let (record, counts) = (&world.records()[flow], world.counts(flow));
        Seen {
            mbits: record.received.1 as f64 * 8e-6 / seconds,
            sent_again: counts.retransmissions.unwrap(),
            timeouts: counts.timeouts.unwrap(),
            dropped: record.dropped,
        }
    })
}

/// One connection over 50 Mbit/s and 40 ms, of which 1 % of packets are 5 ms late.
fn reordered(recovery: &str, seed: u64) -> Seen {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects/reorder.toml");
    let sets = [("connection.c.transport.recovery".to_owned(), recovery.to_owned())];
    run(&assemble(&Scenario::load(&path, &sets).unwrap()).unwrap(), seed, [0])[0]
}

/// Linux had 47.8 Mbit/s over a gate with this file. Detection by duplicates takes a late packet
/// for a lost one: it has a tenth, and drops none.
#[test]
fn a_path_that_reorders_is_used_to_the_full_with_detection_by_time() {
    for seed in 1..=5 {
        let (rack, sack) = (reordered("rack", seed), reordered("sack", seed));
        let linux = 47.8;
        assert!(rack.mbits > 0.9 * linux && rack.timeouts == 0, "{rack:?}");
        assert!(sack.mbits < 0.15 * linux && sack.dropped == 0 && sack.sent_again > 30, "{sack:?}");
        // Every retransmitted packet was dropped by the queue, except for the packet or two of a
        // recovery that was undone.
        assert!(rack.sent_again <= rack.dropped + 3, "{rack:?}");
    }
}

/// Relatives of that path, with other rates, delays, shares of late packets and latenesses within a
/// round trip: detection by time has nine tenths of what the same path without late packets
/// carries, and more than detection by duplicates.
#[test]
fn relatives_of_the_path_that_reorders_are_used_to_the_full() {
    let (mut slow, mut least) = (0, f64::INFINITY);
    for seed in 0..200 {
        let mut rng = Rng::named(seed, "reorder");
        let mbit = [5, 10, 20][rng.below(3) as usize];
        let delay = [5, 10, 20, 40][rng.below(4) as usize];
        let congestion = ["reno", "cubic"][rng.below(2) as usize];
        // In thousandths of packets, and in milliseconds; a quarter of the round trip at most.
        let late = 2 + rng.below(30);
        let by = (1 + rng.below(delay / 2)).max(4 * 1514 * 8 / (mbit * 1000));
        // Two round trips of packets at the full rate.
        let queue = (mbit * delay * 4_000 / (1514 * 8)).max(30);
        let late_packets = format!("reorder = {}\nreorder_delay = \"{by}ms\"\n", late as f64 / 1e3);
        let seen = |recovery: &str, reorder: &str| {
            let text = format!(
                "version = 1\nduration = \"11s\"\nwarmup = \"3s\"\n\
                 host = {{ dropper = {{ kind = \"drop-tail\", limit = \"{queue}p\" }} }}\n\
                 node = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
                 [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"{mbit}mbit\"\ndelay = \"{delay}ms\"\n{reorder}\
                 [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1514B\"\n\
                 transport = {{ kind = \"tcp\", stack = \"rfc\", congestion = \"{congestion}\", recovery = \"{recovery}\" }}\n"
            );
            let scenario = Scenario::parse(&text, "a.toml", Path::new(""), &[]);
            run(&assemble(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap(), seed, [0])[0]
        };
        let (rack, sack) = (seen("rack", &late_packets), seen("sack", &late_packets));
        let in_order = seen("sack", "");
        let case = format!(
            "{seed}: {congestion}, {mbit} Mbit/s, {delay} ms, {late} in 1,000 late by {by} ms: {rack:?}, {sack:?}, \
             in order {in_order:?}"
        );
        assert!(rack.mbits > 0.9 * in_order.mbits, "{case}");
        assert!(rack.mbits > 0.98 * sack.mbits, "{case}");
        slow += u32::from(sack.mbits < 0.5 * rack.mbits);
        least = least.min(rack.mbits / in_order.mbits);
    }
    assert!(slow > 100, "detection by duplicates was slow on {slow}, by time at the least {least}");
}

/// Two connections through a drop-tail queue of 20 Mbit/s.
fn congested(congestion: &str, recovery: &str, queue: u32, seed: u64) -> [Seen; 2] {
    let connection = |n: u32| {
        format!(
            "[[connection]]\nname = \"c{n}\"\nfrom = \"l{n}\"\nto = \"r{n}\"\nsize = \"1500B\"\nstart = \"{}ms\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", congestion = \"{congestion}\", recovery = \"{recovery}\" }}\n",
            37 * seed * u64::from(n)
        )
    };
    let text = format!(
        "version = 1\nduration = \"33s\"\nwarmup = \"3s\"\n\
         topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"20mbit\", delay = \"20ms\", \
         access = {{ rate = \"100mbit\", delay = \"1ms\" }} }}\n\
         port = {{ dropper = {{ kind = \"drop-tail\", limit = \"{queue}p\" }} }}\n{}{}",
        connection(1),
        connection(2)
    );
    let scenario = Scenario::parse(&text, "a.toml", Path::new(""), &[]);
    run(&assemble(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap(), seed, [0, 2])
}

/// Where packets are lost and not reordered, the two find the same losses: the link is used to the
/// same degree with about as many drops, and each drop is sent again once.
#[test]
fn detection_by_time_uses_a_congested_link_as_detection_by_duplicates_does() {
    for congestion in ["reno", "cubic"] {
        for queue in [10, 40] {
            let [sack, rack] = ["sack", "rack"].map(|recovery| {
                let runs: Vec<Seen> =
                    (1..=2).flat_map(|seed| congested(congestion, recovery, queue, seed)).collect();
                let sum = |of: fn(&Seen) -> f64| runs.iter().map(of).sum::<f64>();
                let again = sum(|seen| seen.sent_again as f64);
                let (used, drops) = (sum(|seen| seen.mbits) / 40.0, sum(|seen| seen.dropped as f64));
                assert_eq!(sum(|seen| seen.timeouts as f64), 0.0, "{runs:?}");
                // A drop near an end of the measured time is sent again beyond it.
                assert!((again - drops).abs() <= 0.02 * drops + 6.0, "{again} for {drops}");
                (used, drops)
            });
            assert!((rack.0 - sack.0).abs() < 0.02, "{congestion}, {queue}: {rack:?} {sack:?}");
            assert!((rack.1 / sack.1 - 1.0).abs() < 0.15, "{congestion}, {queue}: {rack:?} {sack:?}");
        }
    }
}
