//! ABR: a source that sends at the rate that the network allows it (ATM TM 4.0, section 5.10), and
//! the destination that turns its RM cells round.
//!
//! # Choices where TM 4.0 is silent
//!
//! - A source without data sends nothing, RM cells included.
//! - Nothing is acknowledged: a finite transfer has ended when its last cell is sent.
//! - The last cell of the data that an application hands over is as long as the others.
//! - With AAL5 a packet holds the data that wait when its first cell is sent, at most `frame`
//!   bytes; later data are in the next packet.
//! - An out-of-rate FRM cell has CLP = 1, which is red, and is sent only while ACR is below TCR.

use super::application::Application;
use super::transfers::Transfer;
use super::{Counts, Endpoint, EndpointSetup, HostCx, Notice, Payload, Transport};
use crate::aal5::{self, Cell, Reassembled, Reassembly, Segmentation};
use crate::abr::cell::{Direction, RmCell};
use crate::abr::{Destination, Pace, Source, SourceTerms};
use crate::contract::Refused;
use crate::packet::{Colour, Mark, Packet};
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Rate, Span, TICKS_PER_SECOND, Time};

parameters! {
    /// Parameters of ABR. Rates are of whole cells, headers included.
    pub struct AbrParams {
        /// Peak cell rate; without it, the rate of the first link
        pcr: Option<Rate>,
        /// Minimum cell rate, at most `pcr`; without it, 0
        mcr: Option<Rate>,
        /// Initial cell rate, from `mcr` to `pcr`; without it, `pcr`
        icr: Option<Rate>,
        /// Rate increase factor: share of `pcr` by which an RM cell may raise the rate
        rif: f64 = 0.0625,
        /// Rate decrease factor: share of the rate by which an RM cell with CI lowers it
        rdf: f64 = 0.0625,
        /// Cutoff decrease factor: share of the rate by which each RM cell lowers it while `crm` RM
        /// cells are unanswered
        cdf: f64 = 0.0625,
        /// In-rate cells per RM cell, including the RM cell
        nrm: u32 as Integer(2, 256) = 32,
        /// Least number of in-rate cells between RM cells that `trm` causes
        mrm: u32 as Integer(2, 256) = 2,
        /// Longest time between RM cells of a source that sends
        trm: Span = Span::from_millis(100),
        /// Number of unanswered RM cells at which the rate is cut: TBE / Nrm
        crm: u32 as Integer(1, 16_777_215) = 524_288,
        /// Time without an RM cell after which a rate above `icr` falls to `icr` (use it or lose
        /// it)
        adtf: Span = Span::from_millis(500),
        /// Out-of-rate RM cells per second while the cell rate is below this
        tcr: u32 as Integer(1, 1_000_000) = 10,
        /// Size of an RM cell, at most `size`
        rm_cell: u32 as Size = 53,
        /// Header of a cell: data are `size` less this
        header: u32 as Size = 5,
        /// Longest packet of AAL5, at most 65,535 bytes: data go in frames of whole cells with a
        /// trailer of 8 bytes, and a packet counts as delivered when all of its cells are; without
        /// it, data fill cells and each counts for itself
        frame: Option<u32> as Size,
    }
}

/// Keys of a VC with data of its own. A VC that carries the cells of a connection has the others
/// ([`VirtualSource`]).
///
/// [`VirtualSource`]: crate::abr::VirtualSource
pub const OF_OWN_DATA: &[&str] = &["mrm", "trm", "rm_cell", "header", "frame"];

impl AbrParams {
    /// The terms of a VC with cells of `size` bytes whose first link has this rate.
    pub fn terms(&self, link: Rate, size: u32) -> SourceTerms {
        let pcr = self.pcr.unwrap_or(link).bits_per_second();
        SourceTerms {
            pcr,
            mcr: self.mcr.map_or(0.0, Rate::bits_per_second).min(pcr),
            icr: self.icr.map_or(pcr, Rate::bits_per_second).min(pcr),
            rif: self.rif,
            rdf: self.rdf,
            cdf: self.cdf,
            nrm: self.nrm,
            mrm: self.mrm,
            trm: self.trm,
            crm: self.crm,
            adtf: self.adtf,
            tcr: f64::from(self.tcr) * f64::from(size) * 8.0,
            rm_cell: self.rm_cell,
        }
    }
}

