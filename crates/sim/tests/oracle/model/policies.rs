//! Flow monitors, policers and drop-tail queues at the nodes of a port's tree.

use super::Ticks;
use super::buckets::Bucket;
use std::collections::BTreeMap;
use tidegate_core::contract::Contract;
use tidegate_core::dropper::DropperKind;
use tidegate_core::meter::{BuiltInMeter, MeterKind};
use tidegate_core::packet::Colour;
use tidegate_core::params::{Limit, Role, Value};
use tidegate_core::switch::plan::{DropperPlan, PortPlan, Scope};
use tidegate_core::units::Span;

/// VirtualClock's flow monitor (Zhang 1991, section 3.1): the clock of one flow or profile.
#[derive(Clone, Debug, Default)]
struct Clock {
    contract: Contract,
    /// `None` before the first packet.
    virtual_clock: Option<Ticks>,
    /// Bytes since the last check.
    received: u64,
    checked: Ticks,
    refused: bool,
}

/// A meter's verdict on a packet.
pub struct Reading {
    /// VirtualClock's reading without the packet, if the flow was checked.
    pub checked: Option<Ticks>,
    pub drop: bool,
    /// True if the packet is out of profile.
    pub red: bool,
}

const NOTHING: Reading = Reading { checked: None, drop: false, red: false };

/// A meter at one node: its state for flows, then for profiles.
enum Meter {
    Monitor(Monitor),
    Policer(Policer),
    /// Writes marks and passes all packets. The marks are not modelled.
    Marker,
}

impl Meter {
    fn new(kind: &MeterKind) -> Meter {
        let MeterKind::BuiltIn(policy) = kind else { panic!("no model of it") };
        match policy.record().name {
            "flow-monitor" => Meter::Monitor(Monitor::new(policy)),
            "policer" => {
                let marks = policy.values().contains(&("excess", Value::Text("mark".into())));
                Meter::Policer(Policer { marks, policed: BTreeMap::new() })
            }
            "clearing-meter" => Meter::Marker,
            _ if policy.record().role == (Role::Meter { colours: true }) => Meter::Marker,
            other => panic!("there is no model of {other}"),
        }
    }

    /// A flow or a profile comes, or its contract changes; its metered state stays.
    fn set(&mut self, whose: (bool, u32), contract: Contract) {
        match self {
            Meter::Monitor(monitor) => monitor.clocks.entry(whose).or_default().contract = contract,
            Meter::Policer(policer) => policer.policed.entry(whose).or_default().contract = contract,
            Meter::Marker => {}
        }
    }

    fn see(&mut self, now: Ticks, whose: (bool, u32), len: u32) -> Reading {
        match self {
            Meter::Monitor(monitor) => monitor.see(now, whose, len),
            Meter::Policer(policer) => policer.see(now, whose, len),
            Meter::Marker => NOTHING,
        }
    }
}

/// A policer of contracts (W, r, r̂) at one node.
struct Policer {
    marks: bool,
    policed: BTreeMap<(bool, u32), Policed>,
}

#[derive(Default)]
struct Policed {
    contract: Contract,
    /// The bucket and its contract.
    bucket: Option<(Bucket, Contract)>,
}

impl Policer {
    fn see(&mut self, now: Ticks, whose: (bool, u32), len: u32) -> Reading {
        let Some(policed) = self.policed.get_mut(&whose) else { return NOTHING };
        let contract = policed.contract;
        let (Some(rate), Some(workahead)) = (contract.reserve, contract.max_workahead()) else {
            return NOTHING;
        };
        let workahead = workahead as u32;
        let peak = contract.peak.map(|peak| peak.max(rate));
        let (bucket, of) =
            policed.bucket.get_or_insert_with(|| (Bucket::new(rate, workahead, peak), contract));
        let terms = |of: &Contract| (of.reserve, of.max_workahead(), of.peak);
        if terms(of) != terms(&contract) {
            bucket.change(now, rate, workahead, peak);
        }
        *of = contract;
        let exceeds = !bucket.passes(now, len);
        Reading { checked: None, drop: exceeds && !self.marks, red: exceeds && self.marks }
    }
}

/// A flow monitor at one node.
struct Monitor {
    threshold: Option<Span>,
    polices: bool,
    by_time: bool,
    /// Clocks of flows, then those of profiles.
    clocks: BTreeMap<(bool, u32), Clock>,
}

impl Monitor {
    fn new(policy: &BuiltInMeter) -> Monitor {
        let is = |key, word: &str| policy.values().contains(&(key, Value::Text(word.into())));
        let threshold = policy.values().into_iter().find_map(|(name, value)| match value {
            Value::Time(span) if name == "threshold" => Some(span),
            _ => None,
        });
        let (polices, by_time) = (is("excess", "drop"), is("check", "time"));
        Monitor { threshold, polices, by_time, clocks: BTreeMap::new() }
    }

