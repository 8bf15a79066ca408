//! Bounds on delay and backlog: the guarantees of a scheduler, and of a network.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::bounds::{Hop, virtual_clock_delay};
//! use tidegate_core::units::{Rate, Span};
//!
//! // A call of 200-byte packets that reserves 64 kbit/s, over two links of 10 Mbit/s.
//! let [call, link] = [64_000, 10_000_000].map(|bits| Rate::from_bits_per_second(bits).unwrap());
//! let hop = Hop { rate: link, largest: 1500, delay: Span::from_millis(1) };
//! let bound = virtual_clock_delay(200, call, 200, &[hop; 2]);
//! // 25 ms for its burst, 25 ms for a packet, and 1.2 ms and 1 ms at each hop.
//! assert_eq!(bound, Span::from_micros(54_400));
//! ```

pub mod analysis;
mod classes;
pub mod deadlines;
mod held;
pub mod network;
mod served;
mod tandem;
mod total_flow;
mod windows;

use crate::units::{Rate, Span, Time};
use alloc::collections::VecDeque;

/// One hop on a flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Rate of the output link.
    pub rate: Rate,
    /// The largest packet of any flow at the hop, in bytes.
    pub largest: u32,
    /// Propagation delay of the link.
    pub delay: Span,
}

/// End-to-end delay bound of a conforming flow when every hop is a VirtualClock scheduler that
/// reserves no more than its link carries: from a packet's arrival at the first hop to the arrival
/// of its last bit beyond the last hop.
///
/// The flow sends at most `burst + reserve · t` bytes in any time `t`, in packets of at most
/// `largest` bytes. It reserves `reserve` at every hop, and none of its packets is pushed out.
/// Then, with K hops,
///
/// `D ≤ (burst + (K − 1) · largest) / reserve + Σₖ (Lₖ / Cₖ + delayₖ)`,
///
/// Lₖ being the largest packet of any flow at hop k and Cₖ its rate. Each VirtualClock hop is a
/// guaranteed-rate server: the last bit of a packet leaves at most Lₖ / Cₖ after the packet's stamp
/// (Xie and Lam, "Delay guarantee of Virtual Clock server", 1995; Figueira and Pasquale, "An upper
/// bound on delay for the VirtualClock service discipline", 1995; Goyal, Lam and Vin, "Determining
/// end-to-end delay bounds in heterogeneous networks", 1997).
///
/// # Why it holds at one hop
///
/// Let a packet have stamp `s`. Let `t` be the last time up to its service at which the link was
/// idle, began a packet with a stamp later than `s`, or had no other stamped packet waiting. The
/// packets served from the end of that packet until this one arrived at `t` or later, and have
/// stamps up to `s`. A flow's stamps increase by `len / reserve` from the time of its arrival on.
/// Hence a reservation of rate `r` contributes at most `r · (s - t)`, all reservations together at
/// most `C · (s - t)`, and the packet has left by `s + L / C`.
///
/// A monitor's check sets a clock back at the flow's first packet after no other stamped packet has
/// waited: at `t` or before it, so none of the flow's stamps is counted twice.
///
/// # What voids it
///
/// For the flow itself: packets beyond its burst, a ceiling, being held or absent, and loss.
///
/// For every flow of the link:
/// - reservations beyond the link's rate, or a link that becomes slower, has a trace or is stopped
///   by a gate;
/// - head starts of others, whose stamps are earlier than any promise;
/// - `stamp = "virtual-clock"`, and checks with `synchronise = "later-stamp"`, of others or of
///   itself;
/// - a reservation given to others before the stamps at which it was used have passed. Signalling
///   does not do so ([`Stamps`](crate::admission::Stamps)); a reconfiguration may;
/// - a flow of datagrams that gains a reservation while its packets wait;
/// - flows that return from a ceiling: they may still claim the service that they were held back
///   from. One that was absent has the stamps of a newcomer, and voids nothing for others;
/// - classes: a class is served by tokens, and the bound does not cover the flows inside it.
pub fn virtual_clock_delay(burst: u64, reserve: Rate, largest: u32, hops: &[Hop]) -> Span {
    let again = hops.len().saturating_sub(1) as u64 * u64::from(largest);
    //= zhang1991 6
    let clock = long_time_for(reserve, burst + again);
    hops.iter().fold(clock, |sum, hop| sum + hop.rate.time_for(hop.largest) + hop.delay)
}

