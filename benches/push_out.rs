//! Sustained push-out: the pool is full, and every arrival makes the switch drop the packet with
//! the largest stamp. `push_out FLOWS PACKETS` repeats that for callgrind; a linear search for the
//! largest would show as instructions in proportion to the flows.

use std::process::ExitCode;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let (flows, packets) = (numbers.next().unwrap_or(65_536), numbers.next().unwrap_or(100_000));
    match overload(flows, packets) {
        Ok(dropped) => {
            println!("{flows} {packets} {dropped}");
            ExitCode::SUCCESS
        }
        Err(refused) => {
            eprintln!("push_out: {refused}");
            ExitCode::FAILURE
        }
    }
}

/// Fills the pool with two packets of every flow; then `packets` more arrive, and one is sent for
/// every four that do. Returns the number of drops.
fn overload(flows: u64, packets: u64) -> Result<u64, Refused> {
    let port = SchedulerKind::named("virtual-clock").map_or_else(Vec::new, |kind| vec![PortPlan::new(kind)]);
    let buffer = Some(Limit::Packets(2 * flows));
    let mut switch = Switch::new(Time::ORIGIN, &SwitchPlan { ports: port, buffer, ..SwitchPlan::default() })?;
    let mut legs = Vec::new();
    for flow in 0..flows {
        let reserve = Rate::from_bits_per_second(10_000 + flow % 97 * 1000);
        let contract = Contract { reserve, ..Contract::default() };
        legs.push(switch.open(Time::ORIGIN, PortIx(0), &FlowPlan { contract, ..FlowPlan::default() })?);
    }
    let (mut rng, mut out) = (Rng::named(1, "push-out"), Vec::new());
    let (mut now, mut draw) = (Time::ORIGIN, Rng::named(1, "arrivals"));
    let mut dropped = 0;
    for step in 0..2 * flows + packets {
        let flow = if step < 2 * flows { step % flows } else { draw.below(flows) };
        let mut cx = Ctx { now, rng: &mut rng, out: &mut out };
        _ = switch.arrive(&mut cx, &[legs[flow as usize]], Packet::new(BodyId(0), 100));
        if step >= 2 * flows && step % 4 == 0 && switch.start(&mut cx, PortIx(0)).is_some() {
            switch.finish(&mut cx, PortIx(0));
        }
        dropped += out.drain(..).count() as u64;
        now += Span::from_micros(10);
    }
    Ok(dropped)
}
