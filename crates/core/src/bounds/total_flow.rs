//! Total-flow analysis: a bound on the delay at every port, and on the traffic behind it.
//!
//! Behind a port in which no packet spends more than D, a flow has the arrival curve α(t + D). In a
//! network without cycles, ports are visited in their order.
//!
//! # Cycles
//!
//! With cycles, the bounds on traffic depend on the delays and the delays on the traffic: `D =
//! F(D)`. Delays are raised from zero until `F(D) ≤ D`. Such delays hold, if the network starts
//! empty: take the first moment at which a packet has been at a port for longer than D. All packets
//! that reached that port before had been no longer than D at the ports before it, or an earlier
//! packet would have been late. The traffic at the port is therefore within the curves until then,
//! service does not depend on later traffic, and the packet has left within F(D). There is a first
//! moment because each packet takes time on each link. (Of token buckets and rate-latency servers,
//! this is the fixed point of Cruz, "A calculus for network delay, part II", IEEE Transactions on
//! Information Theory 37(1), 1991.) Where delays grow for [`ROUNDS`] rounds, there is no bound.

use super::held::Held;
use super::network::{Network, Unbounded};
use super::served::{Beside, Served, Waits, served_by};
use crate::curves::{
    ArrivalCurve, Exact, ServiceCurve, bytes_per_second, largest_backlog, longest_delay, whole,
};
use crate::params::{FixedPort, Line, NoLine, Sharer};
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

const CEILING: NoLine = NoLine::Because("a flow has a ceiling there");

/// Rounds after which delays that still grow are given up.
const ROUNDS: usize = 300;

/// Rounds by which bounds in cycles are lowered once they hold.
const REFINEMENTS: usize = 30;

/// Bounds on the traffic and the delays of each flow at each port of its route.
pub(super) struct Found {
    /// The traffic at each port, and behind the last one.
    pub(super) arrivals: Vec<Vec<Option<ArrivalCurve>>>,
    pub(super) hops: Vec<Vec<Result<Served, Unbounded>>>,
    /// Flows that their windows may hold back.
    pub(super) held: Held,
}

/// Computes the bounds of a network in which the windows of these flows may hold them back, and no
/// other window does.
pub(super) fn solve(network: &Network<'_>, held: Held) -> Found {
    let members = network.members();
    let mut found = Found::new(network, held);
    match network.order() {
        Some(order) => order.into_iter().for_each(|port| found.visit(network, port, &members)),
        None => found.solve_cycles(network, &members),
    }
    found
}

impl Found {
    /// Nothing is delayed yet.
    fn new(network: &Network<'_>, held: Held) -> Found {
        let flows = network.flows.iter();
        Found {
            arrivals: flows.clone().map(|flow| vec![flow.arrivals.clone(); flow.route.len() + 1]).collect(),
            hops: flows.map(|flow| vec![Err(Unbounded::Source); flow.route.len()]).collect(),
            held,
        }
    }

    /// Computes the bounds of all flows at a port, and of their traffic behind it.
    fn visit(&mut self, network: &Network<'_>, port: usize, all: &[Vec<(usize, usize)>]) {
        let members = &all[port];
        let flows = self.sharers(network, port, all);
        let fixed = self.fixed(network, port, all, &flows);
        let lines = self.lines(network, port, all, &fixed);
        let mut beside = Beside::default();
        for (index, ((flow, hop), line)) in members.iter().zip(lines).enumerate() {
            let served = line.map(|waits| served_by(&fixed, index, waits, &mut beside));
            let leaves = served.as_ref().ok().map(|served| served.leaves.clone());
            self.arrivals[*flow][hop + 1] = leaves.or_else(|| network.passed(*flow, *hop, all));
            self.hops[*flow][*hop] = served;
        }
    }

    /// Flows of a port, with the bounds on their arrivals. Flows that their windows may hold back have
    /// none: any number of their packets may wait, and return at once.
    fn sharers(&self, network: &Network<'_>, port: usize, all: &[Vec<(usize, usize)>]) -> Vec<Sharer> {
        let sharer = |(flow, hop): &(usize, usize)| {
            let terms = &network.flows[*flow];
            Sharer {
                contract: terms.contracts[*hop],
                largest: terms.largest,
                smallest: terms.smallest,
                arrivals: self.arrivals[*flow][*hop].clone().filter(|_| self.held.at(*flow, *hop).is_none()),
                passed: terms.ceilings[*hop].and_then(|_| network.passed(*flow, *hop, all)),
            }
        };
        all[port].iter().map(sharer).collect()
    }

