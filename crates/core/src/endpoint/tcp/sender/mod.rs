//! The sending end: the segments that it sends at each acknowledgement and at each timeout.
//!
//! Names are those of the RFCs: SND.UNA, SND.NXT, FlightSize, cwnd, ssthresh, `recover`. A number
//! that an RFC gives as the highest byte is held as the number of the byte after it.

mod endpoint;
mod filling;
mod loss;
mod model;
mod opening;
mod pacing;
mod rack;
mod reduction;
mod usage;
mod writes;

use crate::endpoint::application::Application;
use crate::endpoint::tcp::accurate_ecn::Feedback;
use crate::endpoint::tcp::congestion::{Acknowledged, Congestion, CongestionControl, Windows};
use crate::endpoint::tcp::expiry::Expiry;
use crate::endpoint::tcp::frto::Detection;
use crate::endpoint::tcp::hystart::HyStart;
use crate::endpoint::tcp::opening::Opening;
use crate::endpoint::tcp::prr::Prr;
use crate::endpoint::tcp::rack::{Arrived, Rack};
use crate::endpoint::tcp::rates::Rates;
use crate::endpoint::tcp::receiver::initial_window;
use crate::endpoint::tcp::recovery::Recovery;
use crate::endpoint::tcp::scoreboard::{Extent, Scoreboard};
use crate::endpoint::tcp::segment::Segment;
use crate::endpoint::tcp::sent::FirstSent;
use crate::endpoint::tcp::timer::Timer;
use crate::endpoint::tcp::usage::Usage;
use crate::endpoint::tcp::{
    Autotuning, Frto, Growth, LossRecovery, PushAcks, RackForm, Reduction, RtoFloor, SlowStart, Tcp,
    Timestamps,
};
use crate::endpoint::{HostCx, Payload};
use crate::packet::Mark;
use crate::units::Time;
use alloc::boxed::Box;
use pacing::Pacer;
use writes::Writes;

/// The end that sends data.
#[derive(Debug)]
pub struct Sender {
    /// Loss recovery of the connection.
    loss_recovery: LossRecovery,
    rack_form: RackForm,
    mss: u64,
    header: u32,
    ecn: bool,
    stop: Time,
    opening: Opening,
    /// Bytes that the application has handed over.
    offered: u64,
    /// Application that hands over data; `None` for endless data.
    application: Option<Application>,
    /// SND.UNA: the first byte that is not acknowledged.
    una: u64,
    /// SND.NXT: the next byte to be sent; before `max` after a timeout.
    nxt: u64,
    /// End of the data ever sent (HighData).
    max: u64,
    /// SND.WND: bytes for which the receiver has room.
    window: u64,
    /// The application's writes, where the receiver answers their ends at once.
    writes: Option<Writes>,
    /// The time stamp that came last, which data bring back.
    stamp: u16,
    initial: u64,
    congestion: Congestion,
    scoreboard: Scoreboard,
    /// Loss detection by time, in place of the scoreboard.
    rack: Option<Box<Rack>>,
    first_sent: FirstSent,
    recovery: Recovery,
    /// Detection of needless timeouts, where it is on, and a timeout that may have been one.
    has_frto: bool,
    frto: Option<Box<Detection>>,
    /// True if the timeout counts from the first segment's last transmission once the segments of this
    /// instant have left.
    by_first: bool,
    /// True if new data come before those that are lost.
    new_first: bool,
    /// True if the window is reduced over a round trip, or by the control's model.
    reduces_gradually: bool,
    /// True if the control has a model of the path, by which it sets the window.
    by_model: bool,
    /// Such a reduction under way.
    prr: Option<Prr>,
    /// True if the acknowledgement that is processed has shown a loss.
    has_lost: bool,
    hystart: Option<HyStart>,
    /// True if every acknowledgement measures a round trip.
    has_timestamps: bool,
    /// The mark of packets that are ECN-capable.
    capable: Mark,
    /// True if all packets are ECN-capable, not new data alone.
    marks_all: bool,
    /// The count of marked packets, for a control that responds to each.
    feedback: Option<Feedback>,
    timer: Timer,
    /// Time of the last transmission.
    last_sent: Option<Time>,
    /// First unacknowledged byte at the last timeout.
    timed_out_at: Option<u64>,
    /// Marks are answered again once the byte with this number is acknowledged: the segment with
    /// CWR has then arrived.
    answered_to: u64,
    pacer: Pacer,
    /// The use of the window, where it is remembered: with growth in segments.
    usage: Option<Usage>,
    /// True if the next new segment carries CWR: the window was reduced.
    says_reduced: bool,
    /// True while new data wait for the timer: congestion was marked with a window of one segment.
    held: bool,
    retransmissions: u64,
    timeouts: u64,
}

