//! The ABR source: its allowed rate, and the order of its cells.

use super::cell::{Direction, RmCell, whole};
use crate::units::{Span, TICKS_PER_SECOND, Time};
use alloc::string::String;

/// The terms of a VC, agreed on at set-up (ATM TM 4.0, section 5.10.2). Rates are in bit/s of whole
/// cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceTerms {
    /// Peak cell rate, above zero.
    pub pcr: f64,
    /// Minimum cell rate, at most PCR.
    pub mcr: f64,
    /// Initial cell rate, from MCR to PCR.
    pub icr: f64,
    /// Rate increase factor, 0 to 1.
    pub rif: f64,
    /// Rate decrease factor, 0 to 1.
    pub rdf: f64,
    /// Cutoff decrease factor, 0 to 1.
    pub cdf: f64,
    /// In-rate cells per FRM cell, including the FRM cell; at least 2.
    pub nrm: u32,
    /// In-rate cells after which Trm may ask for an FRM cell.
    pub mrm: u32,
    /// Longest time between FRM cells of a source that sends.
    pub trm: Span,
    /// Number of unanswered FRM cells at which the rate is cut.
    pub crm: u32,
    /// ACR decrease time factor: the longest time between FRM cells for which a rate above ICR is
    /// kept.
    pub adtf: Span,
    /// Rate of out-of-rate FRM cells, TCR.
    pub tcr: f64,
    /// Rate above its actual rate that a source keeps (rule 13); `None` for all of it.
    pub headroom: Option<f64>,
    /// Bytes of a data cell.
    pub cell: u32,
    /// Bytes of an RM cell.
    pub rm_cell: u32,
}

/// The connection whose data go the other way on the VC of a connection, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackwardVc(pub String);

/// The source of a VC, or the virtual source of a segment: rules 1 to 10 and 13 of ATM TM 4.0,
/// section 5.10.4.
#[derive(Clone, Debug)]
pub struct Source {
    terms: SourceTerms,
    acr: f64,
    /// The time at which the latest in-rate FRM cell was sent.
    frm_sent: Option<Time>,
    /// In-rate cells since then, and the least ACR.
    since_frm: u32,
    least: f64,
    /// In-rate FRM cells since the latest BRM cell with BN = 0.
    unanswered: u32,
}

impl Source {
    /// A source at ICR (rule 2) that has sent nothing.
    pub fn new(terms: SourceTerms) -> Source {
        Source { terms, acr: terms.icr, frm_sent: None, since_frm: 0, least: terms.icr, unanswered: 0 }
    }

    /// The agreed terms.
    pub fn terms(&self) -> &SourceTerms {
        &self.terms
    }

    /// The allowed cell rate ACR in bit/s, from MCR to PCR.
    pub fn acr(&self) -> f64 {
        self.acr
    }

    /// In-rate FRM cells since the latest answer.
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Returns true if the next in-rate cell is an FRM cell (rules 2 and 3a).
    pub fn is_frm_next(&self, now: Time) -> bool {
        let Some(sent) = self.frm_sent else { return true };
        self.since_frm + 1 >= self.terms.nrm
            || (self.since_frm >= self.terms.mrm && now.since(sent) >= self.terms.trm)
    }

    /// Counts in-rate cells, other than FRM cells, that are sent.
    pub fn sent(&mut self, cells: u32) {
        self.since_frm = self.since_frm.saturating_add(cells);
    }

    /// Sends an in-rate FRM cell. The rate first falls to ICR if the previous one was sent more
    /// than ADTF ago (rule 5, use it or lose it), to what is used of it (rule 13), and by CDF if CRM
    /// or more are unanswered (rule 6); the cell then declares it (rule 7).
    pub fn send_frm(&mut self, now: Time) -> RmCell {
        let idle = self.frm_sent.is_some_and(|sent| now.since(sent) > self.terms.adtf);
        //= kalyanaraman1998 5.1
        if idle {
            self.acr = self.acr.min(self.terms.icr);
        }
        self.lose_unused(now);
        if self.unanswered >= self.terms.crm {
            self.set_acr(self.acr * (1.0 - self.terms.cdf));
        }
        (self.frm_sent, self.since_frm, self.least) = (Some(now), 0, self.acr);
        self.unanswered = self.unanswered.saturating_add(1);
        self.frm()
    }

