//! From a scenario to a network that can run.

use crate::input::{self, Trace, TraceFlow};
use crate::network::{Change, FlowSetup, Life, LinkPlan, Network, NodePlan};
use crate::traffic::{Gap, Traffic};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::admission::Policy;
use tidegate_core::contract::Contract;
use tidegate_core::dropper::DropperKind;
use tidegate_core::meter::{MeterKind, flow_monitor};
use tidegate_core::params::Choice;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan};
use tidegate_core::units::Rate;
use tidegate_spec::units::show_rate;
use tidegate_spec::{
    ChangeSpec, ContractSpec, Flow, FlowGroup, Link, NodeKind, Place, Scenario, Source, SpecError,
};

/// Builds the network of a scenario, reading the traces and captures that it names.
///
/// # Errors
/// When a trace or capture cannot be used, a capture does not hold the flow that is asked for,
/// its flows together reserve more than a link carries, or a value is beyond what a policy takes.
pub fn build(scenario: &Scenario) -> Result<Network, Box<SpecError>> {
    let mut recordings = Recordings::default();
    let classes = classes(scenario)?;
    let mut network = Network {
        nodes: scenario
            .nodes
            .iter()
            .map(|node| NodePlan { name: node.name.clone(), buffer: node.buffer })
            .collect(),
        links: Vec::with_capacity(scenario.links.len()),
        groups: scenario.groups.iter().map(|group| group.name.clone()).collect(),
        flows: Vec::with_capacity(scenario.flow_count()),
        policies: policies(scenario),
        duration: scenario.duration,
        warmup: scenario.warmup,
    };
    // Where no flow is monitored, a monitor would only cost time.
    let monitored = scenario.groups.iter().any(|group| group.contract.interval().is_some());
    for link in &scenario.links {
        let idle = |meter: &Choice| meter.record.name == flow_monitor::RECORD.name && !monitored;
        // Classes order what switches forward; a host only sends its own.
        let forwards = scenario.nodes[link.from].kind == NodeKind::Switch;
        network.links.push(LinkPlan {
            name: link.name.clone(),
            from: link.from,
            to: link.to,
            rate: link.rate,
            delay: link.delay,
            port: PortPlan {
                scheduler: SchedulerKind::BuiltIn(link.port.scheduler.clone()),
                classes: if forwards { classes.clone() } else { Vec::new() },
                meter: link.port.meter.clone().filter(|meter| !idle(meter)).map(MeterKind::BuiltIn),
                dropper: link.port.dropper.clone().map(DropperKind::BuiltIn),
                ceiling: rate_of(link.port.ceiling, scenario, link.place)?,
            },
        });
    }
    for flow in scenario.flows() {
        for (name, traffic) in traffic(&flow, scenario, &mut recordings)? {
            network.flows.push(set_up(flow.group, flow.group_index, name, traffic, scenario)?);
        }
    }
    check_captured(scenario, &network)?;
    Ok(network)
}

/// Boxed: a mistake carries its source line, and is rare.
fn fail(
    scenario: &Scenario,
    place: Place,
    message: impl Into<String>,
    help: Option<String>,
) -> Box<SpecError> {
    Box::new(scenario.error_at(place, message, help))
}

/// What every link may promise, if flows are set up by signalling.
fn policies(scenario: &Scenario) -> Vec<Policy> {
    let Some(admission) = scenario.admission else { return Vec::new() };
    let policy = |link: &Link| {
        let carries = link.rate_bits.min(link.port.ceiling.unwrap_or(u64::MAX));
        let kept = (carries as f64 * admission.datagrams).ceil() as u64;
        Policy { reservable: carries.saturating_sub(kept), longest_interval: admission.longest_interval }
    };
    scenario.links.iter().map(policy).collect()
}

fn classes(scenario: &Scenario) -> Result<Vec<ClassPlan>, Box<SpecError>> {
    let class = |class: &tidegate_spec::Class| {
        Ok(ClassPlan {
            parent: class.parent.map(|parent| parent as u16),
            scheduler: SchedulerKind::BuiltIn(class.scheduler.clone()),
            contract: contract(&class.contract, scenario, class.place)?,
            ceiling: rate_of(class.ceiling, scenario, class.place)?,
        })
    };
    scenario.classes.iter().map(class).collect()
}