impl PolicyParams for AbrParams {
    type Policy = Abr;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "abr",
        title: "ABR",
        role: Role::Transport { responsive: true },
        help: "Sends cells at the rate that the network allows, and requests that rate with one RM cell in \
               every `nrm` cells. The ports on the route need a switch algorithm, or the rate never \
               changes.",
        source: "ATM TM 4.0, sections 5.10.2 to 5.10.5",
        params: AbrParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Abr, Refused> {
        Ok(Abr { params: *self })
    }

    fn example() -> AbrParams {
        AbrParams {
            pcr: Rate::from_bits_per_second(900_000),
            mcr: Rate::from_bits_per_second(10_000),
            icr: Rate::from_bits_per_second(200_000),
            rif: 1.0,
            rdf: 0.125,
            cdf: 0.125,
            nrm: 16,
            mrm: 3,
            trm: Span::from_millis(50),
            crm: 32,
            adtf: Span::from_millis(200),
            tcr: 20,
            rm_cell: 53,
            header: 5,
            frame: Some(1500),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let above = |key, what: &str| Err(Fault::at(key, format!("`{key}` is above `{what}`")));
        let over =
            |one: Option<Rate>, other: Option<Rate>| one.zip(other).is_some_and(|(one, other)| one > other);
        if over(self.mcr, self.pcr) {
            return above("mcr", "pcr");
        }
        if over(self.icr, self.pcr) {
            return above("icr", "pcr");
        }
        if over(self.mcr, self.icr) {
            return above("mcr", "icr");
        }
        if let Some(frame) = self.frame.filter(|frame| *frame > aal5::LONGEST) {
            let message =
                format!("`frame` ({frame}B) is above {}B, the longest packet of AAL5", aal5::LONGEST);
            return Err(Fault::at("frame", message));
        }
        Ok(())
    }

    /// Checks that a cell holds data, RM cells are no longer, and a source is no faster than its
    /// link.
    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let Some(largest) = node.members.iter().map(|member| member.largest).max() else { return Ok(()) };
        if largest <= self.header {
            let message = format!(
                "`header` ({}B) leaves no room for data in a cell of `size` ({largest}B)",
                self.header
            );
            return Err(Fault::at("header", message));
        }
        if largest < self.rm_cell {
            let message =
                format!("`rm_cell` ({}B) is longer than a cell of `size` ({largest}B)", self.rm_cell);
            return Err(Fault::at("rm_cell", message));
        }
        for (key, rate) in [("pcr", self.pcr), ("icr", self.icr), ("mcr", self.mcr)] {
            if rate.is_some_and(|rate| rate > node.link) {
                return Err(Fault::at(
                    key,
                    format!("`{key}` is above the rate of the first link ({:?})", node.link),
                ));
            }
        }
        Ok(())
    }
}

/// ABR, as [`AbrParams`] describes it.
#[derive(Clone, Copy, Debug)]
pub struct Abr {
    params: AbrParams,
}

impl Transport for Abr {
    fn sender(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        let terms = self.params.terms(setup.rate, size);
        let data = size.saturating_sub(self.params.header).max(1);
        let application = setup.data.map(|data_of| Application::new(data_of, data, setup.start, setup.rng));
        Box::new(Sender {
            source: Source::new(terms),
            pace: Pace::new(setup.start),
            size,
            data,
            frames: self.params.frame.map(|longest| Frames { longest, packets: 0, segmentation: None }),
            stop: setup.stop,
            waiting: if application.is_some() { 0 } else { u64::MAX },
            application,
            out_of_rate_at: setup.start,
        })
    }

    fn takes_data(&self) -> bool {
        true
    }

