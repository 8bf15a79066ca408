//! The settings of a link with credit, and the figures that follow from them and the link.

use super::adaptation::{Adaptation, Confirmation};
pub use super::choices::{Allocating, Conduct, Per, PoolPer, Protocol};
pub use super::link_properties::LinkProperties;
use super::sizing::{Exact, Link, Loop, Pool, Unsizable, check_allocation};
use super::{MAX_CELLS, RECORDS_PER_CELL};
use crate::params::{Fault, parameters};
use crate::units::Span;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;

parameters! {
    /// Credit-based flow control of a link, from its sending port to the node at its end.
    #[derive(Copy)]
    pub struct CreditParams {
        /// Unit that has its own credit: each `flow` is a VC, or all flows of the `link` are one
        /// VC, where a blocked flow blocks the others
        per: Per = Per::Flow,
        /// Allocation of the receiver's memory: `static`, or adaptive by the `sender` or the
        /// `receiver`
        allocation: Allocating = Allocating::Static,
        /// Content of credit records: the running count of the Credit Update Protocol (`cup`), or
        /// the cells since the previous record (`incremental`)
        protocol: Protocol = Protocol::Cup,
        /// Packet size in which buffers are counted; without it, the smallest on the link. Any
        /// packet takes one place
        cell: Option<u32> as Size,
        /// Size of credit cells and of credit_check cells; without it, `cell`
        credit_cell: Option<u32> as Size,
        /// Buf_Alloc of each VC in packets, with static allocation; without it, RTT + N2
        buffer: Option<u32> as Integer(1, 2147483647),
        /// Packets of a VC that are forwarded for each credit record (N2); without it: with static
        /// allocation the smallest value that keeps credit cells to 1 % of the data, at most a
        /// quarter of a given `buffer`; 1 with allocation by the sender; Buf_Alloc/4 with
        /// allocation by the receiver
        n2: Option<u32> as Integer(1, 2147483647),
        /// Memory at the receiver in packets (M), which adaptive allocation divides; without it, 4
        /// RTT and 2 for each VC, and 6 RTT where VCs of several links share it
        pool: Option<u32> as Integer(1, 2147483647),
        /// Unit that has a pool of its own, with allocation by the receiver: each incoming `link`, or
        /// each `output` port of the receiving node, for the VCs that leave by it, over whichever
        /// links they come; RTT is then the largest of these links
        pool_per: PoolPer = PoolPer::Link,
        /// Share of the pool that the receiver divides at an allocation; without it, 0.5, which
        /// loses no packet
        divided: Option<f64>,
        /// Time from one allocation to the next; without it, the longest time that a credit record
        /// takes to have an effect
        interval: Option<Span>,
        /// Number of times that a credit record is repeated, with the count of that moment: in
        /// unused places of credit cells, and in credit cells of their own while the reverse link
        /// has nothing else to send. For links that lose credit cells; it takes no capacity from
        /// the data
        repeats: u32 as Integer(0, 16) = 0,
        /// Interval of a VC's credit_check cells, which recover lost data and credits, 0s for none;
        /// without it, 10 RTT on a link with `loss` and on a virtual link, and with allocation by
        /// the receiver on a link with a `trace`
        check: Option<Span>,
        /// Longest time that packets and credit cells wait in the switches of a virtual link, there
        /// and back together: part of its RTT
        queueing: Span = Span::ZERO,
        /// Probability that a credit cell arrives twice, the second time late: behind the next
        /// credit cell
        duplicate: f64 = 0.0,
        /// Conduct of the sender: one that `ignores` credit sends without it, as a faulty one does, and
        /// the receiver drops its packets that have no place
        sender: Conduct = Conduct::Obeys,
    }
}

