//! The promise of a scheduler to a flow beside others at a port, as a service curve.

use super::contract::Contract;
use crate::curves::{ArrivalCurve, Exact, ServiceCurve, bytes_per_second, left_by, whole};
use crate::units::Rate;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use num_traits::Zero;

/// A flow at a port.
#[derive(Clone, Debug)]
pub struct Sharer {
    /// Its contract with the port.
    pub contract: Contract,
    /// Its largest packet, in bytes.
    pub largest: u32,
    /// Its smallest packet, in bytes.
    pub smallest: u32,
    /// Bound on its traffic as it reaches the port; `None` where there is none.
    pub arrivals: Option<ArrivalCurve>,
    /// Bound on what its ceiling lets pass, however much of it waits; `None` without a ceiling.
    pub passed: Option<ArrivalCurve>,
}

impl Sharer {
    /// The reserved rate in bytes a second; zero for none.
    pub fn reserve(&self) -> Exact {
        self.contract.reserve.map_or_else(Exact::zero, bytes_per_second)
    }

    /// Bound on its service while another flow waits; `None` where there is none.
    fn served(&self) -> Option<&ArrivalCurve> {
        self.passed.as_ref().or(self.arrivals.as_ref())
    }
}

/// A port whose flows are all known, and stay the same: no class is among them.
#[derive(Clone, Debug)]
pub struct FixedPort<'a> {
    /// Rate of the link.
    pub link: Rate,
    /// Rate of the link, in bytes a second.
    pub rate: Exact,
    /// Strict service curve of the port: the link's, or less where the port has a ceiling, or cells go
    /// ahead of its packets.
    pub server: ServiceCurve,
    /// True if the server is the link, or what is left of it by cells that go ahead.
    is_link: bool,
    /// Its flows.
    pub flows: &'a [Sharer],
    /// Service of all flows but each, while that one waits; `None` if one of the others is not bounded.
    others: Vec<Option<ArrivalCurve>>,
}

/// The flows that wait in one line, in the order of their arrivals, and its service.
#[derive(Clone, Debug)]
pub struct Line {
    /// Indexes of its flows.
    pub flows: Vec<usize>,
    /// Service curve of the whole line, in bits.
    pub service: ServiceCurve,
    /// True if the curve is that of the port itself, and no other flow is at the port.
    pub is_whole_port: bool,
    /// The bound in a few words, with its source.
    pub source: &'static str,
}

/// The reason for which a scheduler promises nothing to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// In words.
    Because(&'static str),
    /// The traffic of the flow with this index is not bounded.
    Unbounded(usize),
}

impl fmt::Display for NoLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLine::Because(words) => f.write_str(words),
            NoLine::Unbounded(_) => f.write_str("the traffic of a flow beside it is not bounded"),
        }
    }
}

/// The reason of a scheduler whose bound is about the whole rate of a link.
const CEILING: NoLine =
    NoLine::Because("its bound needs the whole link, and the port has a ceiling, classes or credit cells");

impl<'a> FixedPort<'a> {
    /// Creates a port with a strict service curve.
    pub fn new(link: Rate, server: ServiceCurve, flows: &'a [Sharer]) -> FixedPort<'a> {
        let served: Vec<_> = flows.iter().map(Sharer::served).collect();
        let others = ArrivalCurve::sums_of_others(&served);
        FixedPort { link, rate: bytes_per_second(link), server, is_link: false, flows, others }
    }

    /// This port, if `is_link` is true with its link as the server, less cells that go ahead.
    #[must_use]
    pub fn of_link(self, is_link: bool) -> FixedPort<'a> {
        FixedPort { is_link, ..self }
    }

    /// Checks that the port has the whole rate of its link.
    ///
    /// # Errors
    /// Under a ceiling, and beside cells that go ahead.
    pub fn has_whole_link(&self) -> Result<(), NoLine> {
        match self.server == ServiceCurve::rate_latency(self.rate.clone(), Exact::zero()) {
            true => Ok(()),
            false => Err(CEILING),
        }
    }

    /// The rate of the link, and the latency, that cells leave which go ahead: the whole link without
    /// any.
    ///
    /// # Errors
    /// Under a ceiling, and in a class.
    pub fn left_by_cells(&self) -> Result<(Exact, Exact), NoLine> {
        self.server.in_the_long_run().filter(|_| self.is_link).ok_or(CEILING)
    }

    /// Traffic of the flows that are chosen.
    ///
    /// # Errors
    /// If one of them is not bounded.
    pub fn arrivals(&self, chosen: impl Fn(usize, &Sharer) -> bool) -> Result<ArrivalCurve, NoLine> {
        let mut sum = ArrivalCurve::zero();
        for (index, flow) in self.flows.iter().enumerate().filter(|(index, flow)| chosen(*index, flow)) {
            sum = sum.and(flow.arrivals.as_ref().ok_or(NoLine::Unbounded(index))?);
        }
        Ok(sum)
    }

    /// Indexes of the flows that are chosen.
    pub fn chosen(&self, chosen: impl Fn(&Sharer) -> bool) -> Vec<usize> {
        (0..self.flows.len()).filter(|index| chosen(&self.flows[*index])).collect()
    }

    /// Length of the largest packet of the flows that are chosen; zero of none.
    pub fn largest(&self, chosen: impl Fn(&Sharer) -> bool) -> Exact {
        whole(self.flows.iter().filter(|flow| chosen(flow)).map(|flow| flow.largest).max().unwrap_or(0))
    }

    /// Sum of the largest packets of all flows but this one.
    pub fn largest_of_others(&self, index: usize) -> Exact {
        let others = self.flows.iter().enumerate().filter(|(other, _)| *other != index);
        whole(others.map(|(_, flow)| u64::from(flow.largest)).sum::<u64>())
    }

    /// The line of a flow by itself that is served at `rate`, and behind that by at most `late`
    /// bytes of the link.
    pub fn own_line(&self, index: usize, rate: Exact, late: &Exact, source: &'static str) -> Line {
        let service = ServiceCurve::rate_latency(rate, late / &self.rate);
        Line { flows: vec![index], service, is_whole_port: false, source }
    }

    /// The line of a flow by itself at a port that is never idle while a packet waits, whatever its
    /// order.
    ///
    /// # Errors
    /// If another flow is not bounded.
    pub fn arbitrary(&self, index: usize) -> Result<Line, NoLine> {
        let Some(others) = &self.others[index] else {
            let is_unbounded = |other: &usize| *other != index && self.flows[*other].served().is_none();
            return Err(NoLine::Unbounded((0..self.flows.len()).find(is_unbounded).unwrap_or(index)));
        };
        let service = left_by(others, &self.server);
        let source = "any order of service (Le Boudec and Thiran 2001, theorem 6.2.1)";
        Ok(Line { flows: vec![index], service, is_whole_port: false, source })
    }

    /// The line of a scheduler's rule; without it, that of any order of service.
    ///
    /// # Errors
    /// The reason of the rule.
    pub fn or_arbitrary(&self, index: usize, rule: Result<Line, NoLine>) -> Result<Line, NoLine> {
        rule.or_else(|reason| self.arbitrary(index).map_err(|_| reason))
    }
}
