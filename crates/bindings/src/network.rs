//! The network of a scenario as JSON: nodes, links with their ports, and flows with their routes.
//!
//! Rates are in bit/s, times in seconds, sizes in bytes; indexes are those of the lists.

use serde_json::{Map, Value as Json, json};
use tidegate_core::link::Pace;
use tidegate_core::lockstep::{self, Outcome};
use tidegate_core::meter::MeterKind;
use tidegate_core::params::{Limit, PolicyFacts, Scope, Value};
use tidegate_core::switch::plan::{ClassPlan, DropperPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{Application, Lasts, Scenario, Source, TransferArrivals, TransferSizes};
use tidegate_sim::network::{FlowSetup, LinkPlan, Network};

/// The network of a scenario.
pub fn json(spec: &Scenario, network: &Network) -> Json {
    let nodes = network.nodes.iter().map(|node| json!({"name": node.name, "buffer": node.buffer.map(limit)}));
    let links = network.links.iter().zip(&spec.links).map(|(plan, link)| link_json(plan, link.rate_bits));
    json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "classes": network.classes,
        "stages": spec.stages.iter().map(|stage| policy(&*stage.policy.policy)).collect::<Vec<_>>(),
        "has_gate": network.gate.is_some(),
        "flows": network.flows.iter().map(|flow| flow_json(spec, network, flow)).collect::<Vec<_>>(),
    })
}

/// Sends the packets of a record through the port of a link, which has room for one packet less than
/// stated: the packet in service takes none there.
pub fn lockstep(network: &Network, link: usize, record: &str) -> Result<Outcome, String> {
    let plan = network.links.get(link).ok_or("there is no such link")?;
    let buffer = network.nodes.get(plan.from).and_then(|node| node.buffer).map(|buffer| match buffer {
        Limit::Packets(packets) => Limit::Packets(packets.saturating_sub(1).max(1)),
        Limit::Bytes(bytes) => Limit::Bytes(bytes),
    });
    let switch = SwitchPlan { ports: vec![(*plan.port).clone()], buffer, ..SwitchPlan::default() };
    let here = |flow: &FlowSetup| {
        let hop = flow.route.iter().position(|at| *at == link)?;
        let shaper = flow.envelope.filter(|_| hop == 0);
        Some(FlowPlan { shaper, ..*flow.plans.get(hop)? })
    };
    let flows: Vec<FlowPlan> = network.flows.iter().filter_map(here).collect();
    lockstep::follow(&switch, &flows, &lockstep::parse(record)?).map_err(|refused| refused.to_string())
}

fn link_json(link: &LinkPlan, rate: u64) -> Json {
    json!({
        "name": link.name,
        "from": link.from,
        "to": link.to,
        "rate": rate,
        "delay": link.delay.as_secs_f64(),
        "has_trace": matches!(link.pace, Pace::Trace(_)),
        "changes": matches!(link.pace, Pace::Steps(_)) || link.delays.is_some(),
        "loses": link.loss.happens(),
        "has_jitter": link.jitter.happens(),
        "reorders": link.reordering.happens(),
        "has_overhead": link.framing.happens(),
        "port": port_json(&link.port),
    })
}

fn port_json(port: &PortPlan) -> Json {
    json!({
        "scheduler": policy(&*port.scheduler),
        "dropper": port.dropper.as_ref().map(dropper_json),
        "meters": meters_json(&port.meters),
        "classes": port.classes.iter().map(class_json).collect::<Vec<_>>(),
        "ceiling": port.ceiling.map(Rate::bits_per_second),
    })
}

fn class_json(class: &ClassPlan) -> Json {
    json!({
        "parent": class.parent,
        "scheduler": policy(&*class.scheduler),
        "dropper": class.dropper.as_ref().map(dropper_json),
        "meters": meters_json(&class.meters),
        "reserve": class.contract.reserve.map(Rate::bits_per_second),
        "priority": class.contract.priority,
        "ceiling": class.ceiling.map(Rate::bits_per_second),
    })
}

fn dropper_json(dropper: &DropperPlan) -> Json {
    json!({
        "policy": policy(&*dropper.kind),
        "per_flow": dropper.scope == Scope::Flow,
        "detector": dropper.detector.as_ref().map(|detector| policy(&**detector)),
    })
}

