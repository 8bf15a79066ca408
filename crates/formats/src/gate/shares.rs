//! The promise of each scheduler of a gate to its members, and the remainder for flows that packets
//! open.
//!
//! The senders decide how many flows a flow with `each` has, so that no scheduler promises anything
//! to one of them. At a
//! scheduler that reads reservations they are one member, a *shared class*, in which the same
//! scheduler divides the class's
//! service in proportion to their reservations. So are circuits that reserve nothing, where such
//! flows have a weight.
//!
//! A shared class reserves at least the demand of its members (a reservation of one of `each`), and
//! a part of the remainder:
//! in proportion to the reservations of one member, or to the weights of those that reserve
//! nothing. The reservations and
//! weights of all members of a scheduler add up to at most the promise that the scheduler itself
//! has. Where there is too
//! little for the weights of flows without a reservation, these become smaller. A class without a
//! reservation asks the
//! scheduler above for the demand of its members.

use super::{GateFile, GateFlow};
use crate::policy::Chosen;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Rate;

/// The parameter by which a scheduler gives a weight to flows that reserve nothing.
const UNRESERVED: &str = "unreserved";

/// Index of the link's own scheduler among the nodes; that of a class is one more than the class's.
pub(super) const LINK: usize = 0;

/// The reservations in one direction, in bit/s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// Reservation of each class of the file, with its scheduler above; `None` where nothing is
    /// promised.
    pub(super) classes: Vec<Option<u64>>,
    /// The shared classes, which are behind the classes of the file.
    pub(super) shared: Vec<SharedClass>,
    /// The weight of flows without a reservation at each node, where it had to become smaller.
    weights: Vec<Option<u64>>,
}

/// A class shared by the flows of one `[[flow]]` that packets open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedClass {
    /// Index of the `[[flow]]`.
    pub(super) flow: usize,
    /// The class of the file that it is in.
    pub(super) class: Option<usize>,
    /// Its reservation.
    pub(super) reserve: u64,
}

/// A scheduler, and the demands of its members.
#[derive(Clone, Debug, Default)]
struct SchedulerNode {
    /// True if it serves by reservations.
    by_reservation: bool,
    /// The weight of a flow without a reservation; 0 where it has none.
    unreserved: u64,
    /// Reservations of named members.
    booked: u128,
    /// Members without a reservation that are neither a shared class nor a class with a demand.
    others: u64,
    /// The node above, and the ceiling, where a class reserves nothing itself.
    open_class: Option<(usize, u64)>,
    /// Members that get a part of the remainder: shared classes, and classes without a reservation.
    parts: Vec<Part>,
}

/// A member that gets a part of the remainder.
#[derive(Clone, Copy, Debug)]
struct Part {
    owner: PartOwner,
    /// Its demand in any case.
    least: u128,
    /// Its additional weight as long as there is enough.
    weight: u128,
    /// Its part of the remainder.
    part: u128,
}

#[derive(Clone, Copy, Debug)]
enum PartOwner {
    Shared(usize),
    Class(usize),
}

impl Shares {
    pub(super) fn of(gate: &GateFile, direction: Direction) -> Shares {
        let mut tree = SchedulerTree::of(gate, direction);
        tree.book_flows(gate, direction);
        tree.divide(gate, direction)
    }

    /// The index of the shared class of a flow in a class among all classes of the port.
    pub(super) fn class_of(&self, flow: usize, class: Option<usize>) -> Option<u16> {
        let at = self.shared.iter().position(|shared| (shared.flow, shared.class) == (flow, class))?;
        u16::try_from(self.classes.len() + at).ok()
    }

    /// The scheduler of a node as the file has it, with the weights that there is room for.
    pub(super) fn scheduler(&self, node: usize, chosen: &Chosen<SchedulerKind>) -> SchedulerKind {
        let policy = chosen.policy.clone();
        let fitted = self.weights[node].and_then(|weight| {
            let mut values = policy.values();
            values.iter_mut().filter(|(key, _)| *key == UNRESERVED).for_each(|(_, value)| {
                *value = Value::Rate(weight);
            });
            SchedulerKind::read(policy.record().name, &values)?.ok()
        });
        fitted.unwrap_or(policy)
    }
}

