//! Which buffer does a VC need for a rate, and which rate does it have with a buffer? Equations
//! (2), (5) and (6) of Kung 1997.
//!
//! All figures are exact: cells are whole, times are rational numbers of cell times. A cell is the
//! unit of one credit; on a link of packets it is a packet, and all packets are as long as the one
//! that is sized for.
//!
//! # Equation (2)
//!
//! RTT is the time from a cell's last bit leaving the sender until its credit can be used there,
//! when the receiver forwards it at once. A VC with an allocation of B cells = k·N2 + r (0 ≤ r <
//! N2) has, among N active VCs with the same allocation that take turns, a share of the link of at
//! least
//!
//! `min(1/N, k·N2 / (RTT + (N2 − r)·N))`
//!
//! and at most the same with `N2 − r` instead of `(N2 − r)·N`. For N = 1 both are equal, and exact.
//! Where N2 divides B the first is the paper's `B / (RTT + N2·N)`.
//!
//! Proof: the record of cell j·N2 lets the sender go on up to cell j·N2 + B, the record before it
//! up to N2 cells less. So the last N2 − r cells up to (j + k)·N2 wait for it. They take a cell
//! time each when the VC is alone, up to N when N VCs take turns; after another RTT the record of
//! cell (j + k)·N2 is there. In each such time k·N2 cells pass. With k = 0 no record is ever sent.
//!
//! # A slower output
//!
//! The lecture assumes links of one rate. Where the receiver's output has the rate C_out below that
//! of the link, C, the N2 − r cells leave it one in C/C_out cell times per VC in turn, and
//! `N2·C/C_out` takes the place of N2 in the times above: a VC has at least
//!
//! `min(C_out/(C·N), k·N2 / (RTT + (N2 − r)·N·C/C_out))`
//!
//! of the link. RTT stays that of a receiver that forwards as fast as the link. Batches do not wait
//! for each other: they leave the receiver N2·C/C_out apart, and come again an RTT later, when it
//! has sent the batch before unless it sends all the time.

use crate::units::{Span, TICKS_PER_SECOND};
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};
use thiserror::Error;

/// A number of cells, of cell times, or a share of a link: exact.
pub type Exact = Ratio<u128>;

/// Propagation delay of a cable of this length, one way, rounded up: 5 ns a metre, two thirds of
/// the speed of light, as in fibre and in most copper.
pub fn propagation(millimetres: u64) -> Span {
    let picoseconds = u128::from(millimetres) * 5;
    Span::from_ticks(u64::try_from(picoseconds.div_ceil(10)).unwrap_or(u64::MAX))
}

/// The reason for which a link or an allocation cannot be sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unsizable {
    /// Buf_Alloc < N2.
    #[error(
        "a VC with {buf_alloc} cells and N2 = {n2} deadlocks: its sender has used all credit before {n2} cells can be \
         forwarded, and only then would the receiver send a credit record; Buf_Alloc must be at least N2"
    )]
    Deadlock {
        /// Cells allocated to the VC.
        buf_alloc: u64,
        /// Cells forwarded for each credit record.
        n2: u64,
    },
    /// N2 is 0.
    #[error("N2 is 0: a credit record is sent for at least 1 cell")]
    NoBatch,
    /// No VC is active.
    #[error("no VC is active: there is at least 1")]
    NoVc,
    /// A share of zero, or above the share that N active VCs can have each.
    #[error(
        "{active} active VCs have a share of more than 0 and at most 1/{active} of the link, and of a slower output, each"
    )]
    Share {
        /// Active VCs, N.
        active: u64,
    },
    /// A link without a rate, or cells without a size.
    #[error("a link has a rate, and its cells a size, of at least 1")]
    NoLink,
    /// α is below 2.
    #[error(
        "a pool of M = 2·α·RTT + 2·N cells needs α of at least 2, not {alpha}: with less a newcomer may not ramp up"
    )]
    Alpha {
        /// M in units of 2·RTT.
        alpha: u64,
    },
    /// A figure does not fit into the integers that hold it.
    #[error("these figures are too large to be computed exactly")]
    TooLarge,
}