    fn receiver(&self, _: EndpointSetup) -> Box<dyn Endpoint> {
        Box::new(Receiver {
            destination: Destination::default(),
            header: self.params.header,
            has_frames: self.params.frame.is_some(),
            reassembly: None,
            delivered: 0,
        })
    }

    fn largest_answer(&self) -> u32 {
        self.params.rm_cell
    }

    fn source_terms(&self, link: Rate, size: u32) -> Option<SourceTerms> {
        Some(self.params.terms(link, size))
    }
}

/// The packets of AAL5 that a sender makes.
#[derive(Debug)]
struct Frames {
    /// Bytes of the longest packet.
    longest: u32,
    /// Packets that have begun; it wraps.
    packets: u32,
    /// The packet that is being sent.
    segmentation: Option<Segmentation>,
}

impl Frames {
    /// The next cell with `payload` bytes: a cell of the packet that is being sent, or of a new
    /// packet of the `waiting` bytes, more than 0.
    fn next(&mut self, waiting: u64, payload: u32) -> Cell {
        if let Some(cell) = self.segmentation.as_mut().and_then(Segmentation::next) {
            return cell;
        }
        self.packets = self.packets.wrapping_add(1);
        let len = waiting.min(u64::from(self.longest)) as u32;
        let mut segmentation = Segmentation::new(self.packets, len, payload);
        // A packet has at least the cell of its trailer.
        let first = segmentation.next().unwrap_or(Cell { packet: self.packets, trailer: Some(len) });
        self.segmentation = Some(segmentation);
        first
    }
}

/// A cell of AAL5 as the words of a payload.
fn words_of(cell: Cell) -> [u64; 3] {
    [u64::from(cell.packet), cell.trailer.map_or(0, |len| u64::from(len) + 1), 0]
}

/// From the words of a payload.
fn cell_of([packet, trailer, _]: [u64; 3]) -> Cell {
    Cell { packet: packet as u32, trailer: trailer.checked_sub(1).map(|len| len as u32) }
}

/// The sending end.
#[derive(Debug)]
struct Sender {
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
    application: Option<Application>,
    /// Time from which an out-of-rate FRM cell may be sent.
    out_of_rate_at: Time,
}

impl Sender {
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
            self.source.sent();
            if self.waiting != u64::MAX {
                self.waiting -= bytes;
            }
            if self.waiting == 0
                && let Some(application) = &mut self.application
            {
                application.acknowledged(now);
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
        self.out_of_rate_at = now + Span::from_ticks(between.ceil() as u64);
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
        self.application.as_ref().map_or(&[], Application::done)
    }
}

/// The receiving end.
#[derive(Debug)]
struct Receiver {
    destination: Destination,
    header: u32,
    /// True if cells carry packets of AAL5.
    has_frames: bool,
    /// Reassembly of packets, from the first cell on.
    reassembly: Option<Reassembly>,
    delivered: u64,
}

impl Endpoint for Receiver {
    fn wake(&mut self, _: &mut HostCx<'_>) -> Time {
        Time::NEVER
    }

    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        match payload {
            Payload::Rm(frm) => {
                cx.send(packet.len, Mark::NONE, Payload::Rm(self.destination.turn_round(frm)))
            }
            data => {
                self.destination.data(packet.mark);
                let room = packet.len.saturating_sub(self.header).max(1);
                self.delivered += match data {
                    Payload::Words(words) if self.has_frames => {
                        let reassembly = self.reassembly.get_or_insert_with(|| Reassembly::new(room));
                        match reassembly.take(cell_of(*words), false) {
                            Reassembled::Packet { len, .. } => u64::from(len),
                            Reassembled::Incomplete | Reassembled::Discarded { .. } => 0,
                        }
                    }
                    Payload::Words([bytes, ..]) => *bytes,
                    _ => u64::from(room),
                };
            }
        }
        Time::NEVER
    }

    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        Time::NEVER
    }

    fn counts(&self) -> Counts {
        Counts { delivered: Some(self.delivered), ..Counts::default() }
    }
}
