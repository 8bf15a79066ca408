//! RACK-TLP of a sender (RFC 8985): the response to acknowledgements, the three timers, and the
//! segments that are sent.

use super::Sender;
use crate::endpoint::HostCx;
use crate::endpoint::tcp::RackForm;
use crate::endpoint::tcp::frto::{Answer, Detection, Response};
use crate::endpoint::tcp::rack::{Arrived, Losses, Rack, Undo};
use crate::endpoint::tcp::recovery::Recovery;
use crate::endpoint::tcp::segment::Segment;
use crate::units::Time;
use alloc::boxed::Box;

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
        let form = self.rack_form;
        let Some(rack) = &mut self.rack else { return self.timed_out(cx.now()) };
        if rack.reorder_at() != Time::NEVER {
            self.timer.restart(cx.now());
            self.by_first = form == RackForm::Linux;
            if self.detect_losses(cx) {
                self.reduce_gradually(1, false);
            }
            self.has_lost = false;
        } else if rack.probe.due() != Time::NEVER {
            if rack.probe.is_under_way() {
                // The timer ran in Linux's form, for the sake of the next one only.
                rack.probe.stop();
                self.by_first = true;
            } else {
                self.send_probe(cx);
            }
        } else {
            self.timed_out_with_rack(cx);
        }
    }

    /// Lets the timeout count from the first segment's last transmission, where another timer had taken
    /// the place of the retransmission timer.
    pub(super) fn time_by_first(&mut self, now: Time) {
        if core::mem::take(&mut self.by_first)
            && let Some(sent) = self.rack.as_ref().and_then(|rack| rack.first_left_at())
        {
            self.timer.restart_from(sent, now);
        }
    }

    /// Returns true if the reordering timer or the probe timer has taken the place of the retransmission
    /// timer, which then counts from the first segment in Linux's form.
    pub(super) fn is_timed_by_first(&self) -> bool {
        let is_other = |rack: &Rack| rack.reorder_at() != Time::NEVER || rack.probe.due() != Time::NEVER;
        self.rack_form == RackForm::Linux && self.rack.as_deref().is_some_and(is_other)
    }

    /// Returns true while losses before RecoveryPoint are repaired, after a fast retransmit or a
    /// timeout.
    fn is_repairing(&self) -> bool {
        self.una < self.recovery.recover
    }

    /// Processes an acknowledgement of `new` bytes, with `flight` bytes in flight before it:
    /// TLP_process_ack() (section 7.4.2), and section 6.2 from step 4 on.
    pub(super) fn judge(&mut self, cx: &mut HostCx<'_>, segment: &Segment, new: u64, flight: u64) {
        let was_by_first = self.is_timed_by_first();
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
        if new == 0 {
            self.stop_probe_timer();
        } else if !self.start_probe_timer(cx.now()) && was_by_first {
            self.by_first = true;
            self.time_by_first(cx.now());
        }
    }

    /// Judges by an acknowledgement of `new` bytes whether the last timeout was needless (RFC 5682).
    pub(super) fn judge_timeout(&mut self, new: u64, arrived: Arrived) {
        let Some(mut detection) = self.frto.take() else { return };
        let answer = Answer {
            moved: new > 0,
            is_full: !self.is_repairing(),
            shows_gap: new == 0 || arrived.bytes > new,
            original: arrived.original,
        };
        match detection.acknowledged(answer) {
            Response::Undo => {
                let before = detection.before();
                // A model of the path has not forgotten it, and goes on.
                if !self.by_model && self.congestion.cwnd() < before.cwnd() {
                    self.congestion = before;
                }
                if let Some(rack) = &mut self.rack {
                    rack.none_is_lost();
                }
                self.recovery = Recovery { recover: self.una, ..Recovery::default() };
                self.timed_out_at = None;
            }
            Response::SendNew => (self.frto, self.new_first) = (Some(detection), true),
            Response::Wait => self.frto = Some(detection),
            Response::SendLost => {}
        }
    }

    /// RACK_detect_loss(). Losses of segments sent after the last reduction of the window reduce it
    /// (RFC 5681, section 4.3: the loss of a retransmission is a second indication of congestion),
    /// and the first one is sent again at once. Returns true if a recovery begins.
    fn detect_losses(&mut self, cx: &mut HostCx<'_>) -> bool {
        let (is_repairing, srtt) = (self.is_repairing(), self.timer.srtt());
        let Some(rack) = &mut self.rack else { return false };
        let Losses { any, later, again } = rack.detect_losses(cx.now(), srtt, is_repairing);
        self.has_lost |= any;
        let begins = match self.reduces_gradually {
            true if self.by_model => !is_repairing && rack.is_missing_any(),
            // A gradual reduction lasts until all that was sent before it has arrived. Losses of what
            // was sent during it begin the next one.
            true if self.prr.is_some() && self.recovery.active => false,
            true if !is_repairing => rack.is_missing_any(),
            // After a timeout only the loss of a retransmission does: new data have to wait.
            true => again,
            _ => any && (later || !is_repairing),
        };
        if !begins {
            return false;
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
        true
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
        self.pacer.rests();
        let mut sends_new = core::mem::take(&mut self.new_first) && self.send_by_pipe(cx, true);
        if !sends_new {
            sends_new = self.send_by_pipe(cx, false);
        }
        self.limit_samples();
        if sends_new {
            self.by_first = self.is_timed_by_first();
            self.time_by_first(cx.now());
            self.start_probe_timer(cx.now());
        }
    }

    /// Sends segments while `pipe` leaves room. Returns true if new data were among them.
    fn send_by_pipe(&mut self, cx: &mut HostCx<'_>, only_new: bool) -> bool {
        let mut sends_new = false;
        while let Some(rack) = &self.rack {
            let new = self.next_new().filter(|(_, end)| self.receiver_has_room(*end));
            let lost = rack.next_lost().filter(|_| !only_new);
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
        sends_new
    }

    /// Starts the probe timer anew (section 7.2), unless losses are repaired or segments were
    /// SACKed. Returns true if it runs.
    fn start_probe_timer(&mut self, now: Time) -> bool {
        let (flight, is_repairing, held) = (self.flight(), self.is_repairing(), self.held);
        let Some(rack) = &mut self.rack else { return false };
        rack.probe.stop();
        if flight > 0 && rack.segs_sacked() == 0 && !is_repairing && !held {
            rack.probe.start(now, self.timer.srtt(), flight <= self.mss, self.timer.over());
        }
        rack.probe.due() != Time::NEVER
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
        let is_repeated = self.timed_out_at == Some(self.una);
        let is_judged = self.has_frto && (!self.is_repairing() || is_repeated);
        // Windows before the first of several timeouts of a segment.
        let earlier = self.frto.take().filter(|_| is_repeated);
        let before = earlier.map_or_else(|| self.congestion.clone(), |detection| detection.before());
        self.timed_out(cx.now());
        if self.flight() == 0 {
            return;
        }
        self.frto = is_judged.then(|| Box::new(Detection::new(before, self.max)));
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
