//! Bytes that an idle reserved flow costs at a port, and that flows and links cost in a network:
//! all allocations are counted.
//!
//! `memory` prints a line for each: its kind, the number, and the bytes of each.

use cap::Cap;
use std::alloc::System;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use tidegate_core::contract::Contract;
use tidegate_core::packet::PortIx;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("memory: {wrong}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), String> {
    for flows in [1_000, 65_536, 1_000_000] {
        let bytes = bytes_per_flow(flows).map_err(|refused| refused.to_string())?;
        println!("port {flows} {bytes:.1}");
    }
    // The difference to twice as many, so that shared memory does not count.
    let each = |what: fn(usize) -> String, number: usize| -> Result<f64, String> {
        Ok((bytes_of(&what(2 * number))? - bytes_of(&what(number))?) as f64 / number as f64)
    };
    println!("named 5000 {:.0}", each(named_flows, 5_000)?);
    println!("member 50000 {:.0}", each(members, 50_000)?);
    println!("link 1000 {:.0}", each(idle_links, 1_000)?);
    Ok(())
}

/// Writes flows with a group of their own over a chain of six links; each sends 45 packets.
fn named_flows(number: usize) -> String {
    let rate = 900_000_000 / number;
    let duration = 450_000 * number / 900_000;
    let mut text = chain(&format!("{duration}ms"));
    for ix in 0..number {
        _ = writeln!(text, "[[flow]]\nname = \"f{ix}\"\n{}", keys(rate));
    }
    text
}

/// Writes members of one flow over that chain.
fn members(number: usize) -> String {
    let mut text = chain("10us");
    _ = writeln!(text, "[[flow]]\nname = \"f\"\ncount = {number}\n{}", keys(900_000_000 / number));
    text
}

fn chain(duration: &str) -> String {
    format!(
        "version = 1\nduration = \"{duration}\"\nport = {{ scheduler = \"virtual-clock\" }}\n\
         topology = {{ kind = \"chain\", switches = 5, rate = \"1gbit\", delay = \"1ms\", access = {{ rate = \"10gbit\" }} }}\n"
    )
}

fn keys(rate: usize) -> String {
    format!(
        "from = \"h1\"\nto = \"h5\"\nreserve = \"{rate}bit\"\nsize = \"1250B\"\n\
         source = {{ kind = \"poisson\", rate = \"{rate}bit\" }}"
    )
}

/// Writes pairs of nodes with a one-way link that no flow uses, beside one that a flow uses.
fn idle_links(number: usize) -> String {
    let mut text = "version = 1\nduration = \"1ms\"\n".to_owned();
    for ix in 0..=number {
        _ = writeln!(text, "[[node]]\nname = \"a{ix}\"\n[[node]]\nname = \"b{ix}\"");
        _ = writeln!(
            text,
            "[[link]]\nfrom = \"a{ix}\"\nto = \"b{ix}\"\nrate = \"1gbit\"\ndelay = \"1ms\"\nduplex = false"
        );
    }
    text + "[[flow]]\nname = \"f\"\nfrom = \"a0\"\nto = \"b0\"\nsize = \"1250B\"\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n"
}

/// Returns the bytes held at the end of a run, by the assembled network and by the world.
fn bytes_of(text: &str) -> Result<usize, String> {
    let scenario =
        Scenario::parse(text, "memory.toml", Path::new(""), &[]).map_err(|mistakes| mistakes.to_string())?;
    let before = ALLOCATED.allocated();
    let network = assemble(&scenario).map_err(|mistake| mistake.to_string())?;
    // Delays by group are on, as in a run from the command line.
    let probes = Probes { delays: true, ..Probes::default() };
    let mut world: World<Calendar> =
        World::new(&network, 1, &probes).map_err(|refused| refused.to_string())?;
    while !world.advance(1_000_000) {}
    Ok(ALLOCATED.allocated() - before)
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
