//! The papers' scenarios with TCP give the results that they gave when their pages were written.

use std::path::Path;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// A scenario, a seed, and the fingerprint of its first six seconds.
const RUNS: &[(&str, u64, u64)] = &[
    ("allocated_capacity/ten.toml", 1, 0x72ef6dad181f243a),
    ("allocated_capacity/ten.toml", 2, 0xfb0b6f930dbe3c71),
    ("allocated_capacity/wide.toml", 1, 0xd7a8b8af4dfa4f3b),
    ("allocated_capacity/wide.toml", 2, 0x5d483e91e5fe67a0),
    ("allocated_capacity/cbr.toml", 1, 0x70792cdfc51a840f),
    ("allocated_capacity/two-way.toml", 1, 0x010f2abd55732d4b),
    ("credit/tcp.toml", 1, 0x119674b2f0e9cf2a),
    ("credit/tcp.toml", 2, 0x88bf5ba69714d784),
];

#[test]
fn the_papers_connections_send_what_they_sent() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/tidegate_papers");
    for (file, seed, expected) in RUNS {
        let brief = [("duration".to_owned(), "6s".to_owned()), ("warmup".to_owned(), "1s".to_owned())];
        let network = assemble(&Scenario::load(&papers.join(file), &brief).unwrap()).unwrap();
        let mut world: World<Calendar> = World::new(&network, *seed, &Probes::default()).unwrap();
        while !world.advance(1_000_000) {}
        let again: u64 = (0..network.flows.len()).filter_map(|ix| world.counts(ix).retransmissions).sum();
        assert!(again > 10, "{file}, seed {seed}: hardly anything was lost");
        assert_eq!(world.fingerprint(), *expected, "{file}, seed {seed}: 0x{:016x}", world.fingerprint());
    }
}
