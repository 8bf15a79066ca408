//! A network of ports and flows, of which bounds are wanted.

use crate::contract::Contract;
use crate::curves::{ArrivalCurve, Exact, ServiceCurve, bytes_per_second, left_by, whole};
use crate::params::{NoLine, PolicyFacts, Role, Service};
use crate::shaper::Ceiling;
use crate::units::{Rate, Span};
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

/// A port and its link, or a class of a port. All its flows and classes are known, or it is `void`. A
/// flow in a class has the class on its way, and not the port.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    /// Its scheduler.
    pub scheduler: &'a dyn PolicyFacts,
    /// Rate of the link.
    pub link: Rate,
    /// Greatest rate at which the port sends.
    pub ceiling: Option<Rate>,
    /// Traffic that the link sends ahead of all packets of the port, and that may be on its way out
    /// already; `None` without any. There is no ceiling beside it.
    pub ahead: Option<&'a ArrivalCurve>,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Reason for which the port promises nothing; `None` where its scheduler is asked.
    pub void: Option<&'static str>,
    /// The place of a class; `None` for a port.
    pub class: Option<ClassPlace>,
}

/// The place of a class in the tree of a port.
#[derive(Clone, Copy, Debug)]
pub struct ClassPlace {
    /// Index of the port or the class that it is a member of.
    pub parent: usize,
    /// Its contract there.
    pub contract: Contract,
    /// Its own ceiling.
    pub ceiling: Option<Ceiling>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Indexes of the ports on its way, at least one, none twice.
    pub route: Vec<usize>,
    /// Its contract with each of them.
    pub contracts: Vec<Contract>,
    /// Its ceiling at each of them.
    pub ceilings: Vec<Option<Ceiling>>,
    /// Its largest packet, in bytes.
    pub largest: u32,
    /// Its smallest packet, in bytes.
    pub smallest: u32,
    /// Bound on its traffic at the first port; `None` where there is none.
    pub arrivals: Option<ArrivalCurve>,
}

/// A window of a port.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its flows, each with the place of the port on its route.
    pub members: Vec<(usize, usize)>,
    /// Packets that may be outstanding.
    pub places: u32,
    /// Packets for which the end of the link sends a report, at least 1.
    pub batch: u32,
    /// Longest time from the start of a packet's propagation to the link's end, and from the last bit
    /// of the packet for which a report is due leaving the next port, to the use of the report: the
    /// sum of both, in seconds. The reason, where there is no bound.
    pub loop_time: Result<Exact, &'static str>,
}

/// Ports and flows.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The ports, each followed by its classes.
    pub ports: Vec<Port<'a>>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The windows of ports.
    pub windows: Vec<Window>,
}

/// The reason for which a flow has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// Its own traffic is not bounded.
    Source,
    /// The scheduler of a port promises it nothing.
    Promise {
        /// The port.
        port: usize,
        /// The scheduler's reason.
        why: NoLine,
    },
    /// The traffic of another flow at a port is not bounded.
    Beside {
        /// The port.
        port: usize,
        /// The other flow.
        flow: usize,
    },
    /// A port has less service for the flow's line than may arrive.
    Overload {
        /// The port.
        port: usize,
    },
    /// A window may hold the flow back.
    Window {
        /// The port.
        port: usize,
        /// Packets of the window.
        places: u32,
        /// Packets with which it would not hold the flow back.
        needs: u64,
    },
    /// The bounds of ports in a cycle raise each other without end.
    Cycle {
        /// A port of the cycle.
        port: usize,
    },
}

impl Port<'_> {
    /// Strict service curve of the port: under a ceiling, after a largest packet at its rate; behind
    /// traffic that goes ahead, what this leaves.
    pub(super) fn server(&self, largest: &Exact) -> ServiceCurve {
        let link = bytes_per_second(self.link);
        let server = match self.ceiling.map(bytes_per_second) {
            Some(ceiling) if ceiling < link => ServiceCurve::rate_latency(ceiling.clone(), largest / ceiling),
            _ => ServiceCurve::rate_latency(link, Exact::zero()),
        };
        self.ahead.map_or_else(|| server.clone(), |ahead| left_by(ahead, &server))
    }
}

