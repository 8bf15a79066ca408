//! A network of ports and flows, of which bounds are wanted.

use crate::contract::Contract;
use crate::curves::{ArrivalCurve, Exact, ServiceCurve, bytes_per_second, whole};
use crate::params::{NoLine, PolicyFacts};
use crate::units::{Rate, Span};
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

/// A port and its link. All its flows are known, and none is in a class or has a ceiling of its own,
/// or it is `void`.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    /// Its scheduler.
    pub scheduler: &'a dyn PolicyFacts,
    /// Rate of the link.
    pub link: Rate,
    /// Greatest rate at which the port sends.
    pub ceiling: Option<Rate>,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Reason for which the port promises nothing; `None` where its scheduler is asked.
    pub void: Option<&'static str>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Indexes of the ports on its way, at least one, none twice.
    pub route: Vec<usize>,
    /// Its contract with each of them.
    pub contracts: Vec<Contract>,
    /// Its largest packet, in bytes.
    pub largest: u32,
    /// Its smallest packet, in bytes.
    pub smallest: u32,
    /// Bound on its traffic at the first port; `None` where there is none.
    pub arrivals: Option<ArrivalCurve>,
}

/// Ports and flows.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The ports.
    pub ports: Vec<Port<'a>>,
    /// The flows.
    pub flows: Vec<Flow>,
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
    /// The bounds of ports in a cycle raise each other without end.
    Cycle {
        /// A port of the cycle.
        port: usize,
    },
}

impl Port<'_> {
    /// Strict service curve of the port: under a ceiling, after a largest packet at its rate.
    pub(super) fn server(&self, largest: &Exact) -> ServiceCurve {
        let link = bytes_per_second(self.link);
        match self.ceiling.map(bytes_per_second) {
            Some(ceiling) if ceiling < link => ServiceCurve::rate_latency(ceiling.clone(), largest / ceiling),
            _ => ServiceCurve::rate_latency(link, Exact::zero()),
        }
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

    /// The largest packet at a port.
    pub(super) fn largest_at(&self, members: &[(usize, usize)]) -> Exact {
        whole(members.iter().map(|(flow, _)| self.flows[*flow].largest).max().unwrap_or(0))
    }
}
