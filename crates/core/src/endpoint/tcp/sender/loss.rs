//! Loss recovery of a sender: fast retransmit and fast recovery (RFC 5681, section 3.2; RFC 6582,
//! section 3.2; RFC 6675, section 5), and timeouts (RFC 5681, section 3.1).

use super::Sender;
use crate::endpoint::HostCx;
use crate::endpoint::tcp::LossRecovery;
use crate::endpoint::tcp::recovery::Recovery;
use crate::endpoint::tcp::scoreboard::DUP_THRESH;
use crate::units::Time;

impl Sender {
    /// Processes an acknowledgement of `new` bytes; SND.UNA has moved.
    pub(super) fn progress(&mut self, cx: &mut HostCx<'_>, new: u64) {
        (self.recovery.duplicates, self.recovery.limited) = (0, 0);
        let mut restarts = true;
        if self.recovery.active {
            let is_full = self.una >= self.recovery.recover;
            match self.loss_recovery {
                LossRecovery::Reno1990 => self.leave(cx.now(), self.recovery.left),
                LossRecovery::NewReno if is_full => {
                    let left = self.flight().max(self.mss) + self.mss;
                    self.leave(cx.now(), self.recovery.left.min(left));
                }
                LossRecovery::NewReno => {
                    restarts = !self.recovery.had_partial;
                    self.recovery.had_partial = true;
                    self.partial(cx, new);
                }
                LossRecovery::Sack | LossRecovery::Rack if is_full => {
                    let reduced = self.prr.take().map(|_| self.congestion.ssthresh());
                    self.leave(cx.now(), reduced.unwrap_or(self.congestion.cwnd()));
                }
                LossRecovery::Sack | LossRecovery::Rack => {}
            }
        }
        if self.flight() == 0 && !self.held {
            self.timer.stop();
        } else if restarts {
            self.timer.restart(cx.now());
        }
    }

    /// Processes a partial acknowledgement (RFC 6582, step 3): the next segment is sent again, and
    /// the window shrinks by the bytes acknowledged.
    fn partial(&mut self, cx: &mut HostCx<'_>, new: u64) {
        let end = self.max.min(self.una + self.mss);
        self.send(cx, self.una, end);
        let deflated = self.congestion.cwnd().saturating_sub(new);
        self.congestion.set(if new >= self.mss { deflated + self.mss } else { deflated });
    }

    /// Ends the recovery, with a window of `cwnd` bytes.
    fn leave(&mut self, now: Time, cwnd: u64) {
        self.recovery.active = false;
        self.congestion.recovered(now, cwnd);
    }

    /// Processes a duplicate acknowledgement.
    pub(super) fn duplicate(&mut self, cx: &mut HostCx<'_>) {
        if self.recovery.active {
            if !self.loss_recovery.uses_sack() {
                // A segment has left the network.
                self.congestion.set(self.congestion.cwnd() + self.mss);
            }
            return;
        }
        self.recovery.duplicates += 1;
        let is_lost = match self.loss_recovery.uses_sack() {
            true => self.recovery.duplicates >= DUP_THRESH || self.scoreboard.first_is_lost(self.una),
            false => self.recovery.duplicates == DUP_THRESH,
        };
        if is_lost && self.recovery.may_begin(self.una, self.loss_recovery.uses_sack()) {
            self.enter(cx);
        }
    }

    /// Fast retransmit: sends the first segment that is not acknowledged again, and begins a
    /// recovery.
    fn enter(&mut self, cx: &mut HostCx<'_>) {
        // Losses and marks of one window of data reduce it once (RFC 3168, section 6.1.2). Only the
        // recovery of 1990 begins again in such a window: equation 4 is then an upper limit.
        let flight = self.flight() - self.recovery.limited;
        if self.una >= self.answered_to {
            self.congestion.reduce(cx.now(), flight);
            self.reduced();
        } else if !self.ecn {
            self.congestion.limit_ssthresh(cx.now(), flight);
        }
        self.recovery.active = true;
        self.recovery.had_partial = false;
        if self.loss_recovery != LossRecovery::Reno1990 {
            self.recovery.recover = self.max;
        }
        // A window of one segment, which a mark may leave, is below ssthresh.
        let left = self.congestion.ssthresh().min(self.congestion.cwnd());
        self.recovery.left = left;
        let gap = self.scoreboard.next_gap(self.una, self.max);
        let end = gap.map_or(self.max, |(_, end)| end).min(self.una + self.mss);
        if self.loss_recovery.uses_sack() {
            self.congestion.set(left);
            self.scoreboard.begin_recovery(end);
        } else {
            self.congestion.set(left + u64::from(DUP_THRESH) * self.mss);
        }
        self.send(cx, self.una, end);
        self.timer.restart(cx.now());
    }

    /// Processes an expired timer (RFC 6298, rules 5.4 to 5.6; RFC 5681, section 3.1): everything
    /// is sent again from the first byte that is not acknowledged, as the window grows from one
    /// segment.
    pub(super) fn timed_out(&mut self, now: Time) {
        self.held = false;
        if self.flight() == 0 {
            return self.timer.stop();
        }
        self.timeouts += 1;
        // ssthresh stays when the same segment is sent again by the timer.
        if self.timed_out_at.replace(self.una) != Some(self.una) {
            if self.una < self.answered_to {
                self.congestion.limit_ssthresh(now, self.flight());
            } else {
                self.congestion.reduce(now, self.flight());
            }
        }
        self.congestion.timed_out(now);
        if let Some(hystart) = &mut self.hystart {
            hystart.begin_anew(now, self.max);
        }
        self.prr = None;
        self.reduced();
        self.recovery = Recovery { recover: self.max, ..Recovery::default() };
        self.scoreboard.clear();
        self.nxt = self.una;
        self.timer.back_off();
    }
}
