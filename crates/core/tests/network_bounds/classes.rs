//! Classes: bounds calculated by hand, and reasons for which there is none.

use super::{flow, port};
use tidegate_core::bounds::analysis::{FlowBound, bounds_of};
use tidegate_core::bounds::network::{ClassPlace, Flow, Network, Port, Unbounded};
use tidegate_core::contract::Contract;
use tidegate_core::curves::nearest;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Rate;

const LINK: u64 = 1_000_000;

fn kind(name: &str) -> SchedulerKind {
    SchedulerKind::named(name).unwrap()
}

fn urgency(priority: u8) -> Contract {
    Contract { priority, ..Contract::default() }
}

fn reserving(bits: u64) -> Contract {
    Contract { reserve: Rate::from_bits_per_second(bits), ..Contract::default() }
}

fn class(scheduler: &SchedulerKind, parent: usize, contract: Contract) -> Port<'_> {
    Port { class: Some(ClassPlace { parent, contract, ceiling: None }), ..port(scheduler, LINK) }
}

/// Delays in milliseconds, or the reasons for which there is none.
fn delays(ports: &[Port<'_>], flows: &[Flow]) -> Vec<Result<f64, String>> {
    let found = bounds_of(&Network { ports: ports.to_vec(), flows: flows.to_vec(), windows: Vec::new() });
    let words = |bound: Result<FlowBound, Unbounded>| match bound {
        Ok(one) => Ok(nearest(&one.delay) * 1e3),
        Err(why) => Err(format!("{why:?}")),
    };
    found.flows.into_iter().map(words).collect()
}

fn assert_near(delay: &Result<f64, String>, expected: f64) {
    let delay = delay.as_ref().unwrap();
    assert!((0.0..1e-5).contains(&(delay - expected)), "{delay} of {expected}");
}

/// Voice is more urgent: 1,000 bytes at once and 100 kbit/s. Data have the other 112,500 bytes a second,
/// behind the voice and a packet of the flow without a class: (1,000 + 1,500 + 2,000) / 112,500 = 40 ms.
/// That flow, which is not bounded, is the last.
#[test]
fn classes_under_strict_priority_have_what_more_urgent_ones_leave() {
    let (root, fifo) = (kind("strict-priority"), kind("fifo"));
    let ports = [port(&root, LINK), class(&fifo, 0, urgency(0)), class(&fifo, 0, urgency(1))];
    let unbounded = Flow { arrivals: None, ..flow(&[0], 1_500, 1_500, LINK, urgency(2)) };
    let flows = [
        flow(&[1], 200, 1_000, 100_000, Contract::default()),
        flow(&[2], 500, 2_000, 200_000, Contract::default()),
        unbounded,
    ];
    let found = delays(&ports, &flows);
    // (1,500 + 1,000) bytes at 125,000 a second.
    assert_near(&found[0], 20.0);
    assert_near(&found[1], 40.0);
    assert!(found[2].as_ref().unwrap_err().contains("Source"), "{found:?}");
    // With an unbounded flow in the more urgent class, neither has a bound.
    let urgent = Flow { arrivals: None, ..flows[0].clone() };
    let found = delays(&ports, &[urgent, flows[1].clone()]);
    assert!(found[1].as_ref().unwrap_err().contains("guarantees nothing"), "{found:?}");
}

/// A quarter of the link by weight is 31,250 bytes a second; it is late by three packets of 500 bytes
/// and a quarter of 1,500: (1,500 + 375) / 31,250 = 60 ms, and the burst of 2,000 takes 64. In the class
/// within it, half of that: 60 + (1,500 + 250) / 15,625 = 172 ms, and 128 for its burst.
#[test]
fn classes_under_wf2q_have_their_share_whatever_others_send() {
    let (root, fifo) = (kind("wf2q-plus"), kind("fifo"));
    let ports = [port(&root, LINK), class(&fifo, 0, reserving(250_000)), class(&fifo, 0, reserving(750_000))];
    let flood =
        |at: usize, size| Flow { arrivals: None, ..flow(&[at], size, 1_500, LINK, Contract::default()) };
    let own = flow(&[1], 500, 2_000, 100_000, Contract::default());
    assert_near(&delays(&ports, &[own.clone(), flood(2, 1_500)])[0], 124.0);
    let nested = [
        port(&root, LINK),
        class(&root, 0, reserving(250_000)),
        class(&fifo, 1, reserving(100_000)),
        class(&fifo, 1, reserving(100_000)),
        class(&fifo, 0, reserving(750_000)),
    ];
    let own = Flow { route: vec![2], ..own };
    assert_near(&delays(&nested, &[own, flood(3, 500), flood(4, 1_500)])[0], 300.0);
}

/// Two flows share a class without order among them: the second waits for all of the first as well. In a
/// class of FIFO the bursts of both are served in the order of arrival.
#[test]
fn flows_in_a_class_share_what_it_has() {
    let (root, fifo, turns) = (kind("strict-priority"), kind("fifo"), kind("round-robin"));
    let flows = [
        flow(&[1], 500, 1_000, 100_000, Contract::default()),
        flow(&[1], 500, 2_000, 100_000, Contract::default()),
    ];
    // The whole link: the bursts take 24 ms.
    let found = delays(&[port(&root, LINK), class(&fifo, 0, urgency(0))], &flows);
    assert_near(&found[0], 24.0);
    assert_near(&found[1], 24.0);
    // The burst of the other and the own one, at what the other leaves.
    let found = delays(&[port(&root, LINK), class(&turns, 0, urgency(0))], &flows);
    assert_near(&found[1], (1_000.0 + 2_000.0) / 112.5);
}

/// FIFO guarantees a class nothing, and a class that holds packets back voids what is left to others.
#[test]
fn without_a_guarantee_there_is_no_bound() {
    let (fifo, root, idle) = (kind("fifo"), kind("strict-priority"), kind("jitter-edd"));
    let own = flow(&[1], 500, 1_000, 100_000, Contract::default());
    let beside = Flow { route: vec![0], ..own.clone() };
    let found = delays(&[port(&fifo, LINK), class(&fifo, 0, urgency(0))], &[own.clone(), beside]);
    assert!(
        found.iter().all(|one| one.as_ref().is_err_and(|why| why.contains("guarantees nothing"))),
        "{found:?}"
    );
    let ports = [port(&root, LINK), class(&fifo, 0, urgency(1)), class(&idle, 0, urgency(0))];
    let held = Flow { route: vec![2], ..own.clone() };
    let found = delays(&ports, &[own, held]);
    assert!(found[0].as_ref().is_err_and(|why| why.contains("guarantees nothing")), "{found:?}");
}

/// Beside a class of its own level, one is in line: old packets of its own may have kept both busy. From
/// then on it is guaranteed nothing, and neither is a class that has a share of it.
#[test]
fn a_share_of_a_line_is_not_guaranteed() {
    let (root, fair, fifo) = (kind("strict-priority"), kind("wf2q-plus"), kind("fifo"));
    let own = flow(&[2], 500, 1_000, 100_000, Contract::default());
    let other = Flow { route: vec![3], ..own.clone() };
    let beside = |level| {
        let ports = [
            port(&root, LINK),
            class(&fair, 0, urgency(1)),
            class(&fifo, 1, reserving(100_000)),
            class(&fifo, 0, urgency(level)),
        ];
        delays(&ports, &[own.clone(), other.clone()])
    };
    assert!(beside(0)[0].is_ok() && beside(2)[0].is_ok());
    assert!(beside(1)[0].as_ref().is_err_and(|why| why.contains("guarantees nothing")));
    assert!(beside(1)[1].is_ok());
}
