//! Flows beside a ceiling, and behind one: by hand.

use super::common::{kind, rate};
use super::{flow, of, port};
use tidegate_core::bounds::analysis::{FlowBound, bounds_of};
use tidegate_core::bounds::network::{Flow, Network, Unbounded};
use tidegate_core::contract::Contract;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::shaper::Ceiling;

const LINK: u64 = 1_000_000;

/// A greedy flow that a ceiling of half the link holds at its first port.
fn held(route: &[usize]) -> Flow {
    let contract = Contract { reserve: Some(rate(500_000)), ..Contract::default() };
    let mut held = Flow { arrivals: None, ..flow(route, 1_000, 1_000, 500_000, contract) };
    held.ceilings[0] = Some(Ceiling::new(rate(500_000)));
    held
}

/// A flow of a tenth of the link, which it reserves.
fn steady(route: &[usize]) -> Flow {
    let contract = Contract { reserve: Some(rate(100_000)), ..Contract::default() };
    flow(route, 1_000, 1_000, 100_000, contract)
}

fn bounds(schedulers: &[&SchedulerKind], flows: Vec<Flow>) -> Vec<Result<FlowBound, Unbounded>> {
    let ports = schedulers.iter().map(|scheduler| port(scheduler, LINK)).collect();
    bounds_of(&Network { ports, flows, windows: Vec::new() }).flows
}

/// The ceiling lets 2,000 bytes start at once, and 62,500 bytes a second after that; 500 may come later
/// because of the time of a packet on the link. What is left is 62,500 bytes a second after 40 ms.
#[test]
fn in_any_order_a_ceiling_counts_in_place_of_the_traffic_behind_it() {
    for name in ["fifo", "drr", "virtual-clock"] {
        let found = bounds(&[&kind(name)], vec![steady(&[0]), held(&[0])]);
        let delay = found[0].as_ref().map(|bound| bound.delay.clone());
        assert_eq!(delay, Ok(of(56, 1_000)), "{name}");
        assert!(matches!(found[1], Err(Unbounded::Source | Unbounded::Promise { .. })), "{name}");
    }
}

/// Under fair queueing it changes nothing.
#[test]
fn a_fair_queue_has_the_bound_that_it_has_without_ceilings() {
    for name in ["wfq", "wf2q-plus", "scfq", "sfq"] {
        let kind = kind(name);
        let free = Flow { ceilings: vec![None], ..held(&[0]) };
        let [with, without] = [held(&[0]), free].map(|other| {
            let found = bounds(&[&kind], vec![steady(&[0]), other]);
            found[0].as_ref().map(|bound| bound.delay.clone()).unwrap()
        });
        assert!(with <= without, "{name}: {with} beside a ceiling, {without} without");
        assert!(with > of(16, 1_000), "{name}: {with}");
    }
}

/// Behind the ceiling, 2,500 bytes may be on the way, and a FIFO line at the next port holds them
/// and 1,000 of its own.
#[test]
fn behind_its_ceiling_a_greedy_flow_is_bounded() {
    let fifo = kind("fifo");
    let found = bounds(&[&fifo, &fifo], vec![steady(&[1]), held(&[0, 1])]);
    assert_eq!(found[0].as_ref().map(|bound| bound.delay.clone()), Ok(of(28, 1_000)));
    assert!(found[1].is_err());
}
