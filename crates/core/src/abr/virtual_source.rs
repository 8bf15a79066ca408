//! A virtual source, which sends cells from a queue, and the ABR interface of a host.

use super::cell::RmCell;
use super::source::{Source, SourceTerms};
use crate::units::Time;

/// A source whose cells wait in a queue of the VC, which is served at ACR.
///
/// FRM cells wait in that queue, too: one before or behind the first data cell, and one behind
/// every Nrm − 1 data cells. Their declared values are written, and rules 5 and 6 are applied, when
/// they leave the queue. Mrm and Trm cause none. ACR does not fall below TCR, because an
/// out-of-rate cell could not overtake the queue.
#[derive(Clone, Debug)]
pub struct VirtualSource {
    source: Source,
    /// Data cells that entered the queue behind the latest FRM cell there; `None` before the first
    /// FRM cell.
    since_frm: Option<u32>,
}

impl VirtualSource {
    /// A source at ICR that has sent nothing.
    pub fn new(terms: SourceTerms) -> VirtualSource {
        let mcr = terms.mcr.max(terms.tcr).min(terms.pcr);
        let icr = terms.icr.min(terms.pcr).max(mcr);
        VirtualSource { source: Source::new(SourceTerms { icr, mcr, ..terms }), since_frm: None }
    }

    /// The terms that were agreed on.
    pub fn terms(&self) -> &SourceTerms {
        self.source.terms()
    }

    /// The allowed cell rate ACR in bit/s: the service rate of the queue.
    pub fn acr(&self) -> f64 {
        self.source.acr()
    }

    /// Counts a data cell that enters the queue. Returns true if an FRM cell must enter behind it.
    #[must_use]
    pub fn data_entered(&mut self) -> bool {
        let since = self.since_frm.map_or(0, |since| since + 1);
        //= kalyanaraman1998 2.2
        let is_due = self.since_frm.is_none() || since + 1 >= self.source.terms().nrm;
        self.since_frm = Some(if is_due { 0 } else { since });
        is_due
    }

    /// Returns true if the first FRM cell must enter the queue now: none has entered it yet.
    #[must_use]
    pub fn begins(&mut self) -> bool {
        let begins = self.since_frm.is_none();
        if begins {
            self.since_frm = Some(0);
        }
        begins
    }

    /// Sends an FRM cell from the queue; returns its contents ([`Source::send_frm`]). ACR may fall.
    #[must_use]
    pub fn send_frm(&mut self, now: Time) -> RmCell {
        // Its queue has an FRM cell behind every Nrm − 1 others.
        self.source.sent(self.source.terms().nrm - 1);
        self.source.send_frm(now)
    }

    /// Processes a BRM cell that has arrived ([`Source::answered`]).
    pub fn answered(&mut self, brm: &RmCell) {
        self.source.answered(brm);
    }

    /// Limits ACR to `er` bit/s from now on, but not below MCR.
    pub fn lower_to(&mut self, er: f64) {
        self.source.lower_to(er);
    }
}