/// A scheduler on a packet's way through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its rate: that of a link, or the reservation of a class.
    pub rate: Rate,
    /// The largest packet of any of its flows, in bytes.
    pub largest: u32,
    /// Classes among its members that may send another packet than the one that they were charged for,
    /// except the one that the packet is in.
    pub classes: usize,
}

/// Longest time until a packet's last bit has left, counted from when a line of its flow's own,
/// with the reserved rate, would have sent it. It holds at a port whose schedulers keep the rates
/// that are reserved ([`PolicyParams::keeps_rates`](crate::params::PolicyParams::keeps_rates)).
///
/// Each scheduler on the way adds the time that its rate takes for a largest packet (Parekh and
/// Gallager 1993; Xie and Lam 1995; for classes within classes, Bennett and Zhang 1997). Under a
/// scheduler that cannot change the stamp of a token, a class may send another packet than the one
/// that it was charged for, and pays the difference with its next: each such class beside adds the
/// same again. So does the packet's own class, under any scheduler.
/// [`virtual_clock_delay`] lists the conditions that void it. The link's scheduler is the first of
/// `servers`, and a class's follows that above it.
pub fn behind_own_line(servers: &[Server]) -> Span {
    let one = |(above, server): (usize, &Server)| {
        let largest = server.rate.time_for(server.largest);
        let times = 1 + server.classes + above.min(1);
        (0..times).fold(Span::ZERO, |sum, _| sum + largest)
    };
    servers.iter().enumerate().map(one).fold(Span::ZERO, |sum, one| sum + one)
}

/// Delay and buffer bounds of one flow at a VirtualClock port, computed packet by packet.
///
/// A packet's last bit has left by its stamp plus L / C, L being the largest packet of any flow at
/// the port and C its rate (see [`virtual_clock_delay`]). The flow therefore has at most the
/// packets at the port whose stamp plus L / C has not passed. This holds while none of them is
/// pushed out ([`buffer_for`]).
///
/// Times must not go back; one that does counts as the latest seen.
#[derive(Clone, Debug)]
pub struct FlowAtPort {
    reserve: Rate,
    /// L / C.
    behind: Span,
    /// The latest packet's arrival and stamp.
    now: Time,
    stamp: Time,
    /// Latest departure times of the packets that may still be at the port, with their sizes,
    /// oldest first.
    there: VecDeque<(Time, u32)>,
    bytes: u64,
    /// The most packets and the most bytes so far, not necessarily at one time.
    most: (u64, u64),
}

impl FlowAtPort {
    /// Creates a flow that has sent nothing and reserves `reserve` at a port whose reservations do
    /// not exceed its rate. The port's propagation delay does not count.
    pub fn new(reserve: Rate, port: Hop) -> FlowAtPort {
        let (behind, zero) = (port.rate.time_for(port.largest), Time::from_ticks(0));
        FlowAtPort { reserve, behind, now: zero, stamp: zero, there: VecDeque::new(), bytes: 0, most: (0, 0) }
    }

    /// Records the arrival of `bytes` bytes at `at`, and returns the longest time until their last
    /// bit has left.
    pub fn see(&mut self, at: Time, bytes: u32) -> Span {
        self.now = self.now.max(at);
        while let Some((left, size)) = self.there.front()
            && *left < self.now
        {
            self.bytes -= u64::from(*size);
            self.there.pop_front();
        }
        self.stamp = self.stamp.max(self.now) + self.reserve.time_for(bytes);
        let left = self.stamp + self.behind;
        self.there.push_back((left, bytes));
        self.bytes += u64::from(bytes);
        self.most = (self.most.0.max(self.there.len() as u64), self.most.1.max(self.bytes));
        left.since(self.now)
    }

    /// The most that the flow has had at the port so far: packets, and bytes.
    pub fn most(&self) -> (u64, u64) {
        self.most
    }
}

/// Buffer that a VirtualClock port needs, in packets and in bytes, so that push-out takes no packet
/// of a flow with a reservation: the most that each of these flows may have at the port
/// ([`FlowAtPort::most`]), and one packet of the largest size, because a datagram in service is
/// never pushed out. Whenever such a buffer is full, another datagram waits in it, and datagrams
/// are pushed out first.
pub fn buffer_for(flows: impl IntoIterator<Item = (u64, u64)>, largest: u32) -> (u64, u64) {
    flows.into_iter().fold((1, largest.into()), |(packets, bytes), flow| {
        (packets.saturating_add(flow.0), bytes.saturating_add(flow.1))
    })
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
