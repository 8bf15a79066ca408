//! Undoing a reduction of the window for losses that were none: D-SACKs show them (RFC 3708,
//! section 3), and the windows are restored as in RFC 9438, section 4.9.2.

use crate::endpoint::tcp::congestion::Congestion;
use crate::endpoint::tcp::segment::Block;
use alloc::collections::BTreeSet;

/// The last reduction for a loss, which may be undone.
#[derive(Debug)]
pub(in crate::endpoint::tcp) struct Undo {
    /// Windows before the reduction.
    before: Congestion,
    /// First bytes of the segments that were sent again since, and have not been reported as
    /// needless.
    open: BTreeSet<u64>,
}

impl Undo {
    pub(in crate::endpoint::tcp) fn new(before: Congestion) -> Undo {
        Undo { before, open: BTreeSet::new() }
    }

    /// Records that a lost segment was sent again.
    pub(in crate::endpoint::tcp) fn sent_again(&mut self, start: u64) {
        self.open.insert(start);
    }

    /// Records that a segment has arrived a second time. Returns true if it was sent again
    /// needlessly.
    pub(in crate::endpoint::tcp) fn came_twice(&mut self, block: Block) -> bool {
        self.open.remove(&block.start)
    }

    /// The windows before the reduction, once every segment that was sent again has arrived twice.
    pub(in crate::endpoint::tcp) fn restored(&self) -> Option<&Congestion> {
        self.open.is_empty().then_some(&self.before)
    }
}