/// The nodes of a port's tree, the link's first, and the shared classes.
struct SchedulerTree {
    nodes: Vec<SchedulerNode>,
    shared: Vec<SharedClass>,
}

impl SchedulerTree {
    fn of(gate: &GateFile, direction: Direction) -> SchedulerTree {
        let schedulers = std::iter::once(&gate.port.scheduler)
            .chain(gate.classes.iter().map(|class| &class.class.scheduler));
        let mut nodes: Vec<SchedulerNode> =
            schedulers.map(|chosen| SchedulerNode::of(&chosen.policy)).collect();
        for (class, node) in gate.classes.iter().zip(&mut nodes[1..]) {
            let terms = class.terms[direction as usize];
            if terms.reserve.is_none() {
                node.open_class = Some((node_of(class.class.parent), terms.ceiling.unwrap_or(u64::MAX)));
            }
        }
        SchedulerTree { nodes, shared: Vec::new() }
    }

    fn book_flows(&mut self, gate: &GateFile, direction: Direction) {
        for (ix, flow) in gate.flows.iter().enumerate().filter(|(_, flow)| goes(flow, direction)) {
            let common = flow.terms[direction as usize].reserve;
            if let Some(circuits) = &flow.circuits {
                // Circuits without a reservation, by node.
                let mut without = vec![0; self.nodes.len()];
                for circuit in 0..circuits.len() as u32 {
                    let terms = circuits.terms(circuit);
                    let node = node_of(terms.class.map(usize::from).or(flow.class));
                    let own =
                        terms.reserve[direction as usize].map(|rate| rate.bits_per_second().round() as u64);
                    match own.or(common) {
                        Some(bits) => self.nodes[node].booked += u128::from(bits),
                        None => without[node] += 1,
                    }
                }
                for (node, count) in without.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                    self.share(ix, node, None, count);
                }
            } else if flow.each.is_some() {
                self.share(ix, node_of(flow.class), common, 1);
            } else {
                let node = &mut self.nodes[node_of(flow.class)];
                match common {
                    Some(bits) => node.booked += u128::from(bits),
                    None => node.others += 1,
                }
            }
        }
        let rest = gate.rest(direction).contract.reserve;
        let link = &mut self.nodes[LINK];
        match rest {
            Some(rate) => link.booked += 2 * rate.bits_per_second() as u128,
            None => link.others += 2,
        }
    }

    /// Adds a shared class for flows of a `[[flow]]` at a node, if their number would count there.
    fn share(&mut self, flow: usize, node: usize, reserve: Option<u64>, count: u64) {
        let SchedulerNode { by_reservation, unreserved, .. } = self.nodes[node];
        if !by_reservation || (reserve.is_none() && unreserved == 0) {
            return;
        }
        let weight = u128::from(unreserved) * u128::from(count);
        let (least, weight, part) = match reserve {
            Some(bits) => (bits.into(), 0, bits.into()),
            None => (0, weight, weight),
        };
        let owner = PartOwner::Shared(self.shared.len());
        self.nodes[node].parts.push(Part { owner, least, weight, part });
        self.shared.push(SharedClass { flow, class: node.checked_sub(1), reserve: 0 });
    }

    /// Adds up from the leaves to the root, then divides from the root to the leaves.
    fn divide(mut self, gate: &GateFile, direction: Direction) -> Shares {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (class, one) in gate.classes.iter().enumerate() {
            children[node_of(one.class.parent)].push(class + 1);
        }
        let mut down = vec![LINK];
        for at in 0..self.nodes.len() {
            let Some(node) = down.get(at).copied() else { break };
            down.append(&mut children[node]);
        }
        for node in down.iter().rev().copied().filter(|node| *node != LINK) {
            self.ask_above(node, gate, direction);
        }
        let mut classes: Vec<Option<u64>> =
            gate.classes.iter().map(|class| class.terms[direction as usize].reserve).collect();
        let mut rooms = vec![0; self.nodes.len()];
        let mut weights = vec![None; self.nodes.len()];
        rooms[LINK] = gate.rates[direction as usize].bits_per_second() as u64;
        for at in down {
            let node = &self.nodes[at];
            if let Some(class) = at.checked_sub(1) {
                let terms = gate.classes[class].terms[direction as usize];
                let above = rooms[node_of(gate.classes[class].class.parent)];
                let own = classes[class].or(terms.ceiling).unwrap_or(above);
                rooms[at] = own.min(terms.ceiling.unwrap_or(u64::MAX));
            }
            let (fitted, parts) = node.divide(rooms[at].into());
            weights[at] = fitted;
            for (owner, bits) in parts {
                match owner {
                    PartOwner::Shared(shared) => self.shared[shared].reserve = bits,
                    PartOwner::Class(class) => {
                        let most = self.nodes[class + 1].open_class.map_or(u64::MAX, |(_, ceiling)| ceiling);
                        classes[class] = Some(bits.min(most));
                    }
                }
            }
        }
        Shares { classes, shared: self.shared, weights }
    }

    /// Adds a class's demand to the scheduler above.
    fn ask_above(&mut self, at: usize, gate: &GateFile, direction: Direction) {
        let class = &gate.classes[at - 1];
        let above = node_of(class.class.parent);
        if let Some(bits) = class.terms[direction as usize].reserve {
            self.nodes[above].booked += u128::from(bits);
            return;
        }
        let node = &self.nodes[at];
        let sum = |of: fn(&Part) -> u128| node.parts.iter().map(of).sum::<u128>();
        let least = node.booked + sum(|part| part.least);
        let (shared, others) = (sum(|part| part.part), u128::from(node.others * node.unreserved));
        if least == 0 && shared == 0 || !self.nodes[above].by_reservation {
            self.nodes[above].others += 1;
            return;
        }
        let weight = sum(|part| part.weight) + others;
        self.nodes[above].parts.push(Part { owner: PartOwner::Class(at - 1), least, weight, part: shared });
    }
}

