//! The receiving end: bytes in order, acknowledgements, SACK blocks (RFC 2018, section 4), D-SACK
//! blocks (RFC 2883) and the echo of congestion (RFC 3168, section 6.1.3).

mod acks;
mod autotuning;

use super::accurate_ecn::Count;
use super::params::{Autotuning, TcpParams, Timestamps};
use super::ranges::Ranges;
use super::segment::{Block, MAX_BLOCKS, Segment};
use crate::endpoint::{Counts, Endpoint, HostCx, Notice, Payload};
use crate::packet::{Mark, Packet};
use crate::params::MarkResponse;
use crate::units::Time;
use acks::Acks;
use alloc::boxed::Box;
use alloc::vec::Vec;
use autotuning::{TunedWindow, milliseconds};

pub(super) use autotuning::initial_window;

/// The codepoints of packets that are not ECN-capable, and that met congestion (CE).
const NOT_ECT: u8 = 0b00;
const CE: u8 = 0b11;
/// Acknowledgements that Linux does not delay after a first mark, and after a segment that is not
/// ECN-capable where others were.
const QUICK_AT_MARKS: u32 = 2;

/// The place of a segment among those that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// All its data are there already.
    Old,
    /// Data are missing before it, and so many of its bytes are new.
    Beyond(u64),
    /// In order; others still wait behind a gap.
    BeforeGap,
    /// In order; it fills the last gap.
    FillsGap,
    /// In order, and nothing is missing.
    InOrder,
}

/// The end that receives data. Its application reads at once: without autotuning the advertised
/// window is always the full one.
#[derive(Debug)]
pub(super) struct Receiver {
    header: u32,
    window: u32,
    sack: bool,
    dsack: bool,
    ecn: bool,
    acks: Acks,
    /// The window, where it is tuned.
    tuning: Option<Box<TunedWindow>>,
    /// True if segments bring time stamps back.
    has_timestamps: bool,
    /// True once an ECN-capable segment has come.
    has_met_capable: bool,
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
    /// Bytes beyond `next` that have arrived.
    out_of_order: u64,
    /// True while acknowledgements carry ECN-Echo.
    echo: bool,
    /// The mark of acknowledgements.
    mark: Mark,
}

impl Receiver {
    /// A receiver of packets of at most `size` bytes.
    pub(super) fn new(params: &TcpParams, size: u32) -> Receiver {
        let mss = u64::from(params.segment_size(size));
        let tuning = (params.autotuning == Autotuning::On)
            .then(|| Box::new(TunedWindow::new(mss, params.receiver_window)));
        Receiver {
            header: params.header,
            window: params.receiver_window,
            sack: params.recovery.uses_sack(),
            dsack: params.recovery.uses_dsack(),
            ecn: params.negotiates_ecn(),
            acks: Acks::new(params),
            tuning,
            has_timestamps: params.timestamps == Timestamps::On,
            has_met_capable: false,
            echoes_each: params.congestion.mark_response() == MarkResponse::Share,
            count: params.counts_marks().then(Count::new),
            next: 0,
            beyond: Ranges::default(),
            latest: Vec::new(),
            twice: None,
            out_of_order: 0,
            echo: false,
            mark: if params.marks_all() { params.capable() } else { Mark::NONE },
        }
    }

    /// Takes the data of a segment.
    fn take(&mut self, segment: &Segment) -> Arrival {
        let came = Block { start: segment.sequence, end: segment.end() };
        if segment.sequence > self.next {
            let new = self.beyond.insert(came.start, came.end);
            if new == 0 {
                self.twice = Some(came);
            }
            self.out_of_order += new;
            self.note_latest(segment.sequence);
            return Arrival::Beyond(new);
        }
        if segment.end() <= self.next {
            self.twice = Some(came);
            return Arrival::Old;
        }
        self.next = segment.end();
        if self.beyond.is_empty() {
            return Arrival::InOrder;
        }
        if let Some((_, end)) = self.beyond.around(self.next) {
            self.next = end;
        }
        self.out_of_order -= self.beyond.bytes_below(self.next);
        self.beyond.remove_below(self.next);
        self.latest.retain(|start| *start > self.next);
        if self.beyond.is_empty() { Arrival::FillsGap } else { Arrival::BeforeGap }
    }

    /// Moves the range around the byte `number`, which came last, to the front of the report.
    fn note_latest(&mut self, number: u64) {
        let Receiver { beyond, latest, .. } = self;
        let start_of = |number| beyond.around(number).map(|range| range.0);
        let first = start_of(number);
        latest.retain(|start| start_of(*start) == Some(*start) && first != Some(*start));
        latest.splice(..0, first);
    }

