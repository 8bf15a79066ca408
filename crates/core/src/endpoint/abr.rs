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

mod frames;
mod receiver;
mod sender;

use super::application::Application;
use super::{Endpoint, EndpointSetup, Transport};
use crate::aal5;
use crate::abr::SourceTerms;
use crate::contract::Refused;
use crate::params::{
    Carry, Fault, NodeContext, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters,
};
use crate::units::{Rate, Span};
use alloc::boxed::Box;
use alloc::format;
use core::any::Any;
use frames::Frames;
use receiver::Receiver;
use sender::Sender;

parameters! {
    /// Parameters of ABR. Rates are of whole cells, headers included.
    #[derive(Copy)]
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
        /// Rate above its actual rate that a source may keep, down to `icr`: it loses the rest at
        /// its next RM cell (use it or lose it, rule 13); without it, it keeps all
        headroom: Option<Rate>,
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
            headroom: self.headroom.map(Rate::bits_per_second),
            cell: size,
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
            headroom: Rate::from_bits_per_second(50_000),
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
        let frames = self.params.frame.map(Frames::new);
        let life = (setup.start, setup.stop);
        Box::new(Sender::new(terms, life, (size, data), frames, application))
    }

    fn takes_data(&self) -> bool {
        true
    }

    fn receiver(&self, _: EndpointSetup, _: u32) -> Box<dyn Endpoint> {
        Box::new(Receiver::new(self.params.header, self.params.frame.is_some()))
    }

    fn largest_answer(&self) -> u32 {
        self.params.rm_cell
    }

    fn sends_cells(&self) -> bool {
        true
    }

    /// The terms are [`SourceTerms`].
    fn stage_terms(&self, link: Rate, size: u32) -> Option<Box<dyn Any>> {
        Some(Box::new(self.params.terms(link, size)))
    }
}
