//! The state of a loss recovery, and its counters (RFC 5681, section 3.2; RFC 6582, section 3.2; RFC 6675,
//! section 5).

use super::scoreboard::DUP_THRESH;

/// A loss recovery, and the duplicate acknowledgements before it.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Whether it is under way.
    pub(super) active: bool,
    /// Whether a partial acknowledgement has come in it.
    pub(super) had_partial: bool,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: it ends when the bytes before this one are acknowledged. A
    /// timeout sets it, too: no recovery begins before that (RFC 6582, step 4; RFC 6675, section 5.1).
    pub(super) recover: u64,
    /// The window that it leaves.
    pub(super) left: u64,
    /// Duplicate acknowledgements outside of it since the last new one (DupAcks).
    pub(super) duplicates: u32,
    /// New data sent meanwhile: limited transmit, which FlightSize does not count for ssthresh.
    pub(super) limited: u64,
}

impl Recovery {
    /// Whether a recovery may begin once the bytes before `una` are acknowledged. Without SACK more than what was sent
    /// before must be (RFC 6582, step 2): duplicates of its end may answer to what was sent again for nothing.
    pub(super) fn may_begin(&self, una: u64, uses_sack: bool) -> bool {
        let is_past = una > self.recover || self.recover == 0;
        !self.active && if uses_sack { una >= self.recover } else { is_past }
    }

    /// How many segments limited transmit allows beyond the window, without SACK.
    pub(super) fn limited_segments(&self, una: u64) -> u32 {
        if self.may_begin(una, false) { self.duplicates.min(DUP_THRESH - 1) } else { 0 }
    }

    /// So many bytes of new data are sent.
    pub(super) fn count_limited(&mut self, bytes: u64) {
        if self.duplicates > 0 && !self.active {
            self.limited += bytes;
        }
    }
}