/// Allocation of the receiver's memory: the end that allocates, and its terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CreditTerms {
    /// Fixed allocation: `buf_alloc` cells for each VC, and a record for each `n2` cells that
    /// leave.
    Static {
        /// In cells.
        buf_alloc: u32,
        /// In cells.
        n2: u32,
    },
    /// The sender divides the pool.
    Sender {
        /// M in cells.
        pool: u32,
        /// In cells; also the least allocation.
        n2: u32,
        /// Time from one allocation to the next.
        interval: Span,
    },
    /// The receiver divides the pool.
    Receiver {
        /// Rule by which the receiver divides the pool.
        adaptation: Adaptation,
        /// Time from one allocation to the next.
        interval: Span,
    },
    /// The receiver divides a pool at each of its output ports, and one among the VCs of the link
    /// that end at it ([`output_pool`](super::output_pool)).
    Output {
        /// Smallest packet on the link, in bytes.
        cell: u32,
        /// Longest time until a record has its effect.
        delay: Span,
        /// Evidence that the link's sender keeps to a smaller allocation.
        confirmation: Confirmation,
    },
}

impl CreditTerms {
    /// These terms where checks confirm a smaller allocation.
    fn checked(mut self) -> CreditTerms {
        match &mut self {
            CreditTerms::Static { .. } | CreditTerms::Sender { .. } => {}
            CreditTerms::Receiver { adaptation: Adaptation { confirmation, .. }, .. }
            | CreditTerms::Output { confirmation, .. } => *confirmation = Confirmation::Check,
        }
        self
    }
}

/// Credit-based flow control of a link, with every setting resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditPlan {
    /// Unit that is a VC.
    pub per: Per,
    /// Content of credit records.
    pub protocol: Protocol,
    /// Allocation of the receiver's memory.
    pub terms: CreditTerms,
    /// Bytes of a credit cell or credit_check cell.
    pub credit_cell: u32,
    /// Number of times that a record is repeated.
    pub repeats: u32,
    /// The probability that a credit cell arrives twice.
    pub duplicate: f64,
    /// Conduct of the sender.
    pub sender: Conduct,
    /// Interval of checks; `None` without.
    pub check: Option<Span>,
    /// Time from a packet's last bit leaving the sender until its credit is used there, when the
    /// receiver forwards it at once.
    pub rtt: Span,
}

impl CreditPlan {
    /// Packets for which the receiver has memory, with `vcs` VCs; 0 where the pools are those of
    /// output ports.
    pub fn memory(&self, vcs: u64) -> u64 {
        match self.terms {
            CreditTerms::Static { buf_alloc, .. } => u64::from(buf_alloc).saturating_mul(vcs),
            CreditTerms::Sender { pool, .. } => pool.into(),
            CreditTerms::Receiver { adaptation, .. } => adaptation.pool.into(),
            CreditTerms::Output { .. } => 0,
        }
    }
}

impl CreditParams {
    /// Checks what holds across parameters.
    ///
    /// # Errors
    /// When two of them contradict each other.
    pub fn check(&self) -> Result<(), Fault> {
        let is_static = self.allocation == Allocating::Static;
        if let (Some(_), false) = (self.buffer, is_static) {
            let message =
                "`buffer` is what static allocation gives each VC; adaptive allocation divides `pool`";
            return Err(Fault::at("buffer", message));
        }
        let adaptive = [
            ("pool", self.pool.is_some()),
            ("divided", self.divided.is_some()),
            ("interval", self.interval.is_some()),
        ];
        if let Some((key, _)) = adaptive.iter().find(|(_, given)| *given && is_static) {
            return Err(Fault::at(
                key,
                format!("`{key}` is for adaptive allocation, and `allocation` is static"),
            ));
        }
        if self.divided.is_some() && self.allocation == Allocating::Sender {
            let message = "`divided` is for the receiver's allocation: the sender divides all of the pool";
            return Err(Fault::at("divided", message));
        }
        if self.pool_per == PoolPer::Output && self.allocation != Allocating::Receiver {
            let message = "pools of output ports are divided by the receiver, which alone sees the VCs of all links: \
                           `allocation = \"receiver\"`";
            return Err(Fault::at("pool_per", message));
        }
        if self.pool_per == PoolPer::Output && self.per == Per::Link {
            let message = "one VC for all flows of a link cannot leave by several output ports";
            return Err(Fault::at("pool_per", message));
        }
        if self.divided == Some(0.0) {
            return Err(Fault::at("divided", "`divided` is 0: no VC would be given anything"));
        }
        if self.protocol == Protocol::Incremental && self.check.is_some_and(|every| every > Span::ZERO) {
            let message = "`check` makes good what was lost by the running counts of `protocol = \"cup\"`, which \
                           incremental credits do not have";
            return Err(Fault::at("check", message));
        }
        if self.protocol == Protocol::Incremental && self.repeats > 0 {
            let message = "`repeats` is for the running counts of `protocol = \"cup\"`: incremental credits that come \
                           twice count twice";
            return Err(Fault::at("repeats", message));
        }
        if let (Some(buffer), Some(n2)) = (self.buffer, self.n2) {
            check_allocation(buffer.into(), n2.into()).map_err(|why| Fault::at("buffer", why.to_string()))?;
        }
        Ok(())
    }

