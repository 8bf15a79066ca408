//! Axel, the disciplines on the way to it and those beside it, against Figure 4 of the report
//! written out in whole numbers, and against the report's claims.

#[path = "../common/mod.rs"]
mod common;

mod deferred_pulse;
mod figure_4;
mod floor;
mod gains;
mod measured;
mod worst_case;

use common::lines::Lines;
use common::{World, pick, rate};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 8_000_000;

fn counting(name: &str, backlog: &str) -> SchedulerKind {
    let backlog = [("backlog", Value::Text(backlog.to_owned()))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read(name, &backlog).unwrap().unwrap())
}

fn contract(reserve: u64, peak: u64, workahead: u32) -> Contract {
    Contract {
        reserve: Some(rate(reserve)),
        peak: Some(rate(peak)),
        workahead: Some(workahead),
        ..Contract::default()
    }
}

/// Arrivals at one port: time, flow and bytes.
type Arrivals = Vec<(Time, usize, u32)>;

/// Bursts and silences of several flows, each at some multiple of its reserved rate.
fn bursts(rng: &mut Rng, contracts: &[Contract], seconds: u64) -> Arrivals {
    let mut arrivals = Arrivals::new();
    for (flow, contract) in contracts.iter().enumerate() {
        let mut at = Time::ORIGIN + Span::from_micros(rng.below(50_000));
        while at < Time::ORIGIN + Span::from_secs(seconds) {
            let len = pick(rng, &[48, 48, 500, 1500]);
            for _ in 0..1 + rng.below(60) {
                arrivals.push((at, flow, len));
                at += contract.peak_rate().unwrap().time_for(len);
            }
            at += Span::from_micros(rng.below(300_000));
        }
    }
    arrivals.sort_by_key(|(at, flow, _)| (*at, *flow));
    arrivals
}

fn some_contracts(rng: &mut Rng) -> Vec<Contract> {
    let one = |rng: &mut Rng| {
        let reserve = pick(rng, &[300_000, 737_280, 1_000_000]);
        contract(reserve, reserve * pick(rng, &[1, 2, 10]), pick(rng, &[1_500, 9_600, 96_000]))
    };
    (0..6).map(|_| one(rng)).collect()
}

/// Packets sent: flow and stamp.
type Stamps = Vec<(usize, Time)>;

/// Plays the arrivals to a link, and returns the stamps of the packets sent, in the order of
/// sending.
fn play(scheduler: SchedulerKind, contracts: &[Contract], arrivals: &Arrivals) -> Stamps {
    let (mut lines, legs) = open(scheduler, contracts);
    for (at, flow, len) in arrivals {
        lines.run(*at);
        lines.arrive(&[legs[*flow]], *len);
    }
    lines.drain();
    let place = |flow| legs.iter().position(|leg| leg.flow == flow).unwrap();
    lines.sent.iter().map(|sent| (place(sent.packet.flow), Time::from_ticks(sent.packet.tag))).collect()
}

fn open(scheduler: SchedulerKind, contracts: &[Contract]) -> (Lines, Vec<Leg>) {
    let mut lines = Lines::new(World::with(scheduler), &[rate(LINK)]);
    lines.world.audited = false;
    let plan = |contract: &Contract| FlowPlan { contract: *contract, ..FlowPlan::default() };
    let legs = contracts.iter().map(|contract| lines.world.open(0, &plan(contract))).collect();
    (lines, legs)
}