    /// Returns true if a segment behind a gap is reported by none of the first two blocks: Linux then
    /// sends what it holds back first.
    fn needs_a_third_block(&self, segment: &Segment) -> bool {
        let touches = |start: &u64| {
            let range = self.beyond.around(*start);
            range.is_some_and(|(start, end)| segment.sequence <= end && start <= segment.end())
        };
        segment.sequence > self.next && self.latest.len() >= 2 && !self.latest.iter().take(2).any(touches)
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
            window: self.offered(),
            stamp: self.stamp(cx.now()),
            echo: self.echo,
            ace: self.count.as_ref().map_or(0, Count::ace),
            sack,
            ..Segment::default()
        };
        cx.send(self.header, self.mark, Payload::Tcp(segment));
        self.acks.sent();
    }

    /// The time stamp of an acknowledgement; 0 without time stamps.
    fn stamp(&self, now: Time) -> u16 {
        if self.has_timestamps { milliseconds(now) } else { 0 }
    }

    /// The window to advertise.
    fn offered(&mut self) -> u32 {
        let Receiver { window, tuning, next, out_of_order, .. } = self;
        tuning.as_mut().map_or(*window, |tuning| tuning.offer(*next, *out_of_order))
    }

    /// Does not delay the next acknowledgements, at most half a window of them, as Linux does at the
    /// start and after trouble.
    fn hurry(&mut self, most: u32) {
        let of_window = self.tuning.as_ref().map_or(u32::MAX, |tuning| tuning.quick(self.next));
        self.acks.hurry(most.min(of_window));
    }

    /// Reads the mark of a segment. Returns true if it is acknowledged at once for the mark's sake.
    fn read_mark(&mut self, cx: &mut HostCx<'_>, segment: &Segment, ecn: u8) -> bool {
        if !self.ecn {
            return false;
        }
        let is_marked = ecn == CE;
        if ecn == NOT_ECT && self.has_met_capable {
            self.hurry(QUICK_AT_MARKS);
        }
        self.has_met_capable |= ecn != NOT_ECT;
        if let Some(count) = &mut self.count {
            return count.came(is_marked);
        }
        if self.echoes_each {
            let changes = self.echo != is_marked;
            if changes && self.acks.waits() {
                self.acknowledge(cx);
            }
            self.echo = is_marked;
            return changes || (segment.reduced && self.acks.can_hurry());
        }
        // The mark of a packet with CWR is news of congestion after the reduction.
        self.echo &= !segment.reduced;
        if is_marked && !self.echo {
            self.hurry(QUICK_AT_MARKS);
            self.echo = true;
        }
        segment.reduced && self.acks.can_hurry()
    }

    /// Returns true if a segment that has come is acknowledged at once.
    fn answers_at_once(&mut self, now: Time, segment: &Segment, arrival: Arrival) -> bool {
        let round_trip = self.tuning.as_ref().and_then(|tuning| tuning.round_trip());
        let pushes = segment.pushes && !matches!(arrival, Arrival::Beyond(_));
        match arrival {
            Arrival::Old | Arrival::FillsGap => true,
            _ if self.acks.is_urgent(pushes) => true,
            Arrival::Beyond(_) => self.acks.is_duplicate(now, self.next, round_trip),
            Arrival::BeforeGap => self.acks.is_second() || self.acks.is_duplicate(now, self.next, round_trip),
            Arrival::InOrder => {
                let is_second = self.acks.is_second();
                if !is_second {
                    self.acks.delay(now);
                }
                is_second
            }
        }
    }

    /// Adapts window and quick acknowledgements to a segment that has come, before which `waited` bytes
    /// waited behind a gap.
    fn adapt(&mut self, now: Time, segment: &Segment, arrival: Arrival, waited: u64) {
        let opens = match arrival {
            Arrival::Old => {
                self.hurry(u32::MAX);
                false
            }
            Arrival::Beyond(new) => {
                let tuning = self.tuning.as_mut().filter(|_| self.sack && new > 0);
                tuning.is_some_and(|tuning| tuning.arrived_beyond(segment.length, waited))
            }
            Arrival::BeforeGap | Arrival::FillsGap | Arrival::InOrder => {
                if self.acks.begins(now) {
                    self.hurry(u32::MAX);
                }
                let tuning = self.tuning.as_mut();
                tuning.is_some_and(|tuning| tuning.arrived(now, segment.end(), segment.length, waited))
            }
        };
        if opens {
            self.acks.hurry_one();
        }
    }
}

impl Endpoint for Receiver {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        if self.acks.due() <= cx.now() {
            self.acknowledge(cx);
        }
        self.acks.due()
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        let Payload::Tcp(segment) = payload else { return self.acks.due() };
        let now = cx.now();
        if segment.opens {
            let (window, stamp) = (self.offered(), self.stamp(now));
            let answer = Segment { opens: true, window, stamp, ..Segment::default() };
            cx.send(self.header, self.mark, Payload::Tcp(answer));
            self.acks.opened(now);
            return self.acks.due();
        }
        if segment.length == 0 {
            // It acknowledges the answer above.
            return self.acks.due();
        }
        if let Some(tuning) = &mut self.tuning
            && self.has_timestamps
        {
            tuning.stamped(now, segment.stamp, segment.length);
        }
        if self.acks.holds() && self.needs_a_third_block(segment) {
            self.acknowledge(cx);
        }
        let is_urgent = self.read_mark(cx, segment, packet.mark.ecn());
        let waited = self.out_of_order;
        let arrival = self.take(segment);
        self.adapt(now, segment, arrival, waited);
        if self.answers_at_once(now, segment, arrival) || is_urgent {
            self.acknowledge(cx);
        }
        if let Some(tuning) = &mut self.tuning
            && !matches!(arrival, Arrival::Old | Arrival::Beyond(_))
        {
            tuning.read(now, segment.end());
        }
        self.acks.due()
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        self.acks.due()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("delivered", self.next as f64);
    }

    fn counts(&self) -> Counts {
        Counts { delivered: Some(self.next), ..Counts::default() }
    }
}
