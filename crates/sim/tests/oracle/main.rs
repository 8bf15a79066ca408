//! Random scenarios against a slow and simple model, packet by packet, and invariants of all of
//! them.
//!
//! `model` is the network once more, in lists that are searched from end to end. It is given the
//! arrivals at every port, in
//! the order of the run's log, and says what the port sends and drops, and when. `history`,
//! `results`, `conformance` and
//! `admission` check invariants that hold under any policy. `known` lists what is not asserted yet.

mod admission;
mod case;
mod conformance;
#[path = "../common/generate/mod.rs"]
mod generate;
mod held;
mod history;
mod known;
#[path = "../common/long.rs"]
mod long;
mod model;
mod mutations;
mod pools;
mod results;
mod waited;

use case::Checked;
use generate::Manner;
use mutations::Mutation;
use tidegate_core::rng::Rng;

/// Features that the checked scenarios must have, each of them often enough.
const FEATURES: [&str; 47] = [
    "[[node]]",
    "kind = \"host\"",
    "[[class]]",
    "parent =",
    "fifo",
    "strict-priority",
    "virtual-clock",
    "tdm",
    "\"wfq\"",
    "\"wf2q-plus\"",
    "\"scfq\"",
    "\"sfq\"",
    "fifo-plus",
    "round-robin",
    "drr",
    "edf",
    "jitter-edd",
    "deadline =",
    "drop-tail",
    "flow-monitor",
    "policer",
    "workahead =",
    "peak =",
    "kind = \"token-bucket\"",
    "buffer =",
    "ceiling =",
    "loss =",
    "trace =",
    "kind = \"trace\"",
    "kind = \"capture\"",
    "kind = \"video\"",
    "greedy",
    "on-off",
    "packet-train",
    "[[connection]]",
    "to = [",
    "route =",
    "envelope =",
    "warned =",
    "admission =",
    "change =",
    "hangup =",
    "profile = 'p'",
    "delta = \"simplified\"",
    "axel-floor",
    "axel-measured",
    ", window = 1 }",
];

/// Scenarios that are checked: 200, or 2,000 when TIDEGATE_VERIFY asks for the long tier.
fn scenarios() -> u64 {
    if long::is_long() { 2_000 } else { 200 }
}

#[test]
fn every_packet_is_sent_and_dropped_as_the_model_says() {
    let mut checked = Checked::default();
    let mut drawn_with = [0; FEATURES.len()];
    let mut seed = 0;
    // The values that packets carry are checked in few scenarios, but there for many packets, and
    // some features are drawn seldom. More scenarios are drawn until enough of both were checked.
    let least = scenarios() / 50;
    let is_rare = |checked: &Checked, drawn_with: &[u64]| {
        let lacks = checked.model.carried < 5 * scenarios() || drawn_with.iter().any(|n| *n < least);
        lacks && checked.scenarios < 3 * scenarios()
    };
    while checked.scenarios < scenarios() || is_rare(&checked, &drawn_with) {
        let drawn = generate::scenario(&mut Rng::named(seed, "oracle"), Manner::TAME);
        match case::check(&drawn) {
            Ok(None) => {}
            Ok(Some(one)) => {
                checked.add(&one);
                for (feature, count) in FEATURES.iter().zip(&mut drawn_with) {
                    *count += u64::from(drawn.text.contains(feature));
                }
            }
            Err(what) => {
                let smallest = case::shrunk(&drawn);
                let why = case::check(&smallest).err();
                panic!(
                    "seed {seed}: {what}\nin short: {why:?}\n{}\nwith {:?}",
                    smallest.text, smallest.files
                );
            }
        }
        seed += 1;
    }
    let rare: Vec<_> = FEATURES.iter().zip(drawn_with).filter(|(_, n)| *n < least).collect();
    assert!(rare.is_empty(), "seldom drawn: {rare:?}");
    let Checked { model, ceilings, envelopes, bounded, set_up, .. } = checked;
    let each = [
        model.starts / 100,
        model.drops / 20,
        model.pushed_out,
        model.carried / 20,
        ceilings,
        envelopes,
        bounded,
        5 * set_up,
    ];
    assert!(each.iter().all(|count| *count >= scenarios() / 4), "{checked:?}");
}

/// The model and the invariants must detect a falsified log; nothing else would.
#[test]
fn falsified_logs_are_found_out() {
    let mut found = [0; Mutation::ALL.len()];
    for seed in 0..scenarios() {
        let mut rng = Rng::named(seed, "falsified");
        let drawn = generate::scenario(&mut rng, Manner::TAME);
        let Some(network) = case::network(&drawn, "falsified") else { continue };
        let Some(world) = case::logged(&network) else { continue };
        let (history, _) = case::check_log(&network, world.log()).unwrap();
        for (mutation, found) in Mutation::ALL.into_iter().zip(&mut found) {
            if let Some(log) = mutation.of(&mut rng, &history, world.log()) {
                *found += 1;
                let seen = match mutation {
                    Mutation::NoReception => case::check_log(&network, &log).is_err(),
                    _ => model::check(&network, &log).is_err(),
                };
                assert!(seen, "seed {seed}: {mutation:?} is not seen\n{}", drawn.text);
            }
        }
    }
    assert!(found.iter().all(|found| *found >= scenarios() / 20), "{found:?}");
}
