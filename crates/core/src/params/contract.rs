//! The contract of a flow, and its requests to a scheduler.

use super::table::parameters;
use super::{Param, Parameters};
use crate::units::{Rate, Span};
use alloc::string::String;
use core::fmt;

parameters! {
    /// Statement of a flow about itself to every port on its way. A scheduler reads the keys that
    /// it knows ([`PolicyRecord::reads`](crate::params::PolicyRecord)) and ignores the rest.
    #[derive(Copy, Eq, Default)]
    pub struct Contract {
        /// Reserved average rate (AR), counted in whole packets; without it the flow is a datagram
        /// flow
        reserve: Option<Rate>,
        /// Average interval (AI), over which the flow sends what it reserved; without it the flow
        /// is not monitored
        interval: Option<Span>,
        /// Head start (P) over flows without one: its packets are stamped as if they had arrived
        /// earlier by this time
        head_start: Span = Span::ZERO,
        /// Priority level, 0 the most urgent
        priority: u8 as Integer(0, 7) = 0,
        /// Maximum workahead (W), at least a packet: the longest backlog that the flow causes at a
        /// server of rate `reserve` alone; without it, `reserve` times `interval`
        workahead: Option<u32> as Size,
        /// Peak rate (r̂), at least `reserve`, by the shortest gaps between packets; without it, or
        /// once `reserve` is raised above it, the reserved rate
        peak: Option<Rate>,
        /// Local delay bound (d): the time after a packet's arrival at a port by which it should be
        /// sent
        deadline: Option<Span>,
        /// Excess burst size (EBS) beyond `workahead`, the committed burst size (CBS); without it,
        /// none
        excess_burst: Option<u32> as Size,
        /// Peak burst size (PBS): the most that may arrive at once without exceeding `peak`;
        /// without it, `workahead`
        peak_burst: Option<u32> as Size,
        /// Number of its host, for schedulers that are fair among hosts; flows without it are one
        /// host's
        host: Option<u32> as Integer(0, 4_294_967_295),
        /// Number of the host at its other end, for schedulers that are fair among the hosts of both
        /// ends; flows without it are one host's
        peer: Option<u32> as Integer(0, 4_294_967_295),
    }
}

impl Contract {
    /// W in bytes: as stated, or AR times AI, rounded down (Pincheira 1994, section 2.1); `None`
    /// where neither is stated.
    pub fn max_workahead(&self) -> Option<u64> {
        //= pincheira1994 2.1
        let from_interval = || Some(self.reserve?.bytes_in(self.interval?));
        self.workahead.map(u64::from).or_else(from_interval)
    }

    /// The committed burst size (CBS, RFC 2697 and 2698) in bytes, which is W: the depth of a
    /// bucket that fills at AR; at most 4 GiB.
    pub fn committed_burst(&self) -> Option<u32> {
        Some(u32::try_from(self.max_workahead()?).unwrap_or(u32::MAX))
    }

    /// W / r: the time in which AR serves the maximum workahead, which is AI where W follows from
    /// it; zero where neither is stated.
    pub fn workahead_time(&self) -> Span {
        let stated = self.reserve.zip(self.workahead).map(|(reserve, workahead)| reserve.time_for(workahead));
        //= pincheira1994 2.1
        stated.or(self.interval).unwrap_or(Span::ZERO)
    }

    /// `weight` of `sum` parts of this contract: its rates in bit/s and its bursts in bytes are
    /// divided, rounded down and at least 1, so the shares of a sum do not exceed the whole.
    /// Everything else, including AI, stays the same.
    #[must_use]
    pub fn share(&self, weight: u64, sum: u64) -> Contract {
        let part = |whole: u64| {
            let part = u128::from(whole) * u128::from(weight) / u128::from(sum.max(1));
            u64::try_from(part).unwrap_or(u64::MAX).max(1)
        };
        let rate = |whole: Rate| Rate::from_bits_per_second(part(whole.bits_per_second() as u64));
        let burst = |whole: u32| u32::try_from(part(u64::from(whole))).unwrap_or(u32::MAX);
        Contract {
            reserve: self.reserve.and_then(rate),
            peak: self.peak.and_then(rate),
            workahead: self.workahead.map(burst),
            excess_burst: self.excess_burst.map(burst),
            peak_burst: self.peak_burst.map(burst),
            ..*self
        }
    }

    /// The peak rate: AR where none is stated, or where AR has been raised above it.
    pub fn peak_rate(&self) -> Option<Rate> {
        self.peak.max(self.reserve).filter(|_| self.reserve.is_some())
    }
}

/// The keys that a flow may state to the ports on its way. A policy reads the keys that its record
/// names and ignores the rest, so the same flows can be given to any policy.
pub const CONTRACT: &[Param] = Contract::PARAMS;

/// The reason for which a switch or a scheduler refused a request; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Refused {}
