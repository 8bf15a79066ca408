//! Whatever happens — random trees, ceilings, shapers, droppers, pools, multicast, gates, flows
//! that come and go, plans that change under load — no packet and no body is lost or duplicated,
//! none overtakes within its flow, nothing that may be sent waits, and nothing of it leaves a
//! trace.

#[path = "../common/mod.rs"]
mod common;

mod reconfiguration;
mod storm;

use common::{plans, rounds};
use storm::Storm;
use tidegate_core::scheduler::SchedulerKind;

#[test]
fn nothing_is_lost_duplicated_or_reordered() {
    for seed in 0..rounds(60) {
        let mut storm =
            Storm::new(seed, "storm", 1 + seed as usize % 3, plans::schedulers(), plans::droppers());
        while storm.open.len() < 4 {
            storm.open();
        }
        (0..400).for_each(|_| storm.step());
        storm.drain();
        storm.check(&format!("seed {seed}"));
    }
}

/// Classes that wait for slots of their own, while the link is busy with others', contracts change
/// and packets are pushed out: the audit of every step checks that each is let go in time.
#[test]
fn classes_with_slots_are_let_go() {
    let slotted = |kind: &SchedulerKind| kind.record().is_slotted() || kind.record().name == "fifo";
    let kinds: Vec<SchedulerKind> = plans::schedulers().into_iter().filter(slotted).collect();
    for seed in 0..rounds(60) {
        let mut storm = Storm::new(seed, "slots", 1, kinds.clone(), plans::drop_tails());
        while storm.open.len() < 6 {
            storm.open();
        }
        (0..400).for_each(|_| storm.step());
        storm.drain();
        storm.check(&format!("seed {seed}"));
    }
}
