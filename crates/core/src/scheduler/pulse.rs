//! Pulse (Mukherjee, Landweber and Faber 1992, as described by Pincheira 1994, section 2.3.2):
//! VirtualClock with a small tick during a burst and a large one after it.
//!
//! A flow with the contract (W, r, r̂) begins with credits for W bytes and its clock at real time.
//! A packet of length l takes l credits, and the clock advances by l/r̂; each time the credits are
//! used up, the clock advances once by W/r − W/r̂, and W credits are added. Over W bytes the clock
//! thus advances by W/r, as under VirtualClock.
//!
//! The clock is never set to real time: a flow that has sent less than it reserved keeps the
//! difference. Its next packets are served before those of flows that sent their reservation, until
//! the difference is used up. Pulse protects no flow from a flow that is silent and then bursts.
//!
//! Choices where the report is silent:
//! - The large tick falls due with the first byte after the credits are used up, so that the last
//!   byte of a burst of W bytes still has a small tick. A packet that crosses this boundary takes
//!   the large tick whole.
//! - A flow that states no W has no credits: its clock ticks at r.
//! - A closed flow leaves its debts behind, but not its savings.
//!
//! `scheduler/restamped.rs` lists the other choices.

use super::Stamped;
use super::restamped::{Arrival, Backlog, Restamp, Restamped};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Service, Stamps, parameters};
use crate::units::{Span, Time};

parameters! {
    /// Parameters of Pulse: none.
    #[derive(Copy)]
    pub struct PulseParams {}
}

impl PolicyParams for PulseParams {
    type Policy = Stamped<Restamped<Pulse>>;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "pulse",
        title: "Pulse",
        role: Role::Scheduler { service: Service::WorkConserving },
        help: "Stamps packets with a clock that advances at the flow's peak rate for W bytes and then \
               compensates in one large tick. Clocks are never set to real time: a flow that was silent has \
               priority over flows that were not.",
        source: "Mukherjee, Landweber and Faber 1992; Pincheira 1994, section 2.3.2",
        params: PulseParams::PARAMS,
        reads: &["reserve", "interval", "workahead", "peak"],
        stamps: Stamps::Times,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Self::Policy, Refused> {
        Ok(Restamped::scheduler(Pulse, Backlog::Ideal))
    }

    fn example() -> PulseParams {
        PulseParams {}
    }
}

/// The rule of Pulse.
pub struct Pulse;

/// The state of a flow; the default value for one that has sent nothing.
#[derive(Clone, Copy, Default)]
pub struct Pulsing {
    began: bool,
    /// Bytes until the next large tick.
    credits: u32,
}

impl Restamp for Pulse {
    type Own = Pulsing;

    #[inline]
    fn stamp(&self, latest: Time, own: &mut Pulsing, arrival: &Arrival) -> Time {
        let mut clock = latest;
        if !own.began {
            *own = Pulsing { began: true, credits: arrival.max_workahead };
            clock = clock.max(arrival.at);
        }
        if arrival.max_workahead == 0 {
            return clock + arrival.tick;
        }
        //= pincheira1994 2.3.2
        let large = arrival.workahead - arrival.peak_workahead;
        let times = arrival.len.saturating_sub(own.credits).div_ceil(arrival.max_workahead);
        let credits = u64::from(own.credits) + u64::from(times) * u64::from(arrival.max_workahead);
        // The remaining credits are less than W, or were there before.
        own.credits = (credits - u64::from(arrival.len)) as u32;
        let large_ticks = Span::from_ticks(large.ticks().saturating_mul(u64::from(times)));
        //= pincheira1994 2.3.2
        clock + arrival.peak_tick + large_ticks
    }
}