    fn see(&mut self, now: Ticks, whose: (bool, u32), len: u32) -> Reading {
        let Some(clock) = self.clocks.get_mut(&whose) else { return NOTHING };
        let (Some(reserve), Some(interval)) = (clock.contract.reserve, clock.contract.interval) else {
            return NOTHING;
        };
        let air = reserve.bytes_in_about(interval).max(1);
        let threshold = self.threshold.unwrap_or(interval).ticks();
        if clock.virtual_clock.is_none() {
            clock.checked = now;
        }
        let reads = clock.virtual_clock.unwrap_or(now);
        let tick = reserve.time_for(len).ticks();
        let drop = self.polices && (reads + tick).saturating_sub(now) > threshold;
        let ticked = if drop { reads } else { reads + tick };
        clock.refused |= drop;
        clock.received += u64::from(len);
        let due = match self.by_time {
            true => now - clock.checked >= interval.ticks(),
            false => clock.received >= air,
        };
        clock.virtual_clock = Some(ticked);
        if !due {
            return Reading { drop, ..NOTHING };
        }
        let now_reads = ticked.max(now);
        clock.virtual_clock = Some(now_reads);
        (clock.received, clock.checked, clock.refused) = (clock.received % air, now, false);
        Reading { checked: Some(if drop { now_reads } else { now_reads - tick }), drop, red: false }
    }
}

/// A drop-tail queue around a node.
struct DropTail {
    limit: Limit,
    /// For packets that are red.
    marked: Limit,
    packets: u64,
    bytes: u64,
}

impl DropTail {
    /// `None` for another dropper: ports with one are not followed.
    fn new(plan: &DropperPlan) -> Option<DropTail> {
        let DropperKind::BuiltIn(policy) = &plan.kind else { panic!("no model of it") };
        if policy.record().name != "drop-tail" || plan.scope != Scope::Node {
            return None;
        }
        let limit = |key| {
            policy.values().into_iter().find_map(|(name, value)| match value {
                Value::Limit(limit) if name == key => Some(limit),
                _ => None,
            })
        };
        let all = limit("limit").unwrap();
        Some(DropTail { limit: all, marked: limit("marked").unwrap_or(all), packets: 0, bytes: 0 })
    }
}

/// The meters and droppers at one node of the tree.
struct PolicyNode {
    above: Option<usize>,
    meters: Vec<Meter>,
    queue: Option<DropTail>,
}

/// The meters and droppers of a port, the root's first.
pub struct Policies {
    nodes: Vec<PolicyNode>,
}

impl Policies {
    pub fn new(plan: &PortPlan) -> Policies {
        let node = |above: Option<usize>, meters: &[MeterKind], dropper: Option<&DropperPlan>| PolicyNode {
            above,
            meters: meters.iter().map(Meter::new).collect(),
            queue: dropper.and_then(DropTail::new),
        };
        let mut nodes = vec![node(None, &plan.meters, plan.dropper.as_ref())];
        for class in &plan.classes {
            let above = class.parent.map_or(0, |parent| usize::from(parent) + 1);
            nodes.push(node(Some(above), &class.meters, class.dropper.as_ref()));
        }
        let mut policies = Policies { nodes };
        for meter in policies.nodes.iter_mut().flat_map(|node| &mut node.meters) {
            for (ix, contract) in plan.profiles.iter().enumerate() {
                meter.set((true, ix as u32), *contract);
            }
        }
        policies
    }

    /// The nodes from one up to the root.
    fn path(&self, leaf: usize) -> Vec<usize> {
        std::iter::successors(Some(leaf), |at| self.nodes[*at].above).collect()
    }

    /// A flow comes, or its contract changes; its metered state stays.
    pub fn set_flow(&mut self, leaf: usize, flow: u32, contract: Contract) {
        for at in self.path(leaf) {
            for meter in &mut self.nodes[at].meters {
                meter.set((false, flow), contract);
            }
        }
    }

    /// The verdicts of the meters on a packet's way, the innermost first, until one drops it.
    pub fn meter(
        &mut self,
        now: Ticks,
        leaf: usize,
        flow: u32,
        profile: Option<u16>,
        len: u32,
    ) -> Vec<Reading> {
        let whose = profile.map_or((false, flow), |profile| (true, u32::from(profile)));
        let mut readings = Vec::new();
        for at in self.path(leaf) {
            for meter in &mut self.nodes[at].meters {
                let reading = meter.see(now, whose, len);
                let dropped = reading.drop;
                readings.push(reading);
                if dropped {
                    return readings;
                }
            }
        }
        readings
    }

    /// Returns true if all queues around a leaf have room for a packet, and counts it there.
    pub fn admit(&mut self, leaf: usize, len: u32, colour: Colour) -> bool {
        let path = self.path(leaf);
        let queues = path.iter().filter_map(|at| self.nodes[*at].queue.as_ref());
        let mut fits = queues.map(|queue| {
            let limit = if colour == Colour::Red { queue.marked } else { queue.limit };
            limit.admits(queue.packets + 1, queue.bytes + u64::from(len))
        });
        let admitted = fits.all(|fits| fits);
        if admitted {
            for at in path {
                if let Some(queue) = &mut self.nodes[at].queue {
                    (queue.packets, queue.bytes) = (queue.packets + 1, queue.bytes + u64::from(len));
                }
            }
        }
        admitted
    }

    /// A packet that was queued at a leaf is gone.
    pub fn left(&mut self, leaf: usize, len: u32) {
        for at in self.path(leaf) {
            if let Some(queue) = &mut self.nodes[at].queue {
                (queue.packets, queue.bytes) = (queue.packets - 1, queue.bytes - u64::from(len));
            }
        }
    }
}
