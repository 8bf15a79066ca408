//! The sending end as an endpoint: its calls, and its gauges and counts.

use super::Sender;
use crate::endpoint::application::Application;
use crate::endpoint::transfers::Transfer;
use crate::endpoint::{Counts, Endpoint, HostCx, Notice, Payload};
use crate::packet::Packet;
use crate::units::{Span, Time};

impl Endpoint for Sender {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        if self.last_sent.is_none() {
            self.timer.begin(cx.now());
        }
        if !self.opening.is_done() {
            return self.open(cx);
        }
        if self.timer_due() <= cx.now() && cx.now() < self.stop {
            self.timer_expired(cx);
        }
        self.ask_application(cx.now());
        self.fill_and_note(cx);
        self.time_by_first(cx.now());
        self.next()
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        if let Payload::Tcp(segment) = payload
            && cx.now() < self.stop
        {
            if segment.opens {
                self.opened(cx, segment.stamp);
            } else {
                self.acknowledged(cx, segment);
            }
            self.ask_application(cx.now());
            self.fill_and_note(cx);
        }
        self.next()
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        self.next()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let segments = |bytes: u64| bytes as f64 / self.mss as f64;
        show("cwnd", segments(self.congestion.cwnd()));
        show("ssthresh", segments(self.congestion.ssthresh()));
        show("flight", segments(self.flight()));
        show("srtt", self.timer.srtt().map_or(f64::NAN, |srtt| srtt.as_secs_f64()));
        show("rto", self.timer.rto().as_secs_f64());
        show("retransmissions", self.retransmissions as f64);
        show("timeouts", self.timeouts as f64);
        self.congestion.gauges(show);
    }

    fn round_trip(&self) -> Option<Span> {
        self.timer.srtt()
    }

    fn counts(&self) -> Counts {
        Counts {
            retransmissions: Some(self.retransmissions),
            timeouts: Some(self.timeouts),
            sent: Some(self.max),
            round_trips: Some(self.timer.round_trips().0),
            round_trip_ticks: Some(self.timer.round_trips().1),
            ..Counts::default()
        }
    }

    fn transfers(&self) -> &[Transfer] {
        self.application.as_ref().map_or(&[], Application::transfers)
    }
}