    /// Plans a link with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the link.
    pub fn plan(&self, link: &LinkProperties) -> Result<CreditPlan, Fault> {
        self.check()?;
        let cell = match self.cell.unwrap_or(link.smallest) {
            0 => {
                return Err(Fault::at(
                    "cell",
                    "`cell` is needed: the packets of a recording are not known before",
                ));
            }
            cell => cell,
        };
        let credit_cell = self.credit_cell.unwrap_or(cell);
        let vcs = if self.per == Per::Link { 1 } else { link.flows.max(1) };
        let processing = link.rate.time_for(cell) + link.further(cell) + link.back(credit_cell);
        let rtt = link.propagation + processing + self.queueing;
        let sized = Link {
            rate: libm::round(link.rate.bits_per_second()) as u64,
            cell,
            credit_cell,
            delay: Span::ZERO,
            processing: Some(rtt),
        };
        // Another packet has just started at either end, and records of every VC are due.
        let records = u64::from(vcs).div_ceil(RECORDS_PER_CELL as u64) - 1;
        let record = link.back.iter().map(|(rate, _)| rate.time_for(credit_cell)).max();
        let waiting = record.unwrap_or(Span::ZERO).ticks().saturating_mul(records);
        let delay =
            rtt + link.rate.time_for(link.largest) + link.further(link.largest) + Span::from_ticks(waiting);
        let terms = self.terms(&sized, vcs, delay, delay + link.behind_a_cell(credit_cell))?;
        let is_policed = self.allocation == Allocating::Receiver && link.is_unsure;
        let check = match self.check {
            Some(Span::ZERO) => None,
            Some(every) => Some(every),
            None if (link.loses || is_policed) && self.protocol == Protocol::Cup => {
                Some(Span::from_ticks(rtt.ticks().saturating_mul(10)))
            }
            None => None,
        };
        if is_policed && check.is_none() {
            return Err(self.unconfirmed());
        }
        let terms = if check.is_some() { terms.checked() } else { terms };
        let CreditParams { per, protocol, repeats, duplicate, sender, .. } = *self;
        Ok(CreditPlan { per, protocol, terms, credit_cell, repeats, duplicate, sender, check, rtt })
    }

    /// Fault: without checks the receiver does not know from when the sender keeps to a smaller
    /// allocation.
    fn unconfirmed(&self) -> Fault {
        let (key, what) = match self.protocol {
            Protocol::Cup => ("check", "`check` is 0s"),
            Protocol::Incremental => ("protocol", "`protocol` is incremental and has no `check`"),
        };
        let message = format!(
            "{what}, and credit cells may be lost or late: with `allocation = \"receiver\"` packets would be dropped"
        );
        Fault::at(key, message)
    }

