//! One pool at an output port of a receiver, for VCs that come from several upstream nodes.
//!
//! The receiver has an end of each incoming link ([`Receiver`]), with the counts of its VCs. The
//! pools of its output ports are apart from these: a VC takes places in the pool of the port by
//! which it leaves, beside VCs of other links. RTT is the largest of those links, and so is the
//! least interval of allocations (Kung 1997, Figure 10).

use super::allocation::Claim;
use super::messages::VcIx;
use super::params::CreditParams;
use super::sizing::{ALPHA_OF_SEVERAL_RTTS, Link};
use super::{Adaptation, Arrival, Confirmation, Receiver};
use crate::params::Fault;
use crate::units::{Rate, Span, Time};
use alloc::string::ToString;
use alloc::vec::Vec;

/// Properties of an output port, and of the links over which its VCs come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputProperties {
    /// The most that can leave by the port: its rate, or the sum of those of the links if that is
    /// less.
    pub rate: Rate,
    /// The smallest packet on these links, in bytes.
    pub cell: u32,
    /// The largest RTT of these links.
    pub rtt: Span,
    /// The longest time that a record takes to have its effect, on any of these links.
    pub delay: Span,
    /// VCs that leave by the port.
    pub vcs: u32,
    /// Links over which they come.
    pub links: u32,
}

/// The pool of an output port, with every setting resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputPlan {
    /// Rule by which the pool is divided. Each link has its own evidence for smaller allocations.
    pub adaptation: Adaptation,
    /// Time from one allocation to the next.
    pub interval: Span,
    /// The largest RTT.
    pub rtt: Span,
}

impl CreditParams {
    /// Plans the pool of an output port with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the port.
    pub fn output_pool(&self, output: &OutputProperties) -> Result<OutputPlan, Fault> {
        let OutputProperties { rate, cell, rtt, delay, vcs, links } = *output;
        let sized = Link {
            rate: libm::round(rate.bits_per_second()) as u64,
            cell,
            credit_cell: cell,
            delay: Span::ZERO,
            processing: Some(rtt),
        };
        let cells = sized.rtt().map_err(|why| Fault::at("cell", why.to_string()))?;
        let alpha = if links > 1 { ALPHA_OF_SEVERAL_RTTS } else { 2 };
        let pool = self.pool_cells(cells, alpha, vcs)?;
        let interval = self.interval_of(delay)?;
        Ok(OutputPlan { adaptation: self.adaptation(pool, Confirmation::After(delay)), interval, rtt })
    }
}

/// A VC that leaves by the port.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Place of its link's end among the receivers.
    receiver: usize,
    vc: VcIx,
    /// Evidence that its sender keeps to a smaller allocation.
    confirmation: Confirmation,
}

/// The pool of an output port.
#[derive(Clone, Debug)]
pub struct OutputPool {
    adaptation: Adaptation,
    members: Vec<Member>,
    /// TQ: cells of its VCs that are queued.
    queued: u64,
}

impl OutputPool {
    /// A pool without VCs.
    //= kung1997 3.3
    pub fn new(adaptation: Adaptation) -> OutputPool {
        OutputPool { adaptation, members: Vec::new(), queued: 0 }
    }

    /// Adds a VC of the receiver with this place, with no cell queued. The pool has room for the
    /// first allocations of all its VCs. Where one VC's smaller allocations are confirmed by
    /// checks, the pool is not divided beyond what all its VCs may still occupy.
    pub fn join(&mut self, receiver: usize, vc: VcIx, confirmation: Confirmation) {
        if confirmation == Confirmation::Check {
            self.adaptation.confirmation = Confirmation::Check;
        }
        self.members.push(Member { receiver, vc, confirmation });
    }

    /// TQ: cells of all its VCs that are queued.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// VCs that share it.
    pub fn vcs(&self) -> usize {
        self.members.len()
    }

    /// Processes a cell of one of its VCs that has arrived at `receiver`, as
    /// [`Receiver::arrived`] does.
    pub fn arrived(&mut self, now: Time, receiver: &mut Receiver, vc: VcIx) -> Arrival {
        let is_full = self.queued >= u64::from(self.adaptation.pool);
        let arrival = receiver.arrived_at_pool(now, vc, is_full);
        if arrival == Arrival::Stored {
            self.queued += 1;
        }
        arrival
    }

    /// Counts a cell of one of its VCs that has left its queue at `receiver`.
    ///
    /// # Panics
    ///
    /// None was queued.
    pub fn left(&mut self, receiver: &mut Receiver, vc: VcIx) {
        receiver.left(vc);
        self.queued -= 1;
    }

    /// Divides the pool among its VCs, as [`Receiver::allocate`] divides that of a link: VU and TU
    /// are those of all links. It is called at an interval of at least the largest RTT.
    pub fn allocate<R: AsMut<Receiver>>(&self, now: Time, receivers: &mut [R]) {
        let Adaptation { confirmation, .. } = self.adaptation;
        let mut claim =
            |member: &Member| receivers[member.receiver].as_mut().claim(now, member.vc, confirmation);
        let claims: Vec<Claim> = self.members.iter().map(&mut claim).collect();
        //= kung1997 3.3
        let allocations = self.adaptation.allocations(self.queued, &claims);
        for (Member { receiver, vc, confirmation }, buf_alloc) in
            self.members.iter().copied().zip(allocations)
        {
            let adaptation = Adaptation { confirmation, ..self.adaptation };
            receivers[receiver].as_mut().give(now, vc, buf_alloc, &adaptation);
        }
    }
}

impl AsMut<Receiver> for Receiver {
    fn as_mut(&mut self) -> &mut Receiver {
        self
    }
}