/// Buf_Alloc ≥ N2 ≥ 1, without which a VC is blocked permanently.
pub fn check_allocation(buf_alloc: u64, n2: u64) -> Result<(), Unsizable> {
    match n2 {
        0 => Err(Unsizable::NoBatch),
        _ if buf_alloc < n2 => Err(Unsizable::Deadlock { buf_alloc, n2 }),
        _ => Ok(()),
    }
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate in bit/s.
    pub rate: u64,
    /// Bytes of a cell on the link.
    pub cell: u32,
    /// Bytes of a credit cell on the link back.
    pub credit_cell: u32,
    /// Propagation one way.
    pub delay: Span,
    /// Time from a cell's last bit at the receiver until the sender may use its credit, without
    /// propagation; `None` for the transmission of the cell by the receiver and of a credit cell,
    /// one after the other.
    pub processing: Option<Span>,
}

impl Link {
    /// RTT in cell times, exact: twice the propagation, and the processing.
    pub fn rtt(&self) -> Result<Exact, Unsizable> {
        if self.rate == 0 || self.cell == 0 || self.credit_cell == 0 {
            return Err(Unsizable::NoLink);
        }
        let propagation = self.cell_times(self.delay)?.checked_mul(&whole(2)).ok_or(Unsizable::TooLarge)?;
        let processing = match self.processing {
            Some(span) => self.cell_times(span)?,
            None => self.overhead(1, 1)? + whole(1),
        };
        propagation.checked_add(&processing).ok_or(Unsizable::TooLarge)
    }

    /// The span in transmission times of a cell.
    fn cell_times(&self, span: Span) -> Result<Exact, Unsizable> {
        let bits = u128::from(span.ticks()) * u128::from(self.rate);
        Ok(Exact::new(bits, u128::from(self.cell) * 8 * u128::from(TICKS_PER_SECOND)))
    }

    /// Bytes of credit cells for each byte of data, with a record for each `n2` cells, and
    /// `records` of them in each credit cell.
    pub fn overhead(&self, n2: u64, records: u64) -> Result<Exact, Unsizable> {
        let cells = u128::from(n2) * u128::from(records);
        let bytes = cells.checked_mul(u128::from(self.cell)).ok_or(Unsizable::TooLarge)?;
        if bytes == 0 {
            return Err(if self.cell == 0 { Unsizable::NoLink } else { Unsizable::NoBatch });
        }
        Ok(Exact::new(u128::from(self.credit_cell), bytes))
    }

    /// The least N2 at which credit cells of one record each take at most `percent` % of the bytes
    /// of data; at least 1.
    pub fn n2_for_overhead(&self, percent: u32) -> Result<u64, Unsizable> {
        if percent == 0 || self.cell == 0 {
            return Err(Unsizable::NoLink);
        }
        let of_cells = u64::from(self.cell) * u64::from(percent);
        Ok((u64::from(self.credit_cell) * 100).div_ceil(of_cells).max(1))
    }
}

/// The share of a link of each of N active VCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Lower bound.
    pub least: Exact,
    /// Upper bound; equal to the lower bound when one VC is active.
    pub most: Exact,
}

/// The control loop of a VC over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    rtt: Exact,
    n2: u64,
    /// C/C_out: cell times of the link in which the output sends a cell, at least 1.
    output: Exact,
}

impl Loop {
    /// A loop with an RTT in cell times, in which a credit record is sent for each `n2` cells, at
    /// least 1.
    pub fn new(rtt: Exact, n2: u64) -> Result<Loop, Unsizable> {
        if n2 == 0 {
            return Err(Unsizable::NoBatch);
        }
        Ok(Loop { rtt, n2, output: whole(1) })
    }

    /// This loop where the receiver's output has the rate `output` and the link the rate `link`,
    /// both above zero. An output that is faster than the link changes nothing.
    pub fn behind(self, link: u64, output: u64) -> Result<Loop, Unsizable> {
        if link == 0 || output == 0 {
            return Err(Unsizable::NoLink);
        }
        Ok(Loop { output: Exact::new(link.into(), output.into()).max(whole(1)), ..self })
    }

    /// Cell times of the link in which the output sends a cell of each of `active` VCs.
    fn round(&self, active: u64) -> Result<Exact, Unsizable> {
        self.output.checked_mul(&whole(active.into())).ok_or(Unsizable::TooLarge)
    }