impl Sender {
    /// A sender of packets of `size` bytes, without data yet. From `stop` on it sends nothing.
    pub fn new(tcp: &Tcp, stop: Time, size: u32) -> Sender {
        let params = &tcp.params;
        let mss = u64::from(params.segment_size(size));
        let initial = u64::from(params.initial_window) * mss;
        let limit = u64::from(params.receiver_window);
        let window = match params.autotuning {
            Autotuning::On => limit.min(initial_window(mss)),
            Autotuning::Off => limit,
        };
        // The margin of a timeout covers acknowledgements that wait.
        let longest_wait = match params.rto_floor {
            RtoFloor::Timeout => params.delayed_acks,
            RtoFloor::Variation => params.minimum_rto,
        };
        let by_model = tcp.control.has_model();
        let mut rack = (params.recovery == LossRecovery::Rack)
            .then(|| Box::new(Rack::new(Expiry::new(params), longest_wait)));
        if let Some(rack) = &mut rack {
            rack.rates = by_model.then(|| Box::new(Rates::new()));
        }
        Sender {
            loss_recovery: params.recovery,
            rack_form: params.rack_form,
            mss,
            header: params.header,
            ecn: params.negotiates_ecn(),
            stop,
            opening: Opening::new(params.handshake),
            offered: 0,
            application: None,
            una: 0,
            nxt: 0,
            max: 0,
            window,
            writes: (params.push_acks == PushAcks::On).then(|| Writes::new(mss, window)),
            stamp: 0,
            initial,
            congestion: Congestion::new(
                tcp.control.clone(),
                Windows { mss, cwnd: initial, ssthresh: limit.max(2 * mss) },
            ),
            scoreboard: Scoreboard::default(),
            rack,
            first_sent: FirstSent::default(),
            recovery: Recovery::default(),
            has_frto: params.frto == Frto::On,
            frto: None,
            by_first: false,
            new_first: false,
            reduces_gradually: params.reduction == Reduction::Prr || by_model,
            by_model,
            prr: None,
            has_lost: false,
            hystart: (params.slow_start == SlowStart::Hystart).then(HyStart::new),
            has_timestamps: params.timestamps == Timestamps::On,
            capable: params.capable(),
            marks_all: params.marks_all(),
            feedback: params.counts_marks().then(Feedback::new),
            timer: Timer::new(params),
            last_sent: None,
            timed_out_at: None,
            answered_to: 0,
            pacer: Pacer::new(),
            usage: (params.growth == Growth::Segments).then(Usage::default),
            says_reduced: false,
            held: false,
            retransmissions: 0,
            timeouts: 0,
        }
    }

    /// Adds `bytes` of data from the application; [`u64::MAX`] is endless data. They are sent from
    /// the next call of the endpoint on.
    pub fn offer(&mut self, bytes: u64) {
        let before = self.offered;
        self.offered = before.saturating_add(bytes);
        if let Some(writes) = &mut self.writes {
            writes.offered(before, self.offered);
        }
    }

    /// Attaches an application, which hands over data from the next call of the endpoint on.
    pub(super) fn run(&mut self, application: Application) {
        self.application = Some(application);
    }

    /// Takes the data that the application has ready.
    fn ask_application(&mut self, now: Time) {
        let Some(application) = &mut self.application else { return };
        application.acknowledged(now, self.una);
        if now < self.stop
            && let Some(bytes) = application.hand_over(now)
        {
            self.offer(bytes);
        }
    }

    /// FlightSize: bytes that were sent and are not acknowledged.
    fn flight(&self) -> u64 {
        self.max - self.una
    }

    fn extent(&self) -> Extent {
        Extent { una: self.una, max: self.max, mss: self.mss }
    }

