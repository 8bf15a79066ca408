//! The promises of a gate to its flows.

use super::shares::{LINK, Shares, goes, node_of};
use super::{GateClass, GateFile, GateFlow};
use tidegate_core::bounds::{Server, behind_own_line};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::units::{Rate, Span};

/// The longest frame that a promise is about, with its Ethernet header.
pub const LONGEST_FRAME: u32 = 1514;

/// A promise to a flow in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The rate of a named flow. As long as the flow sends no more, a frame leaves at most `behind`
    /// later than a line of its own with that rate would have sent it.
    Named {
        /// Index of the flow.
        flow: usize,
        /// Reserved rate in bit/s.
        reserve: u64,
        /// Bound of a frame's lateness.
        behind: Span,
    },
    /// The share of all flows that a flow with `each` opens, or of the circuits of a flow that
    /// reserve nothing.
    Shared {
        /// Index of the flow.
        flow: usize,
        /// The class that they are in; `None` for the link itself.
        class: Option<usize>,
        /// Rate that all of them share, in bit/s.
        rate: u64,
        /// Reservation of each of them; `None` for none.
        each: Option<u64>,
        /// Number of queues of their own that they may have.
        queues: u64,
    },
}

impl GateFile {
    /// Promises to flows in a direction, in the order of the file. A named flow has no bound where
    /// its scheduler states none, where the rate of the link is not steady, and under a ceiling;
    /// nor beside ceilings, unless its scheduler serves what they have held as if it came later.
    pub fn promises(&self, direction: Direction) -> Vec<Promise> {
        let shares = Shares::of(self, direction);
        let mut promises = Vec::new();
        for (ix, flow) in self.flows.iter().enumerate().filter(|(_, flow)| goes(flow, direction)) {
            let shared = shares.shared.iter().filter(|shared| shared.flow == ix);
            promises.extend(shared.map(|shared| Promise::Shared {
                flow: ix,
                class: shared.class,
                rate: shared.reserve,
                each: flow.terms[direction as usize].reserve,
                queues: self.queues_for(shared.reserve),
            }));
            let terms = flow.terms[direction as usize];
            if flow.each.is_none()
                && flow.circuits.is_none()
                && let Some(reserve) = terms.reserve
                && let Some(behind) = self.behind(flow, direction, &shares)
            {
                promises.push(Promise::Named { flow: ix, reserve, behind });
            }
        }
        promises
    }

    /// Bounds on the delays of named flows in a direction, by the indexes of the flows: a packet of
    /// one that reserves and states a workahead W, and keeps a token bucket of both, leaves at most
    /// W / r later than it came, and the `behind` of its promise.
    pub fn delay_bounds(&self, direction: Direction) -> impl Iterator<Item = (usize, Span)> {
        self.promises(direction).into_iter().filter_map(|promise| {
            let Promise::Named { flow, reserve, behind } = promise else { return None };
            let stated = self.flows[flow].contract.contract();
            let contract = Contract { reserve: Rate::from_bits_per_second(reserve), ..stated };
            contract.max_workahead()?;
            Some((flow, contract.workahead_time() + behind))
        })
    }

    fn behind(&self, flow: &GateFlow, direction: Direction, shares: &Shares) -> Option<Span> {
        let emulated = self.emulated[direction as usize].as_ref();
        let steady = emulated.is_none_or(|line| line.pace.is_steady());
        let parent = |class: &usize| self.classes[*class].class.parent;
        let classes: Vec<usize> = std::iter::successors(flow.class, parent).collect();
        let mut ceilings = classes.iter().map(|class| self.classes[*class].terms[direction as usize].ceiling);
        if !steady || flow.terms[direction as usize].ceiling.is_some() || ceilings.any(|one| one.is_some()) {
            return None;
        }
        let mut nodes: Vec<Option<usize>> = classes.into_iter().map(Some).collect();
        nodes.push(None);
        nodes.reverse();
        let servers: Option<Vec<Server>> =
            nodes.iter().map(|node| self.server(*node, nodes.len() > 1, direction, shares)).collect();
        Some(behind_own_line(&servers?))
    }

    /// The scheduler of a class, or of the link, if it keeps rates; `classes` is true if the flow
    /// is in a class.
    fn server(
        &self,
        node: Option<usize>,
        classes: bool,
        direction: Direction,
        shares: &Shares,
    ) -> Option<Server> {
        let side = direction as usize;
        let chosen = node.map_or(&self.port.scheduler, |class| &self.classes[class].class.scheduler);
        let keeps = chosen.policy.keeps_rates().filter(|keeps| keeps.in_classes || !classes)?;
        let rate = match node {
            None => self.rates[side],
            Some(class) => Rate::from_bits_per_second(shares.classes[class]?)?,
        };
        let largest = self.framing.charge(LONGEST_FRAME);
        let flows: Vec<&GateFlow> =
            self.flows.iter().filter(|flow| goes(flow, direction) && stands_in(flow, node)).collect();
        let within: Vec<(usize, &GateClass)> =
            self.classes.iter().enumerate().filter(|(_, class)| class.class.parent == node).collect();
        let shared = shares.shared.iter().filter(|shared| shared.class == node);
        let capped = flows.iter().any(|flow| flow.terms[side].ceiling.is_some())
            || within.iter().any(|(_, class)| class.terms[side].ceiling.is_some());
        let held = capped && !chosen.policy.returns_as_newcomers();
        // Circuits of a list are not counted.
        let many = flows.iter().any(|flow| flow.circuits.is_some()) && !keeps.in_classes;
        let early = chosen.policy.record().reads.contains(&"head_start")
            && flows.iter().any(|flow| flow.contract.contract().head_start > Span::ZERO);
        let reserved = flows.iter().filter_map(|flow| flow.terms[side].reserve);
        let rest = if node_of(node) == LINK { self.rest(direction).contract.reserve } else { None };
        let slowest = reserved.filter_map(Rate::from_bits_per_second).chain(rest).min();
        let too_slow =
            keeps.longest_packet.zip(slowest).is_some_and(|(most, slowest)| slowest.time_for(largest) > most);
        if held || many || early || too_slow {
            return None;
        }
        let classes = if keeps.in_classes { 0 } else { within.len() + shared.count() };
        Some(Server { rate, largest, classes })
    }
}

/// Returns true if a flow, or some of its circuits, may be directly at a scheduler.
fn stands_in(flow: &GateFlow, node: Option<usize>) -> bool {
    flow.class == node || flow.circuits.is_some()
}
