//! Ports in lockstep with recorded ones of a Linux kernel, packet by packet.
//!
//! The records are facts: what a queueing discipline of Linux 6.1 did with 3,000 packets. With
//! TIDEGATE_KERNEL_RECORDS, a folder, the records are read from there.
//!
//! ```console
//! $ tidegate lab policies --packets 3000 --seed 7 --record crates/core/tests/kernel
//! ```

use std::path::PathBuf;

use tidegate_core::contract::Contract;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::lockstep::{self, Outcome, Recorded, STEP};
use tidegate_core::params::{Limit, NamedPolicy, Value};
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::plan::{ClassPlan, DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Rate, Span};

const FLOWS: u8 = 4;

fn record(name: &str) -> Vec<Recorded> {
    let here = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kernel");
    let place = std::env::var_os("TIDEGATE_KERNEL_RECORDS").map_or_else(here, PathBuf::from);
    let file = place.join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    lockstep::parse(&text).unwrap()
}

fn scheduler(name: &str, values: &[(&'static str, Value)]) -> SchedulerKind {
    SchedulerKind::BuiltIn(BuiltInScheduler::read(name, values).unwrap().unwrap())
}

fn dropper(name: &str, values: &[(&'static str, Value)], scope: Scope) -> DropperPlan {
    let built_in = BuiltInDropper::read(name, values).unwrap().unwrap();
    DropperPlan { kind: DropperKind::BuiltIn(built_in), scope, detector: None }
}

fn port(scheduler: SchedulerKind, dropper: Option<DropperPlan>) -> SwitchPlan {
    let port = PortPlan { dropper, ..PortPlan::new(scheduler) };
    SwitchPlan { ports: vec![port], ..SwitchPlan::default() }
}

fn flows() -> Vec<FlowPlan> {
    let flow =
        |priority| FlowPlan { contract: Contract { priority, ..Contract::default() }, ..FlowPlan::default() };
    (0..FLOWS).map(flow).collect()
}

fn follow(name: &str, plan: &SwitchPlan) -> Outcome {
    follow_with(name, plan, &flows())
}

fn follow_with(name: &str, plan: &SwitchPlan, flows: &[FlowPlan]) -> Outcome {
    let outcome = lockstep::follow(plan, flows, &record(name)).unwrap();
    println!("{name}: {outcome:?}");
    outcome
}

fn assert_equal(name: &str, plan: &SwitchPlan) {
    let outcome = follow(name, plan);
    assert_eq!(outcome.differing, 0, "{name}: {outcome:?}");
    assert!(outcome.packets >= 3000, "{name}: {outcome:?}");
}

fn assert_found(name: &str, plan: &SwitchPlan) {
    let outcome = follow(name, plan);
    assert!(outcome.differing > 0, "{name}: {outcome:?}");
}

fn words(name: &'static str, word: &str) -> (&'static str, Value) {
    (name, Value::Text(word.to_owned()))
}

fn fifo(packets: u64) -> SwitchPlan {
    let tail = [("limit", Value::Limit(Limit::Packets(packets)))];
    port(scheduler("fifo", &[]), Some(dropper("drop-tail", &tail, Scope::Node)))
}

#[test]
fn fifo_is_pfifo() {
    assert_equal("fifo", &fifo(99));
    assert_found("fifo", &fifo(98));
    assert_found("fifo", &fifo(100));
}

#[test]
fn strict_priority_is_prio() {
    assert_equal("strict-priority", &port(scheduler("strict-priority", &[]), None));
    assert_found("strict-priority", &port(scheduler("fifo", &[]), None));
}

fn drr(quantum: u64, form: &str) -> SwitchPlan {
    port(scheduler("drr", &[("quantum", Value::Size(quantum)), words("form", form)]), None)
}

#[test]
fn drr_is_drr() {
    assert_equal("drr", &drr(1514, "linux"));
    assert_found("drr", &drr(1513, "linux"));
    assert_found("drr", &drr(1515, "linux"));
    assert_found("drr", &drr(1514, "look-ahead"));
}

fn codel(interval: Span, form: &str, scope: Scope) -> SwitchPlan {
    let values = [("interval", Value::Time(interval)), words("form", form)];
    let order = if scope == Scope::Flow {
        scheduler("drr++", &[words("form", form)])
    } else {
        scheduler("fifo", &[])
    };
    port(order, Some(dropper("codel", &values, scope)))
}

#[test]
fn codel_is_codel() {
    for (name, scope) in [("codel", Scope::Node), ("fq-codel", Scope::Flow)] {
        assert_equal(name, &codel(Span::from_millis(100), "linux", scope));
        assert_found(name, &codel(Span::from_millis(99), "linux", scope));
        assert_found(name, &codel(Span::from_millis(101), "linux", scope));
        assert_found(name, &codel(Span::from_millis(100), "rfc", scope));
    }
}

/// Returns true if both did alike, at times that differ by five steps of the kernel's clock at most:
/// each look at it takes one.
fn is_alike(outcome: &Outcome) -> bool {
    outcome.differing == 0 && outcome.apart.ticks() <= 5 * STEP.ticks()
}

fn bits(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate).unwrap()
}

fn shaped(rate: u64, burst: u32) -> Outcome {
    let (rate, excess) = (bits(rate), Excess::Wait);
    let shaper = Some(ShaperPlan { rate, burst, peak: None, queue: None, excess, calendar: None });
    follow_with("tbf", &port(scheduler("fifo", &[]), None), &[FlowPlan { shaper, ..FlowPlan::default() }])
}

#[test]
fn token_bucket_is_tbf() {
    let outcome = shaped(25_000_000, 3000);
    assert!(is_alike(&outcome), "{outcome:?}");
    for (rate, burst) in [(25_250_000, 3000), (24_750_000, 3000), (25_000_000, 3010), (25_000_000, 2990)] {
        assert!(!is_alike(&shaped(rate, burst)), "{rate} {burst}");
    }
}

fn under_ceiling(name: &str, rate: u64) -> Outcome {
    let mut plan = port(scheduler("fifo", &[]), None);
    plan.ports[0].ceiling = Some(bits(rate));
    follow(name, &plan)
}

#[test]
fn ceiling_is_a_class_of_htb_and_the_shaper_of_cake() {
    for name in ["htb", "cake"] {
        let outcome = under_ceiling(name, 25_000_000);
        assert!(is_alike(&outcome), "{name}: {outcome:?}");
        assert!(!is_alike(&under_ceiling(name, 24_990_000)), "{name}");
        assert!(!is_alike(&under_ceiling(name, 25_010_000)), "{name}");
    }
}

/// A class for each flow, the first the most urgent, in one class.
fn under_ceilings(first: u64, burst: u32) -> Outcome {
    let class = |parent, rate, burst, priority| ClassPlan {
        parent,
        contract: Contract { priority, ..Contract::default() },
        ceiling: Some(bits(rate)),
        ceiling_burst: Some(burst),
        ..ClassPlan::new(scheduler(if parent.is_none() { "strict-priority" } else { "fifo" }, &[]))
    };
    let mut plan = port(scheduler("fifo", &[]), None);
    plan.ports[0].classes.push(class(None, 25_000_000, 4, 0));
    for (priority, rate) in (0..).zip([first, 6_000_000, 9_000_000, 14_000_000]) {
        plan.ports[0].classes.push(class(Some(0), rate, burst, priority));
    }
    let flows: Vec<FlowPlan> =
        (1..=4).map(|class| FlowPlan { class: Some(class), ..FlowPlan::default() }).collect();
    follow_with("htb-classes", &plan, &flows)
}

#[test]
fn classes_under_ceilings_are_two_levels_of_htb() {
    let outcome = under_ceilings(3_000_000, 6000);
    assert!(is_alike(&outcome), "{outcome:?}");
    for (first, burst) in [(2_990_000, 6000), (3_010_000, 6000), (3_000_000, 5990), (3_000_000, 6010)] {
        assert!(!is_alike(&under_ceilings(first, burst)), "{first} {burst}");
    }
}