    /// The line of each flow of a port, and the longest delay there.
    fn lines(
        &self,
        network: &Network<'_>,
        port: usize,
        all: &[Vec<(usize, usize)>],
        fixed: &FixedPort<'_>,
    ) -> Vec<Result<Waits, Unbounded>> {
        let members = &all[port];
        let is_plain = network.is_plain(port);
        let has_classes = network.classes_in(port).next().is_some();
        let refused = network.ports[port].void.map(NoLine::Because);
        let refused = refused.or_else(|| self.server(network, port, all).err());
        let refused = refused.or(has_classes.then_some(NoLine::Because("classes are beside it")));
        let beside = |why| match why {
            NoLine::Unbounded(other) => Unbounded::Beside { port, flow: members[other].0 },
            why => Unbounded::Promise { port, why },
        };
        // The last line with several flows, and its delay: such flows often follow each other.
        let mut last: Option<(Vec<usize>, Option<Exact>)> = None;
        let is_held = fixed.flows.iter().any(|flow| flow.passed.is_some());
        let mut one = |index: usize, flow: usize, hop: usize| {
            if let Some(why) = self.held.at(flow, hop) {
                return Err(why);
            }
            if fixed.flows[index].passed.is_some() {
                return Err(Unbounded::Promise { port, why: CEILING });
            }
            let Some(own) = &fixed.flows[index].arrivals else {
                let before = hop.checked_sub(1).and_then(|before| self.hops[flow][before].as_ref().err());
                return Err(before.copied().unwrap_or(Unbounded::Source));
            };
            let scheduler = network.ports[port].scheduler;
            let line = match refused {
                Some(why) => Err(why),
                None if is_held && !scheduler.returns_as_newcomers() => match network.is_never_idle(port) {
                    true => fixed.arbitrary(index),
                    false => Err(CEILING),
                },
                None => scheduler.line(fixed, index),
            };
            let line = match line {
                Err(_) if !is_plain => self.guaranteed(network, port, index, all),
                Ok(line) if !is_plain && line.flows.len() == 1 => {
                    let other = self.guaranteed(network, port, index, all).ok();
                    let delay = |line: &Line| longest_delay(own, &line.service);
                    let is_sooner = |other: &Line| {
                        delay(other).is_some_and(|one| delay(&line).is_none_or(|than| one < than))
                    };
                    Ok(other.filter(is_sooner).unwrap_or(line))
                }
                line => line,
            };
            let line = line.map_err(beside)?;
            let delay = match &last {
                Some((flows, delay)) if line.flows.len() > 1 && *flows == line.flows => delay.clone(),
                _ => {
                    let all = fixed.arrivals(|other, _| line.flows.contains(&other)).map_err(beside)?;
                    let delay = longest_delay(&all, &line.service);
                    last = Some((line.flows.clone(), delay.clone()));
                    delay
                }
            };
            // With little traffic beside it, a flow may be sooner in any order of service than by its
            // share.
            let any_order = line.flows.len() == 1 && !has_classes && network.is_never_idle(port);
            let arbitrary = Some(()).filter(|()| any_order);
            let arbitrary = arbitrary.and_then(|()| fixed.arbitrary(index).ok());
            let sooner = arbitrary.and_then(|any| Some((longest_delay(own, &any.service)?, any)));
            let sooner = sooner.filter(|(other, _)| delay.as_ref().is_none_or(|delay| other < delay));
            match (delay, sooner) {
                (_, Some((delay, any))) => Ok(Waits { line: any, delay, promised: Some(line.service) }),
                (Some(delay), None) => Ok(Waits { line, delay, promised: None }),
                (None, None) => Err(Unbounded::Overload { port }),
            }
        };
        members.iter().enumerate().map(|(index, (flow, hop))| one(index, *flow, *hop)).collect()
    }

