//! The bounds of a flow at a port, of which the line in which it waits is known.

use crate::curves::{ArrivalCurve, Exact, ServiceCurve, beside_fifo, largest_backlog, output, whole};
use crate::params::{FixedPort, Line};
use alloc::vec::Vec;
use num_traits::Zero;

/// A flow at a port.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) delay: Exact,
    pub(super) backlog: Exact,
    /// The service that the port leaves for this flow; `None` where the rest of its line leaves none.
    pub(super) service: Option<ServiceCurve>,
    /// The service that the scheduler promises this flow, where `service` has the shorter delay here.
    pub(super) promised: Option<ServiceCurve>,
    pub(super) source: &'static str,
    /// The line in which it waits.
    pub(super) queue: Queue,
    pub(super) leaves: ArrivalCurve,
}

/// The line in which a flow waits at a port: the order is that of arrival.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// The service of the whole line, in bits.
    pub(super) service: ServiceCurve,
    /// The traffic of the other flows in it; `None` if it is not bounded.
    pub(super) others: Option<ArrivalCurve>,
}

/// The line in which a flow waits at a port, and its longest delay.
pub(super) struct Waits {
    pub(super) line: Line,
    pub(super) delay: Exact,
    /// The scheduler's promise, where the line is that of any order of service.
    pub(super) promised: Option<ServiceCurve>,
}

/// The last line with several flows, and the traffic of all of them but each.
#[derive(Default)]
pub(super) struct Beside {
    flows: Vec<usize>,
    others: Vec<Option<ArrivalCurve>>,
}

impl Beside {
    /// The traffic beside a flow in its line.
    fn of(&mut self, port: &FixedPort<'_>, index: usize, line: &Line) -> Option<&ArrivalCurve> {
        if self.flows != line.flows {
            let arrivals = line.flows.iter().map(|flow| port.flows[*flow].arrivals.as_ref());
            self.others = ArrivalCurve::sums_of_others(&arrivals.collect::<Vec<_>>());
            self.flows.clone_from(&line.flows);
        }
        let place = self.flows.iter().position(|flow| *flow == index)?;
        self.others[place].as_ref()
    }
}

/// The bounds of a flow of which those on its arrivals and on its delay are known.
pub(super) fn served_by(port: &FixedPort<'_>, index: usize, waits: Waits, beside: &mut Beside) -> Served {
    let Waits { line, delay, promised } = waits;
    let own = port.flows[index].arrivals.as_ref().map_or_else(ArrivalCurve::zero, Clone::clone);
    let largest = whole(port.flows[index].largest);
    // Its packets follow each other at the rate of the link.
    let link = ArrivalCurve::bucket(largest.clone(), port.rate.clone());
    let mut leaves = own.behind(&delay).and_at_most(&link);
    let others = match line.flows.len() {
        1 => Some(ArrivalCurve::zero()),
        _ => beside.of(port, index, &line).cloned(),
    };
    let service = match line.flows.len() {
        1 => Some(line.service.clone()),
        _ => others.as_ref().and_then(|others| beside_fifo(others, &line.service)),
    };
    let queue = Queue { service: line.service, others };
    let mut backlog = own.at(&delay);
    if let Some(service) = &service {
        let packet = ArrivalCurve::bucket(largest.clone(), Exact::zero());
        if let Some(bits) = output(&own, service) {
            leaves = leaves.and_at_most(&bits.and(&packet));
        }
        if let Some(bytes) = largest_backlog(&own, &service.in_packets(&largest)) {
            backlog = backlog.min(bytes);
        }
    }
    Served { delay, backlog, service, promised, source: line.source, queue, leaves }
}