fn meters_json(meters: &[MeterKind]) -> Vec<Json> {
    meters.iter().map(|meter| policy(&**meter)).collect()
}

/// A policy: its name and the values of its parameters, defaults included.
fn policy(facts: &dyn PolicyFacts) -> Json {
    named(facts.record().name, &facts.values())
}

fn named(policy: &str, values: &[(&str, Value)]) -> Json {
    let values: Map<String, Json> =
        values.iter().map(|(name, value)| ((*name).to_owned(), value_json(value))).collect();
    json!({"name": policy, "values": values})
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Rate(bits) => json!(bits),
        Value::Time(span) => json!(span.as_secs_f64()),
        Value::Size(bytes) => json!(bytes),
        Value::Limit(most) => limit(*most),
        Value::Integer(number) => json!(number),
        Value::Number(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Policy(policy) => named(&policy.name, &policy.values),
    }
}

fn limit(most: Limit) -> Json {
    match most {
        Limit::Packets(packets) => json!({"packets": packets}),
        Limit::Bytes(bytes) => json!({"bytes": bytes}),
    }
}

fn flow_json(spec: &Scenario, network: &Network, flow: &FlowSetup) -> Json {
    let group = &spec.groups[flow.part];
    let plans = flow.plans.iter().map(plan_json).collect::<Vec<_>>();
    json!({
        "name": flow.name,
        "group": network.groups[flow.group],
        "peer": flow.peer,
        "route": flow.route,
        "paths": flow.paths.as_ref().map_or(1, |paths| paths.shares.len()),
        "destinations": flow.destinations(),
        "plans": plans,
        "largest": group.link_sizes().iter().copied().max().unwrap_or_else(|| flow.largest()),
        "start": flow.life.start.as_secs_f64(),
        "stop": flow.life.stop.map(Span::as_secs_f64),
        "is_drawn": flow.life.every.is_some() || flow.life.lasts.is_some(),
        "is_set_up": flow.life.set_up,
        "is_cells": flow.aal5,
        "has_envelope": flow.envelope.is_some(),
        "ecn": flow.ecn_capable,
        "source": source_json(&group.source),
    })
}

/// A flow at a port: its class and its contract.
fn plan_json(plan: &FlowPlan) -> Json {
    json!({
        "class": plan.class,
        "reserve": plan.contract.reserve.map(Rate::bits_per_second),
        "priority": plan.contract.priority,
        "ceiling": plan.ceiling.map(Rate::bits_per_second),
    })
}

/// The source of a flow: its kind and, for a connection, transport and application.
fn source_json(source: &Source) -> Json {
    match source {
        Source::Sender { transport, application } => json!({
            "kind": "sender",
            "transport": policy(&*transport.policy),
            "application": application_json(application),
        }),
        Source::Receiver { transport, .. } => {
            json!({"kind": "receiver", "transport": policy(&*transport.policy)})
        }
        Source::Registered { source } => json!({"kind": "open-loop", "source": policy(&*source.policy)}),
        _ => json!({"kind": "open-loop"}),
    }
}

fn application_json(application: &Application) -> Json {
    match application {
        Application::Bulk => json!({"kind": "bulk"}),
        Application::Transfers { sizes, arrivals } => json!({
            "kind": "transfers",
            "size": fixed_size(sizes),
            "think": fixed_think(arrivals),
        }),
        Application::OnOff { .. } => json!({"kind": "on-off"}),
        Application::Trace { .. } => json!({"kind": "trace"}),
    }
}

/// The size of every transfer; `None` where it is drawn.
fn fixed_size(sizes: &TransferSizes) -> Option<u64> {
    match sizes {
        TransferSizes::Fixed(bytes) => Some(*bytes),
        _ => None,
    }
}

/// The time from the end of a transfer to the next one, in seconds; `None` where it is drawn, or
/// does not depend on that end.
fn fixed_think(arrivals: &TransferArrivals) -> Option<f64> {
    match arrivals {
        TransferArrivals::AfterThink(Lasts::Fixed(span)) => Some(span.as_secs_f64()),
        _ => None,
    }
}