    /// The share of the link of each of `active` VCs with `buf_alloc` cells each (equation 2).
    pub fn share(&self, buf_alloc: u64, active: u64) -> Result<Share, Unsizable> {
        check_allocation(buf_alloc, self.n2)?;
        if active == 0 {
            return Err(Unsizable::NoVc);
        }
        let waiting = u128::from(self.n2 - buf_alloc % self.n2);
        let batches = whole(u128::from(buf_alloc - buf_alloc % self.n2));
        let fair = self.round(active)?.recip();
        let with_turns = |turns: u64| {
            let cells = self.round(turns)?.checked_mul(&whole(waiting)).ok_or(Unsizable::TooLarge)?;
            let time = self.rtt.checked_add(&cells).ok_or(Unsizable::TooLarge)?;
            //= kung1997 3.1
            let share = batches.checked_mul(&time.recip()).ok_or(Unsizable::TooLarge)?;
            Ok(share.min(fair))
        };
        Ok(Share { least: with_turns(active)?, most: with_turns(1)? })
    }

    /// The least Buf_Alloc, in cells, with which each of `active` VCs has at least `share` of the
    /// link: more than 0 and at most 1/`active` of it, and of the output.
    pub fn buffer(&self, share: Exact, active: u64) -> Result<u64, Unsizable> {
        if active == 0 {
            return Err(Unsizable::NoVc);
        }
        let (n2, turns) = (u128::from(self.n2), self.round(active)?);
        if share == whole(0) || share > turns.recip() {
            return Err(Unsizable::Share { active });
        }
        // The least k: even with all the rest of a batch (r = N2 − 1), k·N2 ≥ share · (RTT + N).
        let quickest = self.rtt.checked_add(&turns).and_then(|time| time.checked_mul(&share));
        let least = up(quickest.ok_or(Unsizable::TooLarge)?).div_ceil(n2);
        let batches = least.checked_mul(n2).ok_or(Unsizable::TooLarge)?;
        // Then the least r: (N2 − r)·N ≤ k·N2 / share − RTT.
        let time = whole(batches).checked_mul(&share.recip()).ok_or(Unsizable::TooLarge)?;
        let left = time.checked_sub(&self.rtt).ok_or(Unsizable::TooLarge)?;
        let waiting = left.checked_div(&turns).ok_or(Unsizable::TooLarge)?.to_integer().min(n2);
        let cells = batches.checked_add(n2 - waiting).and_then(|cells| u64::try_from(cells).ok());
        cells.ok_or(Unsizable::TooLarge)
    }
}

/// The receiver's pool that VCs share by adaptive allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// M = 2·α·RTT + 2·N in cells, rounded up (equation 5; the paper has α = 2).
    pub cells: u64,
    /// While less than this many cells are queued, TQ < (α − 4/3)·RTT, a VC below its fair share is
    /// given more at each allocation (equation 6; for α = 2 the paper's 2·RTT/3).
    pub queued_below: Exact,
}

/// α of a pool that VCs with different RTTs share: at least 8/3.
///
/// While allocations stay the same, no VC has more cells queued than its allocation, so TQ is at
/// most α·RTT − TQ, that is α/2·RTT. Equation (6) asks for less than (α − 4/3)·RTT, which is more
/// if α is above 8/3. VCs of one RTT need less: a part of each allocation is in flight.
pub const ALPHA_OF_SEVERAL_RTTS: u64 = 3;

impl Pool {
    /// The pool for `vcs` VCs over a link with an RTT in cell times; `alpha` is at least 2.
    pub fn new(rtt: Exact, alpha: u64, vcs: u64) -> Result<Pool, Unsizable> {
        if alpha < 2 {
            return Err(Unsizable::Alpha { alpha });
        }
        if vcs == 0 {
            return Err(Unsizable::NoVc);
        }
        let times = |factor: Exact| rtt.checked_mul(&factor).ok_or(Unsizable::TooLarge);
        let alpha = u128::from(alpha);
        //= kung1997 3.4
        let cells = up(times(whole(2 * alpha))?).checked_add(2 * u128::from(vcs));
        let cells = cells.and_then(|cells| u64::try_from(cells).ok()).ok_or(Unsizable::TooLarge)?;
        // With X < 4·RTT / (3·N), where equation (2) gives less than 1/N at N2 = X/4, equation (3)
        // gives more than X if α·RTT − TQ > RTT + X·N/4, which is less than 4/3·RTT.
        //= kung1997 3.4
        Ok(Pool { cells, queued_below: times(Exact::new(3 * alpha - 4, 3))? })
    }
}

fn whole(number: u128) -> Exact {
    Exact::from_integer(number)
}

/// Rounded up; `Ratio::ceil` would add the denominator first, which may not fit.
fn up(number: Exact) -> u128 {
    number.numer().div_ceil(*number.denom())
}
