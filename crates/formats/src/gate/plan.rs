//! The switch that a gate file describes. The gate and the simulator both run it.

use super::shares::{LINK, SharedClass, Shares, node_of};
use super::{GateClass, GateFile, GateFlow};
use crate::keys::gate::Within;
use crate::policy::Chosen;
use crate::port::{ContractSpec, DropperSpec};
use std::sync::Arc;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::composite::{BuiltInComposite, WITHIN_BY_BOTH, WITHIN_BY_HOST, WITHIN_DEFAULT};
use tidegate_core::contract::Contract;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::steering::{Aside, Beyond, Conversations, EdgePlan, Rule, Split, StatedHosts};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, Sharing, SwitchPlan};
use tidegate_core::units::Rate;

/// Packets that match no rule and keep the link working reserve this part of the rate; so do all
/// others.
const REST: u64 = 100;

/// The least share of a shared class, in bit/s, for which an address has a queue of its own: about
/// a packet a second.
const MIN_SHARE: u64 = 10_000;
/// Number of addresses that have queues of their own at any rate, the number of FQ-CoDel's queues
/// (RFC 8290, section 5.2.4).
const FEWEST_QUEUES: u64 = 1024;

impl GateFile {
    /// The switch: a port for each direction, up first, each with memory of its own.
    pub fn switch_plan(&self) -> SwitchPlan {
        let stated = ContractSpec::stated(self.flows.iter().map(|flow| &flow.contract));
        let port = |direction: Direction| {
            let rate = self.rates[direction as usize];
            let shares = Shares::of(self, direction);
            let stated_ones = self.classes.iter().enumerate().map(|(ix, class)| {
                let plan = class.plan(direction, &self.above(class));
                let reserve = shares.classes[ix].and_then(Rate::from_bits_per_second);
                let scheduler = shares.scheduler(node_of(Some(ix)), &class.class.scheduler);
                ClassPlan { scheduler, contract: Contract { reserve, ..plan.contract }, ..plan }
            });
            let shared = shares.shared.iter().map(|shared| self.shared_class(shared, direction));
            let classes = stated_ones.chain(shared).collect();
            let scheduler = shares.scheduler(LINK, &self.port.scheduler);
            PortPlan { classes, scheduler, ..self.port.plan(rate, &stated) }
        };
        SwitchPlan {
            ports: Direction::BOTH.map(port).to_vec(),
            buffer: Some(self.buffer),
            sharing: Sharing::Partitioned,
            ..SwitchPlan::default()
        }
    }

    /// The droppers that guard a class's packets beside its own.
    fn above(&self, class: &GateClass) -> Vec<&DropperSpec> {
        class.class.droppers_above(|ix| &self.classes[ix].class, &self.port)
    }

    /// The edge in front of a direction's port: its rules in the order of the file.
    pub fn edge_plan(&self, direction: Direction) -> EdgePlan {
        let shares = Shares::of(self, direction);
        EdgePlan {
            rules: (0..self.flows.len()).map(|flow| self.rule(flow, direction, &shares)).collect(),
            set_dscp: self.flows.iter().map(|flow| flow.set_dscp).collect(),
            rest: self.rest(direction),
            most_flows: self.most_flows,
            framing: self.framing,
        }
    }

    /// A class shared by the flows of a `[[flow]]` that packets open, with a scheduler equal to the
    /// one above.
    fn shared_class(&self, shared: &SharedClass, direction: Direction) -> ClassPlan {
        let flow = &self.flows[shared.flow];
        let chosen = shared.class.map_or(&self.port.scheduler, |class| &self.classes[class].class.scheduler);
        let one = flow.terms[direction as usize].contract(&flow.contract);
        // Its members may send bursts at the same time, and are held to their own peaks.
        let times = shared.reserve.div_ceil(flow.terms[direction as usize].reserve.unwrap_or(shared.reserve));
        let bursts = |bytes: u32| u32::try_from(u64::from(bytes).saturating_mul(times)).unwrap_or(u32::MAX);
        let contract = Contract {
            reserve: Rate::from_bits_per_second(shared.reserve),
            peak: Some(self.rates[direction as usize]),
            workahead: one.workahead.map(bursts),
            excess_burst: one.excess_burst.map(bursts),
            peak_burst: one.peak_burst.map(bursts),
            ..one
        };
        ClassPlan {
            parent: shared.class.map(|class| class as u16),
            contract,
            ..ClassPlan::new(chosen.policy.clone())
        }
    }

    /// Number of addresses that may have queues of their own in a shared class of this rate.
    pub(super) fn queues_for(&self, rate: u64) -> u64 {
        (rate / MIN_SHARE).max(FEWEST_QUEUES).min(self.most_flows as u64)
    }

