//! The VCs whose packets pass a hop.

use super::memory::UncreditedVc;
use tidegate_core::credit::messages::VcIx;

/// A VC of a link with credit: the link's index among them, and the VC.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkVc {
    pub(super) link: u32,
    pub(super) vc: VcIx,
}

/// The VCs of a hop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HopVcs {
    /// The VC over which packets leave by it.
    pub(super) out: Option<LinkVc>,
    /// The VC whose receiver is at its end: `out`, unless that is a virtual link.
    pub(super) ends: Option<LinkVc>,
    /// The VC over which they have come to it.
    pub(super) into: Option<LinkVc>,
    /// The VC of a virtual link whose packets it passes on.
    pub(super) within: Option<LinkVc>,
    /// Their VC in the memory shared with credit, if they have come without credit.
    pub(super) uncontrolled: Option<UncreditedVc>,
    /// True if copies of a packet leave by other hops, too.
    pub(super) forks: bool,
}
