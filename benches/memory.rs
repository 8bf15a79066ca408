//! Bytes that an idle reserved flow costs at a port: everything that was allocated is counted.

use cap::Cap;
use std::alloc::System;
use std::process::ExitCode;
use tidegate_core::contract::Contract;
use tidegate_core::packet::PortIx;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Time};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> ExitCode {
    for flows in [1_000, 65_536, 1_000_000] {
        match bytes_per_flow(flows) {
            Ok(bytes) => println!("{flows} {bytes:.1}"),
            Err(refused) => {
                eprintln!("memory: {refused}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn bytes_per_flow(flows: usize) -> Result<f64, tidegate_core::contract::Refused> {
    let scheduler =
        SchedulerKind::named("virtual-clock").map_or_else(Vec::new, |kind| vec![PortPlan::new(kind)]);
    let before = ALLOCATED.allocated();
    let mut switch =
        Switch::new(Time::ORIGIN, &SwitchPlan { ports: scheduler, buffer: None, ..SwitchPlan::default() })?;
    let contract = Contract { reserve: Rate::from_bits_per_second(64_000), ..Contract::default() };
    for _ in 0..flows {
        switch.open(Time::ORIGIN, PortIx(0), &FlowPlan { contract, ..FlowPlan::default() })?;
    }
    Ok((ALLOCATED.allocated() - before) as f64 / flows as f64)
}
