//! The sending end of an ABR connection: cells at the allowed rate, and RM cells among them.

use super::frames::{Frames, words_of};
use crate::abr::cell::{Direction, RmCell};
use crate::abr::{Pace, Source, SourceTerms};
use crate::endpoint::application::Application;
use crate::endpoint::transfers::Transfer;
use crate::endpoint::{Endpoint, HostCx, Notice, Payload};
use crate::packet::{Colour, Mark, Packet};
use crate::units::{Span, TICKS_PER_SECOND, Time};

/// The sending end.
#[derive(Debug)]
pub(super) struct Sender {
    source: Source,
    pace: Pace,
    /// Bytes of a cell, and bytes of data in it.
    size: u32,
    data: u32,
    /// Segmentation of packets into cells, with AAL5.
    frames: Option<Frames>,
    stop: Time,
    /// Bytes handed over by the application and not sent; [`u64::MAX`] for endless data.
    waiting: u64,
    /// Bytes of the application sent so far.
    sent: u64,
    application: Option<Application>,
    /// Time from which an out-of-rate FRM cell may be sent.
    out_of_rate_at: Time,
}

impl Sender {
    /// A sender from `start` to `stop`, in cells of `size` bytes with `data` bytes of data each;
    /// `frames` has the packets of AAL5, if cells carry them. Without an application, data are
    /// endless.
    pub(super) fn new(
        terms: SourceTerms,
        (start, stop): (Time, Time),
        (size, data): (u32, u32),
        frames: Option<Frames>,
        application: Option<Application>,
    ) -> Sender {
        Sender {
            source: Source::new(terms),
            pace: Pace::new(start),
            size,
            data,
            frames,
            stop,
            waiting: if application.is_some() { 0 } else { u64::MAX },
            sent: 0,
            application,
            out_of_rate_at: start,
        }
    }

    /// Sends the cells that are due. Returns the time of the next cell, or of the next data.
    fn send(&mut self, cx: &mut HostCx<'_>) -> Time {
        let now = cx.now();
        if now >= self.stop {
            return Time::NEVER;
        }
        if let Some(application) = &mut self.application
            && let Some(bytes) = application.hand_over(now)
        {
            self.waiting = self.waiting.saturating_add(bytes);
        }
        if self.waiting > 0 && self.pace.next_at() <= now {
            self.send_in_rate(cx);
        } else if self.waiting > 0 && self.asks_out_of_rate() && self.out_of_rate_at <= now {
            let mark = Mark::NONE.coloured(Colour::Red);
            cx.send(self.source.terms().rm_cell, mark, Payload::Rm(self.source.frm()));
            self.wait_out_of_rate(now);
        }
        self.next()
    }

    fn send_in_rate(&mut self, cx: &mut HostCx<'_>) {
        let now = cx.now();
        let len = if self.source.is_frm_next(now) {
            let frm = self.source.send_frm(now);
            cx.send(self.source.terms().rm_cell, Mark::NONE, Payload::Rm(frm));
            self.wait_out_of_rate(now);
            self.source.terms().rm_cell
        } else {
            let (bytes, payload) = self.next_data();
            cx.send(self.size, Mark::NONE, payload);
            self.source.sent(1);
            if let Some(application) = &mut self.application {
                self.waiting -= bytes;
                // A cell within a frame counts for the byte after those sent.
                application.sent(now, self.sent..self.sent + bytes.max(1), false);
                self.sent += bytes;
                application.acknowledged(now, self.sent);
            }
            self.size
        };
        self.pace.sent(now, len, self.source.acr());
    }

    /// The data that end with the next cell, and its payload.
    fn next_data(&mut self) -> (u64, Payload) {
        if let Some(frames) = &mut self.frames {
            let cell = frames.next(self.waiting, self.data);
            return (cell.trailer.map_or(0, u64::from), Payload::Words(words_of(cell)));
        }
        let bytes = self.waiting.min(u64::from(self.data));
        let is_full = bytes == u64::from(self.data);
        (bytes, if is_full { Payload::None } else { Payload::Words([bytes, 0, 0]) })
    }

    /// Returns true if the rate is so low that RM cells are sent out of rate (rule 11).
    fn asks_out_of_rate(&self) -> bool {
        self.source.acr() < self.source.terms().tcr
    }

    fn wait_out_of_rate(&mut self, now: Time) {
        let between = f64::from(self.size) * 8.0 / self.source.terms().tcr * TICKS_PER_SECOND as f64;
        self.out_of_rate_at = now + Span::from_ticks(libm::ceil(between) as u64);
    }

    fn next(&self) -> Time {
        let handed_at = self.application.as_ref().map_or(Time::NEVER, Application::next_at);
        let sent_at = match (self.waiting > 0, self.asks_out_of_rate()) {
            (false, _) => Time::NEVER,
            (true, false) => self.pace.next_at(),
            (true, true) => self.pace.next_at().min(self.out_of_rate_at),
        };
        let at = sent_at.min(handed_at);
        if at < self.stop { at } else { Time::NEVER }
    }
}

impl Endpoint for Sender {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        self.send(cx)
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        if let Payload::Rm(brm @ RmCell { direction: Direction::Backward, .. }) = payload {
            let before = self.source.acr();
            self.source.answered(brm);
            self.pace.change(cx.now(), before, self.source.acr());
        }
        self.send(cx)
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        self.next()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("acr", self.source.acr());
    }

    fn transfers(&self) -> &[Transfer] {
        self.application.as_ref().map_or(&[], Application::transfers)
    }
}