    /// Bytes at a port.
    pub(super) fn backlog(
        &self,
        network: &Network<'_>,
        port: usize,
        members: &[(usize, usize)],
    ) -> Option<Exact> {
        let of_flows: Option<Exact> = members
            .iter()
            .map(|(flow, hop)| Some(self.hops[*flow][*hop].as_ref().ok()?.backlog.clone()))
            .sum();
        let arrivals: Option<Vec<&ArrivalCurve>> =
            members.iter().map(|(flow, hop)| self.arrivals[*flow][*hop].as_ref()).collect();
        let largest = whole(network.largest_at(members));
        let is_promised = |(flow, hop): &(usize, usize)| {
            self.held.at(*flow, *hop).is_none()
                && !matches!(self.hops[*flow][*hop], Err(Unbounded::Promise { why: NoLine::Because(_), .. }))
        };
        let serves = network.is_plain(port) && network.is_never_idle(port);
        let serves = serves && members.iter().all(is_promised);
        let of_port = arrivals.filter(|_| serves).and_then(|arrivals| {
            let server = network.ports[port].server(&largest).in_packets(&largest);
            largest_backlog(&ArrivalCurve::sum(arrivals), &server)
        });
        match (of_flows, of_port) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// A port or a class with its flows.
    fn fixed<'a>(
        &self,
        network: &Network<'_>,
        port: usize,
        all: &[Vec<(usize, usize)>],
        flows: &'a [Sharer],
    ) -> FixedPort<'a> {
        let link = network.ports[port].link;
        // Without a guarantee no line is asked for.
        let server = self.server(network, port, all);
        let server =
            server.unwrap_or_else(|_| ServiceCurve::rate_latency(bytes_per_second(link), Exact::zero()));
        let holds = network.ports[port].ceiling.is_some_and(|ceiling| ceiling < link);
        let is_link = network.ports[port].class.is_none() && !holds;
        FixedPort::new(link, server, flows).of_link(is_link)
    }

    fn solve_cycles(&mut self, network: &Network<'_>, members: &[Vec<(usize, usize)>]) {
        let mut delays: Vec<Vec<Option<Exact>>> =
            network.flows.iter().map(|flow| vec![Some(Exact::zero()); flow.route.len()]).collect();
        // Delays are raised by a 64th more than they must, until none has to be raised.
        let raise =
            |held: &Exact, needed: &Exact| (needed > held).then(|| round_up(&(needed + needed / whole(64))));
        loop {
            let mut raised = Vec::new();
            for _ in 0..ROUNDS {
                raised = self.round(network, members, &mut delays, raise);
                if raised.is_empty() {
                    break;
                }
            }
            if raised.is_empty() {
                break;
            }
            for (flow, hop) in raised {
                delays[flow][hop] = None;
                let port = network.flows[flow].route[hop];
                self.hops[flow][hop] = Err(Unbounded::Cycle { port });
            }
        }
        for _ in 0..REFINEMENTS {
            let lower = |held: &Exact, needed: &Exact| Some(round_up(needed)).filter(|lower| lower < held);
            if self.round(network, members, &mut delays, lower).is_empty() {
                break;
            }
        }
        self.follow(network, &delays, members);
        for (port, here) in members.iter().enumerate() {
            let flows = self.sharers(network, port, members);
            let fixed = self.fixed(network, port, members, &flows);
            let lines = self.lines(network, port, members, &fixed);
            let mut beside = Beside::default();
            for (index, ((flow, hop), line)) in here.iter().zip(lines).enumerate() {
                if let (Ok(waits), Some(delay)) = (line, &delays[*flow][*hop]) {
                    let waits = Waits { delay: delay.clone(), ..waits };
                    let served = served_by(&fixed, index, waits, &mut beside);
                    self.hops[*flow][*hop] = Ok(served);
                }
            }
        }
    }

    /// Sets the traffic at every port to what follows from these delays; there is no bound behind a
    /// port where there is none on the delay, and no ceiling.
    fn follow(&mut self, network: &Network<'_>, delays: &[Vec<Option<Exact>>], all: &[Vec<(usize, usize)>]) {
        for (flow, terms) in network.flows.iter().enumerate() {
            let mut now = terms.arrivals.clone();
            for (hop, port) in terms.route.iter().enumerate() {
                self.arrivals[flow][hop] = now.clone();
                let link = bytes_per_second(network.ports[*port].link);
                let link = ArrivalCurve::bucket(whole(terms.largest), link);
                let behind = now.zip(delays[flow][hop].as_ref()).map(|(now, delay)| now.behind(delay));
                let leaves = behind.map(|behind| behind.and_at_most(&link));
                now = leaves.or_else(|| network.passed(flow, hop, all));
            }
            self.arrivals[flow][terms.route.len()] = now;
        }
    }

    /// Computes all delays from the traffic that follows from `delays`, and changes those for which
    /// `change` has another value, and to none where there is no bound. Returns what it has changed.
    fn round(
        &mut self,
        network: &Network<'_>,
        members: &[Vec<(usize, usize)>],
        delays: &mut [Vec<Option<Exact>>],
        change: impl Fn(&Exact, &Exact) -> Option<Exact>,
    ) -> Vec<(usize, usize)> {
        self.follow(network, delays, members);
        let mut changed = Vec::new();
        for (port, here) in members.iter().enumerate() {
            let flows = self.sharers(network, port, members);
            let fixed = self.fixed(network, port, members, &flows);
            let lines = self.lines(network, port, members, &fixed);
            for ((flow, hop), line) in here.iter().zip(lines) {
                let Some(held) = delays[*flow][*hop].clone() else { continue };
                let other = match line {
                    Ok(waits) => match change(&held, &waits.delay) {
                        Some(other) => Some(other),
                        None => continue,
                    },
                    Err(why) => {
                        self.hops[*flow][*hop] = Err(why);
                        None
                    }
                };
                delays[*flow][*hop] = other;
                changed.push((*flow, *hop));
            }
        }
        changed
    }
}

/// The next multiple of 2⁻⁴⁰ seconds, a picosecond, so that numbers stay short.
fn round_up(time: &Exact) -> Exact {
    let unit = whole(1u64 << 40);
    (time * &unit).ceil() / unit
}
