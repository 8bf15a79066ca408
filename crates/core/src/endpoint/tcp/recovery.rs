//! The state of a loss recovery, and its counters (RFC 5681, section 3.2; RFC 6582, section 3.2;
//! RFC 6675, section 5).

use super::scoreboard::DUP_THRESH;

/// A loss recovery, and the duplicate acknowledgements before it.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// True while the recovery is under way.
    pub(super) active: bool,
    /// True if a partial acknowledgement has come in this recovery.
    pub(super) had_partial: bool,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: the recovery ends when the bytes before
    /// this one are acknowledged. A timeout sets it, too: no recovery begins before that (RFC 6582,
    /// step 4; RFC 6675, section 5.1).
    pub(super) recover: u64,
    /// Window after the recovery.
    pub(super) left: u64,
    /// Duplicate acknowledgements outside of recovery since the last new one (DupAcks).
    pub(super) duplicates: u32,
    /// New data sent meanwhile: limited transmit, which FlightSize does not count for ssthresh.
    pub(super) limited: u64,
}

impl Recovery {
    /// Returns true if a recovery may begin once the bytes before `una` are acknowledged. Without
    /// SACK, an acknowledgement beyond the data sent before is required (RFC 6582, step 2):
    /// duplicates at its end may answer needless retransmissions.
    pub(super) fn may_begin(&self, una: u64, uses_sack: bool) -> bool {
        let is_past = una > self.recover || self.recover == 0;
        !self.active && if uses_sack { una >= self.recover } else { is_past }
    }

    /// Number of segments that limited transmit allows beyond the window, without SACK.
    pub(super) fn limited_segments(&self, una: u64) -> u32 {
        if self.may_begin(una, false) { self.duplicates.min(DUP_THRESH - 1) } else { 0 }
    }

    /// Counts `bytes` of new data sent by limited transmit.
    pub(super) fn count_limited(&mut self, bytes: u64) {
        if self.duplicates > 0 && !self.active {
            self.limited += bytes;
        }
    }
}
