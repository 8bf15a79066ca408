//! What is promised: bounds on delay.

use crate::units::{Rate, Span};

/// One hop of a flow's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rate of the output link.
    pub rate: Rate,
    /// The largest packet of any flow on it, in bytes.
    pub largest: u32,
    /// Propagation delay of the link.
    pub delay: Span,
}

/// The longest that a packet of a conforming flow takes from arriving at the first hop to its last
/// bit's arrival behind the last one, when every hop is VirtualClock and reserves no more than it
/// carries.
///
/// The flow sends at most `burst + reserve · t` bytes in any time `t`, in packets of at most `largest`
/// bytes, reserves `reserve` at every hop, and none of its packets is pushed out. Then, with K hops,
///
/// `D ≤ (burst + (K − 1) · largest) / reserve + Σₖ (Lₖ / Cₖ + delayₖ)`,
///
/// Lₖ being the largest packet of any flow at hop k and Cₖ its rate. Each VirtualClock hop is a guaranteed-rate server: a
/// packet's last bit is out at most Lₖ / Cₖ after its stamp (Xie and Lam, "Delay guarantee of
/// Virtual Clock server", 1995; Figueira and Pasquale, "An upper bound on delay for the VirtualClock
/// service discipline", 1995; Goyal, Lam and Vin, "Determining end-to-end delay bounds in
/// heterogeneous networks", 1997).
///
/// # Why it holds at one hop
///
/// Let a packet have stamp `s`, and let `t` be the last time up to its service at which the link was idle, or began a
/// packet with a later stamp than `s`, or had no other stamped packet waiting. What is served from the end of that
/// packet until ours arrived at `t` or later and has stamps up to `s`. A flow's stamps increase by `len / reserve` from
/// the time of its arrival on, so that of reservations of rate `r` at most `r · (s - t)` is among it, of all at most
/// `C · (s - t)`, and ours is out by `s + L / C`.
///
/// A monitor's check sets a clock back at the flow's first packet after no other stamped packet has waited: at `t` or
/// before it, so that none of the flow's stamps is counted twice.
///
/// # What voids it
///
/// For the flow itself: packets beyond its burst, a ceiling, being held or absent, loss.
/// For every flow of the link:
/// - reservations beyond the link's rate, or a link that becomes slower, has a trace or is stopped by a gate;
/// - head starts of others, whose stamps are earlier than any promise;
/// - `stamp = "virtual-clock"`, and checks with `synchronise = "later-stamp"`, of others or of itself;
/// - a reservation given to others before the stamps at which it was used have passed. Signalling does not do so
///   ([`Stamps`](crate::admission::Stamps)); a reconfiguration may;
/// - a flow of datagrams that gains a reservation while its packets wait;
/// - flows that return from a ceiling or an absence: what they were held back is still claimed;
/// - classes: a class is served by tokens, and the bound is not for what is inside.
pub fn virtual_clock_delay(burst: u64, reserve: Rate, largest: u32, hops: &[Hop]) -> Span {
    let again = hops.len().saturating_sub(1) as u64 * u64::from(largest);
    let clock = long_time_for(reserve, burst + again);
    hops.iter().fold(clock, |sum, hop| sum + hop.rate.time_for(hop.largest) + hop.delay)
}

fn long_time_for(rate: Rate, mut bytes: u64) -> Span {
    let mut time = Span::ZERO;
    while bytes > 0 {
        let part = u32::try_from(bytes).unwrap_or(u32::MAX);
        time += rate.time_for(part);
        bytes -= u64::from(part);
    }
    time
}
