//! Detection of VCs that are blocked permanently.
//!
//! A VC without credit whose cells wait downstream is held back, and continues when they leave. A
//! VC without credit and without a cell at the receiver waits for a credit record that will never
//! be sent: Buf_Alloc = N2 and a lost record, or lost cells that no check has found.

use super::messages::VcIx;
use crate::units::{Span, Time};
use core::fmt;

/// RTTs without credit, and without cells at the receiver, after which a VC that has cells to send
/// has stalled.
pub const STALLED_AFTER: u64 = 100;

/// A VC that has stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The VC.
    pub vc: VcIx,
    /// The time since which the VC has had no credit, and the receiver no cell of it.
    pub since: Time,
    /// Duration of the stall in RTTs, rounded down.
    pub round_trips: u64,
}

impl Stall {
    /// The stall of a VC that has cells to send: without credit since `no_credit_since`, and
    /// without cells at the receiver since `empty_since` ([`Time::NEVER`] where it has credit, or
    /// cells there). `None` while it is shorter than [`STALLED_AFTER`] RTT.
    pub fn found(vc: VcIx, no_credit_since: Time, empty_since: Time, now: Time, rtt: Span) -> Option<Stall> {
        let since = no_credit_since.max(empty_since);
        if since >= now {
            return None;
        }
        let round_trips = now.since(since).ticks() / rtt.ticks().max(1);
        (round_trips >= STALLED_AFTER).then_some(Stall { vc, since, round_trips })
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VC {} has had no credit for {} RTT", self.vc.0, self.round_trips)
    }
}
