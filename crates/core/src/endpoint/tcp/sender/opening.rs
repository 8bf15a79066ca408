//! The handshake before the first data (RFC 9293, section 3.5): a segment that opens the connection,
//! and its answer, which measures the first round trip and is acknowledged. Data follow at once. An opening
//! segment that is sent again asks for no ECN (RFC 3168, section 6.1.1.1), as in Linux.

use super::Sender;
use crate::endpoint::application::Application;
use crate::endpoint::tcp::opening::Opening;
use crate::endpoint::tcp::segment::Segment;
use crate::endpoint::{HostCx, Payload};
use crate::packet::Mark;
use crate::units::Time;

impl Sender {
    /// Sends the opening segment, at first and when its timer has expired. Returns the time of the
    /// next wake-up.
    pub(super) fn open(&mut self, cx: &mut HostCx<'_>) -> Time {
        let is_open_loop = self.application.as_ref().is_some_and(Application::is_open_loop);
        if is_open_loop {
            self.ask_application(cx.now());
        }
        if let Opening::Asks { times, at } = &mut self.opening
            && cx.now() < self.stop
            && (*times == 0 || self.timer.due() <= cx.now())
        {
            if *times > 0 {
                self.timer.back_off();
                self.timeouts += 1;
                // The first one may have been lost for what it asked for.
                self.ecn = false;
            }
            (*times, *at) = (*times + 1, cx.now());
            let segment = Segment { opens: true, ..Segment::default() };
            let mark = if self.marks_all && self.ecn { self.capable } else { Mark::NONE };
            cx.send(self.header, mark, Payload::Tcp(segment));
            self.last_sent = Some(cx.now());
            self.timer.restart(cx.now());
        }
        let next = self.application.as_ref().filter(|_| is_open_loop).map(Application::next_at);
        let at = self.timer.due().min(next.unwrap_or(Time::NEVER));
        if at < self.stop { at } else { Time::NEVER }
    }

    /// Acknowledges the answer to the opening segment.
    pub(super) fn opened(&mut self, cx: &mut HostCx<'_>, stamp: u16) {
        let now = cx.now();
        self.stamp = stamp;
        let mark = if self.marks_all && self.ecn { self.capable } else { Mark::NONE };
        cx.send(self.header, mark, Payload::Tcp(Segment { stamp, ..Segment::default() }));
        if let Opening::Asks { times, at } = core::mem::replace(&mut self.opening, Opening::Done) {
            self.timer.stop();
            if times == 1 || self.has_timestamps {
                let rtt = self.timer.opened(times, at, now);
                self.timer.measured(rtt, 0, 0);
                if let Some(rack) = &mut self.rack {
                    rack.opened(rtt, now);
                }
            }
            // As in Linux; RFC 5681, section 3.1, asks for it after one loss.
            if times > 2 {
                self.congestion.set(self.mss);
            }
        }
    }
}