impl Network<'_> {
    /// Flows at each port, each with the place of the port on its route.
    pub(super) fn members(&self) -> Vec<Vec<(usize, usize)>> {
        let mut members = vec![Vec::new(); self.ports.len()];
        for (flow, terms) in self.flows.iter().enumerate() {
            terms.route.iter().enumerate().for_each(|(hop, port)| members[*port].push((flow, hop)));
        }
        members
    }

    /// The classes directly in a port or a class.
    pub(super) fn classes_in(&self, port: usize) -> impl Iterator<Item = usize> {
        let classes =
            self.ports.iter().enumerate().skip(port + 1).map_while(|(ix, one)| one.class.zip(Some(ix)));
        classes.filter(move |(class, _)| class.parent == port).map(|(_, ix)| ix)
    }

    /// Returns true if a flow at a port, or in its classes, or one of them has a ceiling.
    pub(super) fn has_ceilings(&self, port: usize, all: &[Vec<(usize, usize)>]) -> bool {
        let has_ceiling = |(flow, hop): &(usize, usize)| self.flows[*flow].ceilings[*hop].is_some();
        all[port].iter().any(has_ceiling) || self.classes_in(port).any(|class| self.may_hold(class, all))
    }

    /// Returns true if a ceiling may hold a class, or a flow in it.
    pub(super) fn may_hold(&self, class: usize, all: &[Vec<(usize, usize)>]) -> bool {
        self.ports[class].class.is_some_and(|class| class.ceiling.is_some()) || self.has_ceilings(class, all)
    }

    /// Bound on the traffic of a flow behind a port, by its ceiling there and those of its classes;
    /// `None` without any.
    pub(super) fn passed(
        &self,
        flow: usize,
        hop: usize,
        all: &[Vec<(usize, usize)>],
    ) -> Option<ArrivalCurve> {
        let terms = &self.flows[flow];
        let mut at = terms.route[hop];
        let link = bytes_per_second(self.ports[at].link);
        let mut passed = terms.ceilings[hop].map(|ceiling| passes(&ceiling, terms.largest, &link));
        while let Some(class) = &self.ports[at].class {
            if let Some(ceiling) = &class.ceiling {
                let of_class = passes(ceiling, self.largest_within(at, all), &link);
                passed = Some(passed.map_or(of_class.clone(), |passed| passed.and_at_most(&of_class)));
            }
            at = class.parent;
        }
        passed
    }

    /// Returns true if a port's scheduler is never idle while a packet waits that may be sent.
    pub(super) fn is_never_idle(&self, port: usize) -> bool {
        let role = self.ports[port].scheduler.record().role;
        role == Role::Scheduler { service: Service::WorkConserving }
    }

    /// Returns true for a port without classes.
    pub(super) fn is_plain(&self, port: usize) -> bool {
        self.ports[port].class.is_none() && self.classes_in(port).next().is_none()
    }

    /// The port of each class, and of itself.
    pub(super) fn roots(&self) -> Vec<usize> {
        let mut root = 0;
        let of = |(ix, port): (usize, &Port<'_>)| {
            root = if port.class.is_none() { ix } else { root };
            root
        };
        self.ports.iter().enumerate().map(of).collect()
    }

    /// The ports in an order in which every flow passes them, each followed by its classes; `None` if
    /// there is a cycle.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        let roots = self.roots();
        let mut next = vec![Vec::new(); self.ports.len()];
        let mut before = vec![0usize; self.ports.len()];
        for pair in self.flows.iter().flat_map(|flow| flow.route.windows(2)) {
            next[roots[pair[0]]].push(roots[pair[1]]);
            before[roots[pair[1]]] += 1;
        }
        let mut order: Vec<usize> =
            (0..before.len()).filter(|port| roots[*port] == *port && before[*port] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for port in core::mem::take(&mut next[order[at]]) {
                before[port] -= 1;
                if before[port] == 0 {
                    order.push(port);
                }
            }
            at += 1;
        }
        let ports = roots.iter().enumerate().filter(|(port, root)| port == *root).count();
        let roots = &roots;
        let and_classes = |root: usize| (root..roots.len()).take_while(move |port| roots[*port] == root);
        (order.len() == ports).then(|| order.into_iter().flat_map(and_classes).collect())
    }

    /// The largest packet at a port or in a class, and in the classes in it.
    pub(super) fn largest_within(&self, port: usize, all: &[Vec<(usize, usize)>]) -> u32 {
        let inner = self.classes_in(port).map(|class| self.largest_within(class, all));
        inner.fold(self.largest_at(&all[port]), u32::max)
    }

    /// The largest packet at a port.
    pub(super) fn largest_at(&self, members: &[(usize, usize)]) -> u32 {
        members.iter().map(|(flow, _)| self.flows[*flow].largest).max().unwrap_or(0)
    }
}

/// Traffic behind a ceiling, of packets that a link of this rate sends. Packets count when they start,
/// and arrive behind the link by as much later as their bits take, which differs by a largest packet.
fn passes(ceiling: &Ceiling, largest: u32, link: &Exact) -> ArrivalCurve {
    let rate = bytes_per_second(ceiling.rate());
    let burst = whole(ceiling.at_once(largest)) + &rate * whole(largest) / link;
    ArrivalCurve::bucket(burst, rate)
}
