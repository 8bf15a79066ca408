//! The times at which bytes leave a link: at its rate, or as a trace or changing rates determine.

use super::{RateSteps, SteppedLink, Trace, TracedLink};
use crate::units::{Rate, Span, Time};
use alloc::sync::Arc;

/// The times at which bytes may leave.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// Any time, at the link's rate.
    Steady,
    /// The opportunities of a trace.
    Trace(Arc<Trace>),
    /// Any time, at rates that change.
    Steps(Arc<RateSteps>),
}

impl Pace {
    /// Returns true if bytes leave at the link's rate at any time.
    pub fn is_steady(&self) -> bool {
        matches!(self, Pace::Steady)
    }

    /// The trace, if it determines when bytes leave.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        let Pace::Trace(trace) = self else { return None };
        Some(trace)
    }

    /// The highest rate; `None` if it is that of the link, or of a trace.
    pub fn highest(&self) -> Option<Rate> {
        let Pace::Steps(steps) = self else { return None };
        // The shorter the time of a byte, the higher the rate.
        steps.values().flatten().min_by_key(|rate| rate.exact_time_for(1))
    }

    /// The state of a link that begins at `now`; `None` for a steady one.
    pub(super) fn begun(&self, now: Time) -> Option<Paced> {
        match self {
            Pace::Steady => None,
            Pace::Trace(trace) => Some(Paced::Trace(TracedLink::new(trace.clone(), now))),
            Pace::Steps(rates) => Some(Paced::Steps(SteppedLink::new(rates.clone(), now))),
        }
    }
}

/// The state of a link that is not steady.
#[derive(Clone, Debug)]
pub(super) enum Paced {
    Trace(TracedLink),
    Steps(SteppedLink),
}

impl Paced {
    /// Returns true if it is the state of a link with this pace.
    pub(super) fn follows(&self, pace: &Pace) -> bool {
        match (self, pace) {
            (Paced::Trace(link), Pace::Trace(trace)) => link.trace() == &**trace,
            (Paced::Steps(link), Pace::Steps(rates)) => link.rates() == &**rates,
            _ => false,
        }
    }

    pub(super) fn opens(&mut self, now: Time) -> Time {
        match self {
            Paced::Trace(link) => link.opens(now),
            Paced::Steps(link) => link.opens(now),
        }
    }

    pub(super) fn down_between(&self, from: Time, until: Time) -> Span {
        match self {
            Paced::Trace(_) => Span::ZERO,
            Paced::Steps(link) => link.down_between(from, until),
        }
    }

    pub(super) fn is_down(&self, now: Time) -> bool {
        match self {
            Paced::Trace(_) => false,
            Paced::Steps(link) => link.is_down(now),
        }
    }

    pub(super) fn departure(&mut self, now: Time, len: u32) -> Time {
        match self {
            Paced::Trace(link) => link.departure(now, len),
            Paced::Steps(link) => link.departure(now, len),
        }
    }

    pub(super) fn offered(&self, from: Time, until: Time) -> u64 {
        match self {
            Paced::Trace(link) => link.offered(from, until),
            Paced::Steps(link) => link.offered(from, until),
        }
    }

    pub(super) fn used(&self, until: Time) -> u64 {
        match self {
            Paced::Trace(link) => link.used(until),
            Paced::Steps(link) => link.used(until),
        }
    }
}