    /// Terms for `vcs` VCs, when a record has its effect after `delay` at the latest, and behind
    /// another credit cell after `latest`.
    fn terms(&self, link: &Link, vcs: u32, delay: Span, latest: Span) -> Result<CreditTerms, Fault> {
        let rtt = link.rtt().map_err(|why| Fault::at("cell", why.to_string()))?;
        if self.allocation == Allocating::Static {
            return self.static_terms(link, rtt);
        }
        if self.pool_per == PoolPer::Output {
            let confirmation = Confirmation::After(latest);
            return Ok(CreditTerms::Output { cell: link.cell, delay, confirmation });
        }
        let pool = self.pool_cells(rtt, 2, vcs)?;
        let interval = self.interval_of(delay)?;
        if self.allocation == Allocating::Sender {
            return Ok(CreditTerms::Sender { pool, n2: self.n2.unwrap_or(1), interval });
        }
        let adaptation = self.adaptation(pool, Confirmation::After(latest));
        Ok(CreditTerms::Receiver { adaptation, interval })
    }

    /// M for `vcs` VCs, with an RTT in cell times: 2·α·RTT + 2·N unless it was stated.
    pub(super) fn pool_cells(&self, rtt: Exact, alpha: u64, vcs: u32) -> Result<u32, Fault> {
        let wanted = || Pool::new(rtt, alpha, vcs.into()).and_then(|pool| cells(pool.cells));
        let pool = self.pool.map_or_else(wanted, Ok).map_err(|why| Fault::at("pool", why.to_string()))?;
        let least = if self.allocation == Allocating::Sender { self.n2.unwrap_or(1) } else { 1 };
        if u64::from(pool) < u64::from(vcs) * u64::from(least) {
            let what = if least == 1 { "a place".to_owned() } else { format!("N2 = {least} places") };
            return Err(Fault::at(
                "pool",
                format!("a pool of {pool} packets has less than {what} for each of {vcs} VCs"),
            ));
        }
        Ok(pool)
    }

    /// Time from one allocation to the next, when a record has its effect after `delay` at the
    /// latest.
    pub(super) fn interval_of(&self, delay: Span) -> Result<Span, Fault> {
        let interval = self.interval.unwrap_or(delay);
        if interval < delay {
            let message = format!(
                "`interval` is shorter than the {:.6} s that a credit record may take to have its effect",
                delay.as_secs_f64()
            );
            return Err(Fault::at("interval", message));
        }
        Ok(interval)
    }

    pub(super) fn adaptation(&self, pool: u32, confirmation: Confirmation) -> Adaptation {
        // Rounded down, so that a half never divides more than half.
        let divided = (f64::from(pool) * self.divided.unwrap_or(0.5)) as u32;
        Adaptation { pool, divided, n2: self.n2, confirmation }
    }

    fn static_terms(&self, link: &Link, rtt: Exact) -> Result<CreditTerms, Fault> {
        let n2 = match (self.n2, self.buffer) {
            (Some(n2), _) => n2,
            (None, buffer) => {
                let frugal = link.n2_for_overhead(1).and_then(cells);
                let frugal = frugal.map_err(|why| Fault::at("n2", why.to_string()))?;
                buffer.map_or(frugal, |buffer| frugal.min(buffer / 4).max(1))
            }
        };
        let wanted = || Loop::new(rtt, n2.into())?.buffer(Exact::from_integer(1), 1).and_then(cells);
        let buf_alloc =
            self.buffer.map_or_else(wanted, Ok).map_err(|why| Fault::at("buffer", why.to_string()))?;
        check_allocation(buf_alloc.into(), n2.into()).map_err(|why| Fault::at("buffer", why.to_string()))?;
        Ok(CreditTerms::Static { buf_alloc, n2 })
    }
}

fn cells(number: u64) -> Result<u32, Unsizable> {
    u32::try_from(number).ok().filter(|cells| *cells <= MAX_CELLS).ok_or(Unsizable::TooLarge)
}