fn contract(spec: &ContractSpec, scenario: &Scenario, place: Place) -> Result<Contract, Box<SpecError>> {
    Ok(Contract {
        reserve: rate_of(spec.reserve_bits(), scenario, place)?,
        interval: spec.interval(),
        priority: spec.priority(),
        level: spec.level(),
    })
}

fn rate_of(bits: Option<u64>, scenario: &Scenario, place: Place) -> Result<Option<Rate>, Box<SpecError>> {
    bits.map(|bits| rate(bits as f64, scenario, place)).transpose()
}

fn rate(bits: f64, scenario: &Scenario, place: Place) -> Result<Rate, Box<SpecError>> {
    // A cast from f64 saturates; what is out of range is refused.
    Rate::from_bits_per_second(bits.round() as u64)
        .ok_or_else(|| fail(scenario, place, format!("{bits} bit/s is not a rate that can be sent"), None))
}

fn set_up(
    group: &FlowGroup,
    index: usize,
    name: String,
    traffic: Traffic,
    scenario: &Scenario,
) -> Result<FlowSetup, Box<SpecError>> {
    let contract = contract(&group.contract, scenario, group.place)?;
    let ceiling = rate_of(group.ceiling, scenario, group.place)?;
    let plan = |link: &usize| {
        let forwards = scenario.nodes[scenario.links[*link].from].kind == NodeKind::Switch;
        FlowPlan {
            class: group.class.map(|class| class as u16).filter(|_| forwards),
            contract,
            ceiling: ceiling.filter(|_| forwards),
            shaper: None,
        }
    };
    let envelope = group.envelope.as_ref().map(ShaperPlan::new).transpose();
    let envelope = envelope.map_err(|refused| fail(scenario, group.place, refused.to_string(), None))?;
    let mean = traffic.mean_bits_per_second();
    let change = |spec: &ChangeSpec| -> Result<Change, Box<SpecError>> {
        let reserve = rate(spec.reserve as f64, scenario, group.place)?;
        let interval = spec.interval.or(contract.interval);
        // An envelope follows what is reserved: AR, and AR × AI.
        let follow = |envelope: ShaperPlan| ShaperPlan {
            rate: reserve,
            burst: interval.map_or(envelope.burst, |interval| {
                u32::try_from(reserve.bytes_in_about(interval)).unwrap_or(u32::MAX)
            }),
            ..envelope
        };
        Ok(Change {
            at: spec.at,
            contract: Contract { reserve: Some(reserve), interval, ..contract },
            envelope: envelope.map(follow),
            pace: spec.rate.zip(mean).map(|(bits, mean)| bits as f64 / mean),
        })
    };
    Ok(FlowSetup {
        name,
        group: index,
        plans: group.route.iter().map(plan).collect(),
        route: group.route.clone(),
        envelope,
        largest: traffic.largest(),
        traffic,
        when_warned: group.warned,
        life: Life {
            set_up: scenario.admission.is_some() && group.contract.reserve_bits().is_some(),
            start: group.start,
            every: group.every,
            stop: group.stop,
            lasts: group.lasts,
            hangup: group.hangup,
            changes: group.changes.iter().map(change).collect::<Result<_, _>>()?,
        },
    })
}

