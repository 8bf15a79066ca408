//! Receiver-oriented adaptation: the rule by which a pool is divided, and the evidence for a smaller
//! allocation.

use super::allocation::{Claim, Division};
use crate::units::Span;
use alloc::vec::Vec;

/// Evidence by which the receiver knows that the sender keeps to a smaller allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The delay of the control loop has passed since the record was sent: correct on a link that
    /// loses no credit cell.
    After(Span),
    /// A credit_check cell says so. Until then the larger allocation counts, and the pool is not
    /// divided beyond it.
    Check,
}

/// Rule by which the receiver divides a pool among the VCs (receiver-oriented adaptation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
//= kung1997 3.3
pub struct Adaptation {
    /// M, the pool in cells.
    pub pool: u32,
    /// Cells of the pool that are divided: M/2 in equation (3).
    //= kung1997 3.4
    pub divided: u32,
    /// N2 of every VC, at most its Buf_Alloc; `None` for Buf_Alloc/4 (equation 4), at least 1.
    //= kung1997 3.4
    pub n2: Option<u32>,
    /// Evidence by which a smaller allocation takes effect.
    pub confirmation: Confirmation,
}

impl Adaptation {
    /// Returns the new allocations of the VCs that share the pool, of which `queued` cells (TQ) are
    /// in use:
    ///
    /// `Buf_Alloc = (M/2 − TQ − N)·(VU/TU)` (equation 3)
    pub(super) fn allocations(&self, queued: u64, claims: &[Claim]) -> Vec<u32> {
        //= kung1997 3.4
        let shared = u64::from(self.divided).saturating_sub(queued + claims.len() as u64);
        let limit = (self.confirmation == Confirmation::Check).then_some(self.pool.into());
        Division { shared, least: 1, limit }.allocations(claims)
    }
}
