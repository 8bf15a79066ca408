//! The tail loss probe (RFC 8985, section 7).

use crate::endpoint::tcp::RackForm;
use crate::endpoint::tcp::expiry::Expiry;
use crate::endpoint::tcp::segment::Block;
use crate::units::{Span, Time};

/// PTO before a round trip was measured (section 7.2).
const FIRST: Span = Span::from_secs(1);

/// The probe timer, and the probe that is under way.
#[derive(Debug)]
pub(in crate::endpoint::tcp) struct Probe {
    expiry: Expiry,
    /// TLP.max_ack_delay.
    longest_ack_delay: Span,
    /// Time at which the probe timer expires; [`Time::NEVER`] while it is off.
    due: Time,
    /// End of the data sent up to the probe (TLP.end_seq); `None` without a probe under way.
    end: Option<u64>,
    /// True if the probe sent data again (TLP.is_retrans).
    again: bool,
    /// True if a round trip was measured since the last probe, or else since the start.
    has_measured: bool,
}

impl Probe {
    pub(super) fn new(expiry: Expiry, longest_ack_delay: Span) -> Probe {
        let (due, end) = (Time::NEVER, None);
        Probe { expiry, longest_ack_delay, due, end, again: false, has_measured: false }
    }

    /// Time at which the probe timer expires; [`Time::NEVER`] while it is off.
    pub(in crate::endpoint::tcp) fn due(&self) -> Time {
        self.due
    }

    /// Returns true while a probe is under way.
    pub(in crate::endpoint::tcp) fn is_under_way(&self) -> bool {
        self.end.is_some()
    }

    /// Starts the timer: TLP_calc_PTO() (section 7.2). It does not run while a probe is under way,
    /// and before a round trip was measured after the last one (section 7.3); in Linux it runs then, too,
    /// and sends nothing. The retransmission timeout is over at `timeout`.
    pub(in crate::endpoint::tcp) fn start(
        &mut self,
        now: Time,
        srtt: Option<Span>,
        is_single: bool,
        timeout: Time,
    ) {
        self.stop();
        if self.expiry.form == RackForm::Linux || self.end.is_none() && self.has_measured {
            let delay = if is_single { self.longest_ack_delay } else { self.expiry.slack };
            let pto = srtt.map_or(FIRST, |srtt| srtt + srtt + delay);
            self.due = match timeout > now {
                true => self.expiry.after(now, pto.min(timeout.since(now))),
                false => timeout,
            };
        }
    }

    pub(in crate::endpoint::tcp) fn stop(&mut self) {
        self.due = Time::NEVER;
    }

    /// Records a probe, sent after or with the bytes before `end`.
    pub(in crate::endpoint::tcp) fn sent(&mut self, end: u64, again: bool) {
        self.stop();
        (self.end, self.again, self.has_measured) = (Some(end), again, false);
    }

    /// Records that a round trip was measured.
    pub(super) fn measured(&mut self) {
        self.has_measured = true;
    }

    /// Ends the probe under way: acknowledgements no longer tell about it.
    pub(super) fn ends(&mut self) {
        self.end = None;
    }

    /// TLP_process_ack() (section 7.4.2): the bytes before `una` are acknowledged, and `dsack` has
    /// come a second time. Returns true if the probe has repaired a loss.
    pub(in crate::endpoint::tcp) fn acknowledged(&mut self, una: u64, dsack: Option<Block>) -> bool {
        let Some(end) = self.end.filter(|end| una >= *end) else { return false };
        let was_needless = dsack.is_some_and(|block| block.end == end);
        let has_repaired = self.again && !was_needless && una > end;
        if !self.again || was_needless || has_repaired {
            self.end = None;
        }
        has_repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Expiry = Expiry { form: RackForm::Rfc, slack: Span::ZERO, tick: Span::ZERO };

    /// Section 7.4.2, case by case: the probe ended at byte 800.
    #[test]
    fn only_a_repair_is_reported_and_only_once() {
        let block = |start, end| Some(Block { start, end });
        for (again, una, dsack, has_repaired, goes_on) in [
            (true, 700, None, false, true),
            (true, 800, None, false, true),
            (true, 800, block(100, 200), false, true),
            (true, 800, block(700, 800), false, false),
            // The D-SACK comes with the acknowledgement of later data that had been delayed.
            (true, 900, block(700, 800), false, false),
            (true, 900, block(100, 200), true, false),
            (true, 900, None, true, false),
            (false, 700, None, false, true),
            (false, 800, None, false, false),
            (false, 900, None, false, false),
        ] {
            let mut probe = Probe::new(EXACT, Span::ZERO);
            probe.sent(800, again);
            assert_eq!(probe.acknowledged(una, dsack), has_repaired, "{again} {una} {dsack:?}");
            assert_eq!(probe.end.is_some(), goes_on, "{again} {una} {dsack:?}");
            assert!(goes_on || !probe.acknowledged(1000, None));
        }
    }
}