    /// The rule of a `[[flow]]` in a direction.
    fn rule(&self, ix: usize, direction: Direction, shares: &Shares) -> Rule {
        let flow = &self.flows[ix];
        let mut plan = flow.plan(direction);
        let above = flow.class.map_or(&self.port.scheduler, |class| &self.classes[class].class.scheduler);
        let within = self.conversations(flow).map(Arc::new);
        let Some(each) = flow.each.filter(|_| flow.circuits.is_none()) else {
            let (split, mut unreserved) = (Split::Together, Vec::new());
            let split =
                flow.circuits.as_ref().map_or(split, |circuits| Split::Circuits(Arc::clone(circuits)));
            for shared in shares.shared.iter().filter(|shared| shared.flow == ix) {
                let class = shares.class_of(ix, shared.class);
                unreserved.extend(class.map(|class| (shared.class.map(|listed| listed as u16), class)));
            }
            let aside = self.aside(direction, above);
            plan.spared = aside.zip(plan.contract.reserve).map(|(aside, reserve)| aside.of(reserve));
            let rule = Rule::new(flow.matching.clone(), split, plan, flow.idle);
            return Rule { within, unreserved, aside, ..rule };
        };
        let mut most = self.most_flows;
        if let Some(class) = shares.class_of(ix, flow.class) {
            plan.class = Some(class);
            let reserve = shares.shared[usize::from(class) - shares.classes.len()].reserve;
            most = usize::try_from(self.queues_for(reserve)).unwrap_or(most);
        }
        // Where all contracts together have to fit, the last flow reserves nothing.
        let contract = if above.policy.record().divides { Contract::default() } else { plan.contract };
        let beyond = Beyond { most, plan: FlowPlan { contract, ..plan } };
        Rule { within, beyond, ..Rule::new(flow.matching.clone(), Split::Each(each), plan, flow.idle) }
    }

    /// The policies in the class of each host, subscriber or circuit, where a flow divides these
    /// into conversations.
    fn conversations(&self, flow: &GateFlow) -> Option<Conversations> {
        let (hosts, other) = match flow.within {
            Within::None => return None,
            Within::FiveTuple => (StatedHosts::None, None),
            Within::HostFiveTuple => (StatedHosts::Inside, Some(WITHIN_BY_HOST)),
            Within::TripleIsolate => (StatedHosts::Both, Some(WITHIN_BY_BOTH)),
        };
        let whole = Chosen::<BuiltInComposite>::by_default(WITHIN_DEFAULT, flow.place)?;
        let (scheduler, chosen, scope) = whole.parts()?;
        let scheduler = other.map_or(Some(scheduler.policy), SchedulerKind::named)?;
        let own = DropperSpec { chosen, scope, stated: false };
        let class = flow.class.map(|class| &self.classes[class]);
        let above = class.map_or_else(|| self.port.dropper.iter().collect(), |class| self.above(class));
        let mut guards = above.into_iter().chain(class.and_then(|class| class.class.dropper.as_ref()));
        let dropper = guards.all(|other| !own.is_done_by(other)).then(|| own.plan(None));
        Some(Conversations { scheduler, dropper, hosts })
    }

    /// The plan of packets that match no rule: a hundredth of the rate is reserved for those that
    /// keep the link working, ARP and neighbour discovery among them, and as much for all others,
    /// as far as the flows' reservations leave it.
    pub fn rest(&self, direction: Direction) -> FlowPlan {
        let record = self.port.scheduler.policy.record();
        if record.divides || !record.reads.contains(&"reserve") {
            return FlowPlan::default();
        }
        let rate = self.rates[direction as usize].bits_per_second() as u64;
        let left = rate.saturating_sub(self.reserved[direction as usize]);
        let reserve = Rate::from_bits_per_second((rate / REST).min(left / 2));
        let spared = self.aside(direction, &self.port.scheduler).zip(reserve);
        let spared = spared.map(|(aside, reserve)| aside.of(reserve));
        FlowPlan { contract: Contract { reserve, ..Contract::default() }, spared, ..FlowPlan::default() }
    }

    /// Memory that push-out leaves to named flows that reserve at a scheduler.
    fn aside(&self, direction: Direction, above: &Chosen<SchedulerKind>) -> Option<Aside> {
        let reads = above.policy.record().reads.contains(&"reserve");
        reads.then_some(Aside { buffer: self.buffer, rate: self.rates[direction as usize] })
    }
}

impl GateFlow {
    /// The flow at the port of a direction.
    pub(super) fn plan(&self, direction: Direction) -> FlowPlan {
        let terms = self.terms[direction as usize];
        FlowPlan {
            class: self.class.map(|class| class as u16),
            contract: terms.contract(&self.contract),
            ceiling: terms.ceiling(),
            ..FlowPlan::default()
        }
    }
}
