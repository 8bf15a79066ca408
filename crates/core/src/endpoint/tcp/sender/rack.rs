//! RACK-TLP of a sender (RFC 8985): the response to acknowledgements, the three timers, and the
//! segments that are sent.

use super::Sender;
use crate::endpoint::HostCx;
use crate::endpoint::tcp::rack::{Losses, Undo};
use crate::endpoint::tcp::segment::Segment;
use crate::units::Time;

impl Sender {
    /// Time at which a timer expires. One runs at a time (section 8): the reordering timer before
    /// the probe timer, and that before the retransmission timer.
    pub(super) fn timer_due(&self) -> Time {
        let Some(rack) = &self.rack else { return self.timer.due() };
        let timers = [rack.reorder_at(), rack.probe.due(), self.timer.due()];
        timers.into_iter().find(|due| *due != Time::NEVER).unwrap_or(Time::NEVER)
    }

    /// Processes an expired timer.
    pub(super) fn timer_expired(&mut self, cx: &mut HostCx<'_>) {
        let Some(rack) = &self.rack else { return self.timed_out(cx.now()) };
        if rack.reorder_at() != Time::NEVER {
            self.timer.restart(cx.now());
            self.detect_losses(cx);
            self.reduce_gradually(1, false);
        } else if rack.probe.due() != Time::NEVER {
            self.send_probe(cx);
        } else {
            self.timed_out_with_rack(cx);
        }
    }

    /// Returns true while losses before RecoveryPoint are repaired, after a fast retransmit or a
    /// timeout.
    fn is_repairing(&self) -> bool {
        self.una < self.recovery.recover
    }

    /// Processes an acknowledgement of `new` bytes, with `flight` bytes in flight before it:
    /// TLP_process_ack() (section 7.4.2), and section 6.2 from step 4 on.
    pub(super) fn judge(&mut self, cx: &mut HostCx<'_>, segment: &Segment, new: u64, flight: u64) {
        let has_recovered = !self.is_repairing() && self.una - new < self.recovery.recover;
        let (una, max, dsack) = (self.una, self.max, segment.duplicate());
        let Some(rack) = &mut self.rack else { return };
        rack.reordering.adapt(una, max, dsack.is_some(), has_recovered);
        let has_repaired = rack.probe.acknowledged(una, dsack);
        if let Some(undo) = &mut rack.undo {
            // A mark in the same window of data asks for the reduction, too.
            if self.ecn && segment.echo {
                rack.undo = None;
            } else if dsack.is_some_and(|block| undo.came_twice(block)) {
                // The segments that showed its loss have overtaken it.
                rack.reordering.seen();
                self.undo();
            }
        }
        if has_repaired {
            self.reduce(cx.now(), flight);
            // The loss is repaired already: the window is reduced at once, as in Linux.
            self.end_reduction();
        }
        self.detect_losses(cx);
        if new > 0 {
            self.start_probe_timer(cx.now());
        } else {
            self.stop_probe_timer();
        }
    }

    /// RACK_detect_loss(). Losses of segments sent after the last reduction of the window reduce it
    /// (RFC 5681, section 4.3: the loss of a retransmission is a second indication of congestion),
    /// and the first one is sent again at once.
    fn detect_losses(&mut self, cx: &mut HostCx<'_>) {
        let (is_repairing, srtt) = (self.is_repairing(), self.timer.srtt());
        let Some(rack) = &mut self.rack else { return };
        let Losses { any, later } = rack.detect_losses(cx.now(), srtt, is_repairing);
        self.has_lost |= any;
        let begins = match self.reduces_gradually {
            true if self.by_model => !is_repairing && rack.is_missing_any(),
            // A gradual reduction lasts until all that was sent before it has arrived. Losses of what
            // was sent during it begin the next one.
            true if self.prr.is_some() && self.recovery.active => false,
            true if !is_repairing => rack.is_missing_any(),
            _ => any && (later || !is_repairing),
        };
        if !begins {
            return;
        }
        let reduces = later || self.reduces_gradually;
        rack.undo = (reduces && !is_repairing && !self.by_model).then(|| Undo::new(self.congestion.clone()));
        if reduces {
            self.reduce(cx.now(), self.flight());
        }
        (self.recovery.active, self.recovery.recover) = (true, self.max);
        if !self.reduces_gradually {
            self.send_lost(cx);
        }
        self.timer.restart(cx.now());
    }

