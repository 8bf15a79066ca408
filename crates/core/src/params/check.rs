//! The place of a policy, against which its parameters are checked.

use super::contract::Contract;
use crate::units::Rate;

/// The place of a policy, as far as known before a run.
#[derive(Clone, Copy, Debug)]
pub struct NodeContext<'a> {
    /// The rate of the link; for a link that delivers at recorded times, its mean.
    pub link: Rate,
    /// True if the rate is constant; false for a link that delivers at recorded times.
    pub steady: bool,
    /// Greatest rate that signalling may reserve at the node, in bit/s; `None` where all members
    /// are known.
    pub reservable: Option<u64>,
    /// The policy's supply from the link.
    pub supply: Supply,
    /// The members whose packets the policy sees: flows, or the classes that are part of a class.
    pub members: &'a [Member],
}

/// Supply of a scheduler from its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supply {
    /// The whole link: the scheduler is the port's own.
    Link,
    /// The guarantee of a class by the schedulers above it; `None` for no guarantee.
    Class(Option<Guarantee>),
}

/// A service curve: while there are packets, a server sends at least `rate` times the time since they
/// began to wait, less `latency`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantee {
    /// In bytes a second.
    pub rate: f64,
    /// In seconds.
    pub latency: f64,
    /// Rate of the link, at which packets leave, in bytes a second; at least `rate`.
    pub link: f64,
    /// True if it counts from any time on while there are packets (a strict service curve); false if
    /// only from the last time at which there were none here and at members that are served alike.
    pub at_any_time: bool,
}

impl Guarantee {
    /// A link of this rate.
    pub fn of_link(rate: Rate) -> Guarantee {
        let rate = rate.bits_per_second() / 8.0;
        Guarantee { rate, latency: 0.0, link: rate, at_any_time: true }
    }
}

/// Upper bound on the traffic of flows: `burst` bytes at once, and `rate` bytes a second from then
/// on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// In bytes.
    pub burst: f64,
    /// In bytes a second.
    pub rate: f64,
}

impl Traffic {
    /// Traffic of `count` flows with this contract; `None` where it is not stated.
    pub fn stated(contract: &Contract, count: u64) -> Option<Traffic> {
        let (reserve, burst) = (contract.reserve?, contract.max_workahead()?);
        let count = count as f64;
        Some(Traffic { burst: burst as f64 * count, rate: reserve.bits_per_second() / 8.0 * count })
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn and(self, other: Traffic) -> Traffic {
        Traffic { burst: self.burst + other.burst, rate: self.rate + other.rate }
    }
}

/// A group of identical flows, or a class.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Number of members of the group.
    pub count: u64,
    /// The contract that each states to the policy.
    pub contract: Contract,
    /// Their largest packet, in bytes; 0 when it is not known.
    pub largest: u32,
    /// Upper bound on their traffic together; `None` where it is not stated. For a class, the
    /// statements of its flows.
    pub traffic: Option<Traffic>,
    /// True if they are set up by signalling, which admits them as they come and go.
    pub signalled: bool,
}
