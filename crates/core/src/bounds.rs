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
/// The bound is for stamps by auxVC. Monitors that synchronise clocks do not void it: a clock is set back
/// to real time at the earliest, and only while the link sends a packet with a later stamp than the
/// clock's, so what it lets its flow send again is what the link is ahead of its stamps. Head
/// starts void it, of the flow itself and of others: stamps are then earlier than any promise.
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