    /// Processes an acknowledgement.
    fn acknowledged(&mut self, cx: &mut HostCx<'_>, segment: &Segment) {
        let acknowledgement = segment.acknowledgement;
        if acknowledgement < self.una || acknowledgement > self.max {
            return;
        }
        let (before, model) = (self.flight(), self.before());
        let (was_full, used) = self.used();
        let new = acknowledgement - self.una;
        let same_window = self.window == u64::from(segment.window);
        (self.window, self.stamp) = (u64::from(segment.window), segment.stamp);
        if let Some(writes) = &mut self.writes {
            writes.window(self.window);
        }
        self.una = acknowledgement;
        self.nxt = self.nxt.max(self.una);
        let mut arrived = Arrived { bytes: new, ..Arrived::default() };
        let has_news = match &mut self.rack {
            Some(rack) => {
                arrived = rack.acknowledged(self.una, segment.blocks(), cx.now());
                false
            }
            None => self.scoreboard.update(self.extent(), segment.blocks()),
        };
        if new > 0 {
            self.timer.acknowledged(self.una, self.max, cx.now());
            self.first_sent.acknowledged(self.una);
        }
        let delivered = arrived.bytes.div_ceil(self.mss);
        let (echo, marks) = self.marks(segment, delivered);
        let (una, max, srtt) = (self.una, self.max, self.timer.srtt());
        let report = Acknowledged { now: cx.now(), una, max, new, delivered, marked: marks, srtt };
        self.observe(&report, arrived);
        let marked = self.ecn && echo && self.answer_mark(cx, &report, before);
        self.judge_timeout(new, arrived);
        if new > 0 {
            let was_recovering = self.recovery.active;
            self.progress(cx, new);
            let was_used = was_full || self.congestion.grows_beyond(used);
            let may_grow =
                if self.reduces_gradually { self.prr.is_none() } else { !was_recovering && !marked };
            if may_grow && was_used && !self.by_model {
                let srtt = self.timer.srtt();
                self.congestion.grow(&Acknowledged { srtt, ..report });
            } else if !was_used {
                self.congestion.not_used(cx.now());
            }
        }
        let repeats = new == 0 && before > 0 && same_window;
        if if self.loss_recovery.uses_sack() { has_news } else { repeats } {
            self.duplicate(cx);
        }
        self.judge(cx, segment, new, before);
        self.reduce_gradually(delivered, new > 0);
        self.rule(cx.now(), arrived, model);
        if let Some(writes) = &mut self.writes
            && new > 0
        {
            writes.acknowledged(self.una, self.congestion.cwnd(), self.offered);
        }
    }

    /// Records a reduction of the window, whatever its reason: data under way give no further
    /// reason.
    fn reduced(&mut self) {
        (self.answered_to, self.says_reduced) = (self.max, self.ecn);
        if let Some(rack) = &mut self.rack {
            rack.reduced();
        }
    }

    /// Limits the window to the initial one after an idle time of more than the timeout (RFC 5681,
    /// section 4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let is_idle = self.last_sent.is_some_and(|sent| now.since(sent) > self.timer.rto());
        if is_idle && !self.by_model && self.flight() == 0 && self.next_new().is_some() {
            self.congestion.restart(now, self.initial);
        }
    }

    /// Sends the bytes from `start` to before `end`, for the first time or again.
    fn send(&mut self, cx: &mut HostCx<'_>, start: u64, end: u64) {
        let first_sent = self.first_sent.at(start);
        self.resume(cx.now());
        if let Some(application) = &mut self.application {
            application.sent(cx.now(), start..end, first_sent.is_some());
        }
        let (length, stamp) = ((end - start) as u32, self.stamp);
        let mut segment = Segment { sequence: start, length, stamp, ..Segment::default() };
        segment.pushes = end == self.offered;
        let mut mark = Mark::NONE;
        if first_sent.is_some() {
            self.retransmissions += 1;
            self.timer.forget_timed();
            if self.marks_all && self.ecn {
                mark = self.capable;
            }
        } else {
            self.max = end;
            if let Some(writes) = &mut self.writes {
                segment.pushes = writes.sent(end);
            }
            if !self.has_timestamps {
                self.timer.time(end, cx.now());
            }
            self.first_sent.sent(end, cx.now());
            segment.reduced = core::mem::take(&mut self.says_reduced);
            if self.ecn {
                mark = self.capable;
            }
        }
        let (len, payload) = (self.header + segment.length, Payload::Tcp(segment));
        match first_sent {
            Some(first_sent) => cx.send_again(len, mark, payload, first_sent),
            None => cx.send(len, mark, payload),
        }
        if let Some(rack) = &mut self.rack {
            rack.sent(start, end, cx.now());
        }
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
        self.pacer.sent(cx.now(), self.congestion.interval(end - start));
        self.last_sent = Some(cx.now());
        self.timer.run(cx.now());
    }

    /// Time of the endpoint's next wake-up.
    fn next(&self) -> Time {
        let handed_at = self.application.as_ref().map_or(Time::NEVER, Application::next_at);
        let at = self.timer_due().min(handed_at).min(self.pacer.due());
        if at < self.stop { at } else { Time::NEVER }
    }
}
