//! The receiving end: bytes in order, acknowledgements, SACK blocks (RFC 2018, section 4), D-SACK
//! blocks (RFC 2883) and the echo of congestion (RFC 3168, section 6.1.3).

use super::accurate_ecn::Count;
use super::params::{PushAcks, TcpParams};
use super::ranges::Ranges;
use super::segment::{Block, MAX_BLOCKS, Segment};
use crate::endpoint::{Counts, Endpoint, HostCx, Notice, Payload};
use crate::packet::{Mark, Packet};
use crate::params::MarkResponse;
use crate::units::{Span, Time};
use alloc::vec::Vec;

/// The codepoint of a packet that met congestion (CE).
const CE: u8 = 0b11;

/// The end that receives data. Its application reads at once, so the advertised window is always
/// the full one.
#[derive(Debug)]
pub(super) struct Receiver {
    header: u32,
    window: u32,
    sack: bool,
    dsack: bool,
    ecn: bool,
    /// The longest time for which an acknowledgement may be delayed; 0 for no delay.
    delay: Span,
    /// True if the end of what the application has written is acknowledged at once.
    answers_push: bool,
    /// Acknowledgements from now on that are not delayed.
    quick: u32,
    /// True if an echo tells of each packet by itself, as DCTCP asks for (RFC 8257, section 3.2).
    echoes_each: bool,
    /// The count of packets that came marked, in place of an echo (RFC 9768).
    count: Option<Count>,
    /// Number of the next byte that is expected (RCV.NXT).
    next: u64,
    /// Ranges received beyond `next`.
    beyond: Ranges,
    /// Starts of the ranges beyond `next`, the one with the latest data first.
    latest: Vec<u64>,
    /// Data that have arrived a second time, to be reported once.
    twice: Option<Block>,
    /// In-order segments not acknowledged yet.
    waiting: u32,
    /// The latest time at which these segments are acknowledged.
    due: Time,
    /// True while acknowledgements carry ECN-Echo.
    echo: bool,
    /// The mark of acknowledgements.
    mark: Mark,
}

impl Receiver {
    pub(super) fn new(params: &TcpParams) -> Receiver {
        Receiver {
            header: params.header,
            window: params.receiver_window,
            sack: params.recovery.uses_sack(),
            dsack: params.recovery.uses_dsack(),
            ecn: params.negotiates_ecn(),
            delay: params.delayed_acks,
            answers_push: params.push_acks == PushAcks::On,
            quick: params.quick_acks,
            echoes_each: params.congestion.mark_response() == MarkResponse::Share,
            count: params.counts_marks().then(Count::new),
            next: 0,
            beyond: Ranges::default(),
            latest: Vec::new(),
            twice: None,
            waiting: 0,
            due: Time::NEVER,
            echo: false,
            mark: if params.marks_all() { params.capable() } else { Mark::NONE },
        }
    }

    /// Takes the data of a segment. Returns true if its acknowledgement may wait: it must not when
    /// data are out of order, fill a gap or have come before (RFC 5681, section 4.2).
    fn take(&mut self, segment: &Segment) -> bool {
        let came = Block { start: segment.sequence, end: segment.end() };
        if segment.sequence > self.next {
            if self.beyond.insert(came.start, came.end) == 0 {
                self.twice = Some(came);
            }
            self.note_latest(segment.sequence);
            return false;
        }
        if segment.end() <= self.next {
            self.twice = Some(came);
            return false;
        }
        let in_order = self.beyond.is_empty();
        self.next = segment.end();
        if let Some((_, end)) = self.beyond.around(self.next) {
            self.next = end;
        }
        self.beyond.remove_below(self.next);
        self.latest.retain(|start| *start > self.next);
        in_order
    }

    /// Moves the range around the byte `number`, which came last, to the front of the report.
    fn note_latest(&mut self, number: u64) {
        let Receiver { beyond, latest, .. } = self;
        let start_of = |number| beyond.around(number).map(|range| range.0);
        let first = start_of(number);
        latest.retain(|start| start_of(*start) == Some(*start) && first != Some(*start));
        latest.splice(..0, first);
    }

    /// Sends an acknowledgement.
    fn acknowledge(&mut self, cx: &mut HostCx<'_>) {
        let mut sack = [Block::default(); MAX_BLOCKS];
        if self.sack {
            let ranges = self.latest.iter().filter_map(|start| self.beyond.around(*start));
            let reported = ranges.map(|(start, end)| Block { start, end });
            let twice = self.twice.take().filter(|_| self.dsack);
            for (block, reported) in sack.iter_mut().zip(twice.into_iter().chain(reported)) {
                *block = reported;
            }
        }
        let segment = Segment {
            acknowledgement: self.next,
            window: self.window,
            echo: self.echo,
            ace: self.count.as_ref().map_or(0, Count::ace),
            sack,
            ..Segment::default()
        };
        cx.send(self.header, self.mark, Payload::Tcp(segment));
        (self.waiting, self.due) = (0, Time::NEVER);
    }

    /// Acknowledges the second segment at once, and a first one after `delay` at the latest.
    fn acknowledge_second(&mut self, cx: &mut HostCx<'_>) {
        self.waiting += 1;
        if self.waiting >= 2 {
            self.acknowledge(cx);
        } else {
            self.due = cx.now() + self.delay;
        }
    }
}

impl Endpoint for Receiver {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        if self.due <= cx.now() {
            self.acknowledge(cx);
        }
        self.due
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        let Payload::Tcp(segment) = payload else { return self.due };
        if segment.opens {
            let answer = Segment { opens: true, window: self.window, ..Segment::default() };
            cx.send(self.header, self.mark, Payload::Tcp(answer));
            return self.due;
        }
        let is_marked = self.ecn && packet.mark.ecn() == CE;
        let mut changes = false;
        if let Some(count) = &mut self.count {
            changes = count.came(is_marked);
        } else if self.echoes_each {
            changes = self.echo != is_marked;
            if changes && self.waiting > 0 {
                self.acknowledge(cx);
            }
            self.echo = is_marked;
        } else {
            // The mark of a packet with CWR is news of congestion after the reduction.
            self.echo &= !segment.reduced;
            self.echo |= is_marked;
        }
        let is_pushed = segment.pushes && self.answers_push;
        let may_wait = self.take(segment) && !changes && !is_pushed && self.quick == 0;
        if may_wait && self.delay > Span::ZERO {
            self.acknowledge_second(cx);
        } else {
            self.quick = self.quick.saturating_sub(1);
            self.acknowledge(cx);
        }
        self.due
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        self.due
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("delivered", self.next as f64);
    }

    fn counts(&self) -> Counts {
        Counts { delivered: Some(self.next), ..Counts::default() }
    }
}
