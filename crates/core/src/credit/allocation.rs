//! Division of a pool among VCs: equation (3) of Kung 1997, and the largest division that is safe.
//!
//! At each allocation a VC gets a share of the cells that are divided, in proportion to the cells
//! it has forwarded since the previous allocation. Shares are rounded up, and no VC gets less than
//! a least allocation, which is that of an idle VC.

use alloc::vec::Vec;

/// The claim of a VC in an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// VU: cells of the VC that have left since the previous allocation.
    pub used: u32,
    /// Cells of the pool that the VC may occupy in any case: a new allocation cannot take them away
    /// at once.
    pub held: u32,
}

/// The pool to divide, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Cells that are divided by usage: M/2 − TQ − N in equation (3).
    pub shared: u64,
    /// The least allocation of a VC, in cells: at least 1.
    pub least: u32,
    /// Cells that all VCs may occupy together: each its new allocation or the cells it holds,
    /// whichever is more. `None` where nothing is known to be held.
    pub limit: Option<u64>,
}

impl Division {
    /// Returns the new allocation of each VC, in cells. Where the limit would be exceeded, only the
    /// largest safe number of cells is divided.
    //= kung1997 3.3
    pub fn allocations(&self, claims: &[Claim]) -> Vec<u32> {
        let total: u64 = claims.iter().map(|claim| u64::from(claim.used)).sum();
        let shared = match self.limit {
            None => self.shared,
            Some(limit) => self.safe(claims, total, limit),
        };
        claims.iter().map(|claim| self.share(shared, claim.used, total)).collect()
    }

    /// ⌈shared · VU / TU⌉, and no less than the least allocation.
    fn share(&self, shared: u64, used: u32, total: u64) -> u32 {
        if total == 0 {
            return self.least;
        }
        //= kung1997 3.4
        let share = (u128::from(shared) * u128::from(used)).div_ceil(u128::from(total));
        u32::try_from(share).unwrap_or(u32::MAX).max(self.least)
    }

    /// The largest number of cells that can be divided within the limit; 0 when none can.
    fn safe(&self, claims: &[Claim], total: u64, limit: u64) -> u64 {
        let taken_up = |shared: u64| -> u64 {
            let each = |claim: &Claim| self.share(shared, claim.used, total).max(claim.held);
            claims.iter().map(|claim| u64::from(each(claim))).sum()
        };
        if taken_up(self.shared) <= limit {
            return self.shared;
        }
        // The cells occupied grow with the cells divided.
        let (mut safe, mut unsafe_) = (0, self.shared);
        while unsafe_ - safe > 1 {
            let middle = safe + (unsafe_ - safe) / 2;
            if taken_up(middle) <= limit {
                safe = middle;
            } else {
                unsafe_ = middle;
            }
        }
        safe
    }
}