/// What a flow sends; a capture without a flow stands for every flow in it.
fn traffic(
    flow: &Flow<'_>,
    scenario: &Scenario,
    recordings: &mut Recordings,
) -> Result<Vec<(String, Traffic)>, Box<SpecError>> {
    let (group, name) = (flow.group, flow.name.to_string());
    let sizes: Arc<[u32]> = group.sizes.as_slice().into();
    let mean = |bits: u64, times: f64| rate(bits as f64 * times, scenario, group.place);
    let one = |traffic| Ok(vec![(name.clone(), traffic)]);
    match &group.source {
        Source::Cbr { rate, times } => one(Traffic::Cbr { rate: mean(*rate, *times)?, sizes }),
        Source::Poisson { rate, times } => one(Traffic::Poisson { rate: mean(*rate, *times)?, sizes }),
        Source::OnOff { rate, peak, burst, times } => one(Traffic::Trains {
            rate: mean(*rate, *times)?,
            length: *burst,
            gap: Gap::AtRate(mean(*peak, *times)?),
            sizes,
        }),
        Source::PacketTrain { rate, length, gap, times } => {
            let gap = match gap {
                Some(gap) => Gap::Fixed(*gap),
                // Half the mean spacing: 1/(2·AR).
                None => Gap::AtRate(mean(*rate, 2.0 * times)?),
            };
            one(Traffic::Trains { rate: mean(*rate, *times)?, length: *length, gap, sizes })
        }
        Source::Greedy { window } => {
            one(Traffic::Greedy { window: u32::try_from(*window).unwrap_or(u32::MAX), sizes })
        }
        Source::Trace { file, speed, repeat } => {
            let trace = recordings.get(file, scenario, group.place)?;
            let play = |flow: &Arc<TraceFlow>| {
                let named = if trace.len() == 1 { name.clone() } else { format!("{name}/{}", flow.name) };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| (named, traffic))
            };
            trace.iter().map(play).collect()
        }
        Source::Capture { file, flow: wanted, speed, repeat } => {
            let trace = recordings.get(file, scenario, group.place)?;
            let play = |flow: &Arc<TraceFlow>| {
                let named = match wanted {
                    Some(wanted) if wanted.is_one() => name.clone(),
                    _ => format!("{name}/{}", flow.name),
                };
                recorded(flow, *speed, *repeat, scenario, group.place).map(|traffic| (named, traffic))
            };
            let meant = |flow: &&Arc<TraceFlow>| {
                wanted.is_none_or(|wanted| flow.name.parse().is_ok_and(|flow| wanted.matches(&flow)))
            };
            let played: Vec<_> = trace.iter().filter(meant).map(play).collect::<Result<_, _>>()?;
            if played.is_empty() {
                let flows: Vec<&str> = trace.iter().take(5).map(|flow| flow.name.as_str()).collect();
                let message = format!("{} has no flow that is meant by `flow`", file.display());
                let help = format!("it holds {} flows: {}, …", trace.len(), flows.join(", "));
                return Err(fail(scenario, group.place, message, Some(help)));
            }
            Ok(played)
        }
    }
}

fn recorded(
    flow: &Arc<TraceFlow>,
    speed: f64,
    repeat: u64,
    scenario: &Scenario,
    place: Place,
) -> Result<Traffic, Box<SpecError>> {
    flow.schedule(speed, repeat).map_err(|error| fail(scenario, place, error.to_string(), None))?;
    Ok(Traffic::Recorded { flow: flow.clone(), speed, repeat })
}

/// Files that were read, each once.
#[derive(Default)]
struct Recordings(BTreeMap<PathBuf, Vec<Arc<TraceFlow>>>);

impl Recordings {
    fn get(
        &mut self,
        file: &Path,
        scenario: &Scenario,
        place: Place,
    ) -> Result<&[Arc<TraceFlow>], Box<SpecError>> {
        if !self.0.contains_key(file) {
            let Trace { flows, .. } =
                input::load(file).map_err(|error| fail(scenario, place, error.to_string(), None))?;
            self.0.insert(file.to_owned(), flows.into_iter().map(Arc::new).collect());
        }
        Ok(self.0.get(file).map_or(&[], Vec::as_slice))
    }
}

/// A `[[flow]]` that stands for all flows of a capture reserves its rate for each of them; how
/// many they are is known only now.
fn check_captured(scenario: &Scenario, network: &Network) -> Result<(), Box<SpecError>> {
    let mut reserved = vec![0u64; network.links.len()];
    for flow in &network.flows {
        let group = &scenario.groups[flow.group];
        let Some(bits) = group.contract.reserve_bits().filter(|_| group.class.is_none()) else { continue };
        for link in &flow.route {
            reserved[*link] = reserved[*link].saturating_add(bits);
            let rate = scenario.links[*link].rate_bits;
            if reserved[*link] > rate {
                let message = format!(
                    "flow `{}` does not fit: with it {} are reserved on link {}, which carries {}",
                    flow.name,
                    show_rate(reserved[*link]),
                    network.links[*link].name,
                    show_rate(rate)
                );
                return Err(fail(scenario, group.reserve_place, message, None));
            }
        }
    }
    Ok(())
}