    /// Reduces the window for a loss.
    fn reduce(&mut self, now: Time, flight: u64) {
        if self.by_model {
            self.congestion.reduce(now, flight);
            return self.reduced();
        }
        if self.reduces_gradually {
            return self.begin_reduction(|congestion| congestion.reduce(now, flight));
        }
        self.congestion.reduce(now, flight);
        self.congestion.set(self.congestion.ssthresh().min(self.congestion.cwnd()));
        self.reduced();
    }

    /// Sends the first lost segment again.
    fn send_lost(&mut self, cx: &mut HostCx<'_>) {
        let Some(rack) = &mut self.rack else { return };
        let Some((start, end)) = rack.next_lost() else { return };
        if let Some(undo) = &mut rack.undo {
            undo.sent_again(start);
        }
        self.send(cx, start, end);
    }

    /// Undoes the last reduction if all segments that were sent again had arrived before (RFC
    /// 3708), as in RFC 9438, section 4.9.2.
    fn undo(&mut self) {
        let Some(rack) = &mut self.rack else { return };
        if rack.next_lost().is_some() {
            return;
        }
        if let Some(before) = rack.undo.as_ref().and_then(Undo::restored) {
            if self.congestion.cwnd() < before.cwnd() {
                self.congestion = before.clone();
            }
            rack.undo = None;
            self.prr = None;
            (self.recovery.active, self.recovery.recover) = (false, self.una);
        }
    }

    /// Sends lost segments, then new data, while `pipe` leaves room and at their pace.
    pub(super) fn fill_by_pipe(&mut self, cx: &mut HostCx<'_>) {
        let mut sends_new = false;
        self.pacer.rests();
        while let Some(rack) = &self.rack {
            let new = self.next_new().filter(|(_, end)| self.receiver_has_room(*end));
            let lost = rack.next_lost();
            let Some((start, end)) = lost.or(new) else { break };
            if rack.pipe() + (end - start) > self.congestion.cwnd() || !self.pacer.lets_go(cx.now()) {
                break;
            }
            if lost.is_some() {
                self.send_lost(cx);
            } else {
                self.send(cx, start, end);
                sends_new = true;
            }
        }
        self.limit_samples();
        if sends_new {
            self.start_probe_timer(cx.now());
        }
    }

    /// Starts the probe timer anew (section 7.2), unless losses are repaired or segments were
    /// SACKed.
    fn start_probe_timer(&mut self, now: Time) {
        let (flight, is_repairing, held) = (self.flight(), self.is_repairing(), self.held);
        let Some(rack) = &mut self.rack else { return };
        rack.probe.stop();
        if flight > 0 && rack.segs_sacked() == 0 && !is_repairing && !held {
            rack.probe.start(now, self.timer.srtt(), flight <= self.mss, self.timer.due());
        }
    }

    /// Stops the probe timer while losses are repaired or segments were SACKed.
    fn stop_probe_timer(&mut self) {
        let is_repairing = self.is_repairing();
        if let Some(rack) = &mut self.rack
            && (is_repairing || rack.segs_sacked() > 0)
        {
            rack.probe.stop();
        }
    }

    /// TLP_send_probe() (section 7.3): new data, beyond the congestion window if need be, or the
    /// highest segment again.
    fn send_probe(&mut self, cx: &mut HostCx<'_>) {
        let new = self.next_new().filter(|(_, end)| self.receiver_has_room(*end));
        let highest = self.rack.as_ref().and_then(|rack| rack.highest());
        if let Some((start, end)) = new.or(highest) {
            self.send(cx, start, end);
        }
        let max = self.max;
        if let Some(rack) = &mut self.rack {
            rack.probe.sent(max, new.is_none());
        }
        self.timer.restart(cx.now());
    }

    /// Processes an expired retransmission timer: the first segment is sent again, and late
    /// segments count as lost with it (section 6.3).
    fn timed_out_with_rack(&mut self, cx: &mut HostCx<'_>) {
        self.timed_out(cx.now());
        if self.flight() == 0 {
            return;
        }
        let srtt = self.timer.srtt();
        if let Some(rack) = &mut self.rack {
            rack.probe.stop();
            rack.timed_out(cx.now(), srtt);
        }
        if self.reduces_gradually {
            self.congestion.set(self.outstanding() + self.mss);
        }
        self.send_lost(cx);
    }
}