    /// Rule 13: lowers ACR to the actual rate since the previous FRM cell and the headroom, but not
    /// below ICR, if ACR was higher than that all the time.
    fn lose_unused(&mut self, now: Time) {
        let Some((headroom, sent)) = self.terms.headroom.zip(self.frm_sent) else { return };
        let bytes = f64::from(self.since_frm) * f64::from(self.terms.cell) + f64::from(self.terms.rm_cell);
        let actual = bytes * 8.0 / now.since(sent).as_secs_f64();
        let kept = (actual + headroom).max(self.terms.icr);
        //= kalyanaraman1998 5.1
        if self.least > kept {
            self.set_acr(kept);
        }
    }

    /// An FRM cell with the current rate, out of rate (rule 10): nothing is counted.
    pub fn frm(&self) -> RmCell {
        RmCell {
            direction: Direction::Forward,
            ccr: whole(self.acr),
            er: whole(self.terms.pcr),
            mcr: whole(self.terms.mcr),
            ci: false,
            ni: false,
            bn: false,
        }
    }

    /// Processes a BRM cell that has arrived: the rate falls by RDF with CI, stays with NI, and
    /// rises by RIF·PCR otherwise (rule 8); it is then limited to ER (rule 9).
    pub fn answered(&mut self, brm: &RmCell) {
        if !brm.bn {
            self.unanswered = 0;
        }
        if brm.ci {
            //= kalyanaraman1998 1
            self.set_acr(self.acr * (1.0 - self.terms.rdf));
        } else if !brm.ni {
            self.set_acr(self.acr + self.terms.rif * self.terms.pcr);
        }
        self.lower_to(brm.er as f64);
    }

    /// Limits the rate to `er` bit/s, but not below MCR.
    pub fn lower_to(&mut self, er: f64) {
        self.set_acr(self.acr.min(er));
    }

    fn set_acr(&mut self, acr: f64) {
        self.acr = acr.min(self.terms.pcr).max(self.terms.mcr);
        self.least = self.least.min(self.acr);
    }
}

/// Departure times of in-rate cells: the interval between two of them is the time of the first at
/// ACR (rule 1). When ACR changes, the rest of that interval is measured anew, so that no more than
/// ∫ACR and one cell leave in any interval.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    next_at: Time,
    /// Length of the latest cell sent.
    len: u32,
}

impl Pace {
    /// A pace at which the first cell may leave at `start`.
    pub fn new(start: Time) -> Pace {
        Pace { next_at: start, len: 0 }
    }

    /// The time at which the next cell may leave; [`Time::NEVER`] at a rate of zero.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Records that a cell of `len` bytes leaves now, at ACR.
    pub fn sent(&mut self, now: Time, len: u32, acr: f64) {
        (self.next_at, self.len) = (now + time_for(len, acr), len);
    }

    /// Changes ACR from `before` to `acr`.
    pub fn change(&mut self, now: Time, before: f64, acr: f64) {
        if before == acr || self.next_at <= now {
            return;
        }
        let whole = time_for(self.len, acr);
        let left = self.next_at.since(now).ticks() as f64 * (before / acr);
        // At a rate near zero the time of a cell is beyond the clock's range, so the rest of it is
        // unknown.
        let is_known = self.next_at < Time::NEVER;
        self.next_at = match is_known && before > 0.0 && acr > 0.0 {
            true => now + Span::from_ticks(libm::ceil(left) as u64).min(whole),
            false => now + whole,
        };
    }
}

/// The time of `len` bytes at a rate, rounded up; [`Span::MAX`] at a rate of zero.
fn time_for(len: u32, rate: f64) -> Span {
    // A cast from f64 saturates, for infinity, too.
    Span::from_ticks(libm::ceil(f64::from(len) * 8.0 * TICKS_PER_SECOND as f64 / rate) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate near zero, at which the time of a cell is beyond the clock's range, gives no cell
    /// away.
    #[test]
    fn a_cell_time_beyond_the_clock_is_waited_for_anew() {
        let now = Time::ORIGIN + Span::from_secs(1);
        let mut pace = Pace::new(now);
        pace.sent(now, 53, 1e-9);
        assert_eq!(pace.next_at(), Time::NEVER);
        pace.change(now, 1e-9, 424.0);
        assert_eq!(pace.next_at(), now + Span::from_secs(1));
    }
}
