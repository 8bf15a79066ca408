//! The segments that the windows allow: the next ones to be sent, and their room.

use super::Sender;
use crate::endpoint::HostCx;

impl Sender {
    /// Bytes that count against the congestion window outside of recovery: sent since the last
    /// timeout, and neither acknowledged nor SACKed.
    pub(super) fn outstanding(&self) -> u64 {
        if let Some(rack) = &self.rack {
            return rack.pipe();
        }
        self.nxt - self.una - self.scoreboard.sacked_below(self.nxt)
    }

    /// Sends the data that the windows allow.
    pub(super) fn fill(&mut self, cx: &mut HostCx<'_>) {
        if cx.now() >= self.stop {
            return self.timer.stop();
        }
        self.restart_after_idle(cx.now());
        if self.rack.is_some() {
            return self.fill_by_pipe(cx);
        }
        if self.recovery.active && self.loss_recovery.uses_sack() {
            return self.fill_recovering(cx);
        }
        while let Some((start, end)) = self.next_in_order() {
            let allowed = self.congestion.cwnd() + self.limited_transmit();
            if self.outstanding() + (end - start) > allowed || !self.receiver_has_room(end) {
                return;
            }
            if start >= self.max {
                self.recovery.count_limited(end - start);
            }
            self.send(cx, start, end);
            self.nxt = end;
        }
    }

    /// RFC 6675, step C: one segment after the other by the scoreboard, while `pipe` leaves room
    /// for a segment.
    fn fill_recovering(&mut self, cx: &mut HostCx<'_>) {
        let mut pipe = self.scoreboard.pipe(self.extent());
        while pipe + self.mss <= self.congestion.cwnd() {
            let new = self.next_new().filter(|(_, end)| self.receiver_has_room(*end));
            let Some((start, end)) = self.scoreboard.next_segment(self.extent(), new) else { return };
            self.send(cx, start, end);
            self.nxt = self.max;
            pipe += end - start;
        }
    }

    /// The segment at SND.NXT: after a timeout, data sent before and not SACKed; then new data.
    fn next_in_order(&mut self) -> Option<(u64, u64)> {
        match self.scoreboard.next_gap(self.nxt, self.max) {
            Some((start, end)) => {
                self.nxt = start;
                Some((start, end.min(start + self.mss)))
            }
            None => {
                self.nxt = self.max;
                self.next_new()
            }
        }
    }

    /// The next segment of new data: a whole one, or the last of the data offered.
    pub(super) fn next_new(&self) -> Option<(u64, u64)> {
        let end = self.offered.min(self.max.saturating_add(self.mss));
        (end > self.max && !self.held).then_some((self.max, end))
    }

    /// Limited transmit (RFC 3042; RFC 5681, section 3.2, step 1): new data beyond the window for
    /// the first two duplicate acknowledgements. With SACK, SACKed data make room (RFC 6675, step
    /// 3).
    pub(super) fn limited_transmit(&self) -> u64 {
        let is_new = self.nxt == self.max && !self.loss_recovery.uses_sack();
        if is_new { u64::from(self.recovery.limited_segments(self.una)) * self.mss } else { 0 }
    }

    pub(super) fn receiver_has_room(&self, end: u64) -> bool {
        end <= self.una + self.window
    }
}