impl SchedulerNode {
    fn of(policy: &SchedulerKind) -> SchedulerNode {
        let record = policy.record();
        let weight = policy.values().into_iter().find_map(|(key, value)| match value {
            Value::Rate(bits) if key == UNRESERVED => Some(bits),
            _ => None,
        });
        let by_reservation = record.reads.contains(&"reserve") && !record.divides;
        SchedulerNode { by_reservation, unreserved: weight.unwrap_or(0), ..SchedulerNode::default() }
    }

    /// Divides the node's room: the weight of a flow without a reservation, if it has to be
    /// smaller, and the part of each member.
    fn divide(&self, room: u128) -> (Option<u64>, Vec<(PartOwner, u64)>) {
        let sum = |of: fn(&Part) -> u128| self.parts.iter().map(of).sum::<u128>();
        let left = room.saturating_sub(self.booked + sum(|part| part.least));
        let others = u128::from(self.others) * u128::from(self.unreserved);
        let weights = others + sum(|part| part.weight);
        // Weights that do not fit become smaller in proportion.
        let fit = |weight: u128| if weights > left { weight * left / weights } else { weight };
        let surplus = left.saturating_sub(weights);
        let all = sum(|part| part.part).max(1);
        let bits = |bits: u128| u64::try_from(bits).unwrap_or(u64::MAX).clamp(1, Rate::MAX_BITS_PER_SECOND);
        let parts = self
            .parts
            .iter()
            .map(|part| (part.owner, bits(part.least + fit(part.weight) + surplus * part.part / all)));
        let smaller = self.by_reservation && self.unreserved > 0 && weights > left;
        (smaller.then(|| bits(fit(self.unreserved.into()))), parts.collect())
    }
}

/// The node of a class; the link's for none.
pub(super) fn node_of(class: Option<usize>) -> usize {
    class.map_or(LINK, |class| class + 1)
}

/// Returns true if packets of a flow go in a direction.
pub(super) fn goes(flow: &GateFlow, direction: Direction) -> bool {
    flow.matching.direction.is_none_or(|only| only == direction)
}
