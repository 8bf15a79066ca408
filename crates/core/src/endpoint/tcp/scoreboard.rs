//! The SACK scoreboard (RFC 6675, sections 3 and 4): the data in flight that have arrived, the data
//! that are lost, the amount still in the network, and the data to be sent next.
//!
//! A position such as HighRxt is held as the number of the byte after it.

use super::ranges::Ranges;
use super::segment::Block;

/// Duplicate acknowledgements after which a segment counts as lost (DupThresh; RFC 5681 does not
/// name it).
pub(super) const DUP_THRESH: u32 = 3;

/// State of the data between HighACK and HighData, and the progress of a recovery.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sacked: Ranges,
    /// Data before this number are lost, unless SACKed.
    lost_before: u64,
    /// Data retransmitted in this recovery are before this number (HighRxt).
    high_rxt: u64,
    /// A rescue retransmission is allowed once data beyond this number are acknowledged
    /// (RescueRxt).
    rescue_rxt: u64,
}

/// State of the connection for the scoreboard: the first byte that is not acknowledged, the end of
/// the data that were sent (HighData), and the segment size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) una: u64,
    pub(super) max: u64,
    pub(super) mss: u64,
}

impl Scoreboard {
    /// Update(): processes the blocks of an acknowledgement. Returns true if one of them covers
    /// bytes that were neither acknowledged nor SACKed before, which makes it a duplicate
    /// acknowledgement (section 2).
    pub(super) fn update(&mut self, extent: Extent, blocks: impl Iterator<Item = Block>) -> bool {
        let Extent { una, max, mss } = extent;
        self.sacked.remove_below(una);
        let mut new = 0;
        for Block { start, end } in blocks {
            new += self.sacked.insert(start.max(una), end.min(max));
        }
        self.lost_before = self.find_lost(mss);
        new > 0
    }

    /// IsLost(): the number before which bytes that were not SACKed count as lost. Behind it are
    /// DupThresh ranges that were SACKed, or more than DupThresh − 1 segments' bytes.
    fn find_lost(&self, mss: u64) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.iter().rev() {
            ranges += 1;
            bytes += end - start;
            if ranges >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * mss {
                return start;
            }
        }
        0
    }

    /// Returns true if the first byte that is not acknowledged is lost: IsLost().
    pub(super) fn first_is_lost(&self, una: u64) -> bool {
        una < self.lost_before
    }

    /// Bytes before `number` that were SACKed.
    pub(super) fn sacked_below(&self, number: u64) -> u64 {
        self.sacked.bytes_below(number)
    }

    /// The next gap: the first missing bytes from `number` on that were sent before `until`.
    pub(super) fn next_gap(&self, number: u64, until: u64) -> Option<(u64, u64)> {
        self.sacked.gaps(number, until).next()
    }

    /// Begins a recovery with a retransmission that ends before the number `end` (step 4.3).
    pub(super) fn begin_recovery(&mut self, end: u64) {
        (self.high_rxt, self.rescue_rxt) = (end, end);
    }

    /// SetPipe(): bytes still in the network.
    pub(super) fn pipe(&self, Extent { una, max, .. }: Extent) -> u64 {
        let in_network = |(start, end): (u64, u64)| {
            let not_lost = if end <= self.lost_before { 0 } else { end - start };
            not_lost + self.high_rxt.min(end).saturating_sub(start)
        };
        self.sacked.gaps(una, max).map(in_network).sum()
    }

    /// NextSeg(): the bytes that are sent next, by rules 1 to 4; `new` are the new data that rule 2
    /// may send. `None` when there is nothing to send.
    pub(super) fn next_segment(&mut self, extent: Extent, new: Option<(u64, u64)>) -> Option<(u64, u64)> {
        let Extent { una, max, mss } = extent;
        let highest = self.sacked.iter().next_back().map_or(una, |(start, _)| start);
        // Rules 1 and 3: the first gap behind HighRxt, below the highest byte that was SACKed.
        let gap = self.next_gap(una.max(self.high_rxt), highest);
        let again = gap.map(|(start, end)| (start, end.min(start + mss)));
        if again.is_none_or(|(start, _)| start >= self.lost_before) && new.is_some() {
            return new;
        }
        if let Some((_, end)) = again {
            self.high_rxt = end;
            return again;
        }
        // Rule 4: once a recovery, the last segment that is outstanding and was not SACKed.
        let (start, end) = self.sacked.gaps(una, max).last().filter(|_| una > self.rescue_rxt)?;
        self.rescue_rxt = u64::MAX;
        Some((start.max(end.saturating_sub(mss)), end))
    }

    /// Discards earlier SACKs after the timer has expired: they are no longer relied on (RFC 2018,
    /// section 8).
    pub(super) fn clear(&mut self) {
        self.sacked.clear();
        (self.lost_before, self.high_rxt) = (0, 0);
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
