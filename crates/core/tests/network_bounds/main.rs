//! Bounds of networks: the formulas of the literature, and an exhaustive search for worse delays in
//! small tandems.

mod ceilings;
mod classes;
#[path = "../common/mod.rs"]
mod common;
mod published;
mod search;
mod slots;
mod windows;

use common::rate;
use tidegate_core::bounds::network::{Flow, Port};
use tidegate_core::contract::Contract;
use tidegate_core::curves::{ArrivalCurve, Exact, bytes_per_second, whole};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Span;

fn port(scheduler: &SchedulerKind, bits: u64) -> Port<'_> {
    Port {
        scheduler: &**scheduler,
        link: rate(bits),
        ceiling: None,
        delay: Span::ZERO,
        ahead: None,
        void: None,
        class: None,
    }
}

/// A flow of packets of one size with a token bucket, which states `contract` to all ports.
fn flow(route: &[usize], size: u32, burst: u64, bits: u64, contract: Contract) -> Flow {
    Flow {
        route: route.to_vec(),
        contracts: vec![contract; route.len()],
        ceilings: vec![None; route.len()],
        largest: size,
        smallest: size,
        arrivals: Some(ArrivalCurve::bucket(whole(burst), bytes_per_second(rate(bits)))),
    }
}

fn of(over: u64, under: u64) -> Exact {
    Exact::new(over.into(), under.into())
}
