//! Round trips that an acknowledgement tells in Linux: of segments that were sent once by the time of
//! transmission, of others by time stamps, which count ticks.

use crate::units::Span;

/// First and last round trip of some segments, in the order of bytes.
type Ends = Option<(Span, Span)>;

/// The round trips of one acknowledgement.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Those of segments that are acknowledged, were sent once, and had not been SACKed.
    acknowledged: Ends,
    /// Those of segments that are SACKed and were sent once.
    sacked: Ends,
    /// True if a segment that is acknowledged was sent again.
    is_again: bool,
    /// By the time stamp of the first segment that is acknowledged.
    stamped: Option<Span>,
}

impl Samples {
    /// Records a segment that is acknowledged; `stamped` is its round trip by time stamps, if
    /// they tell it.
    pub(super) fn acknowledged(
        &mut self,
        rtt: Span,
        stamped: Option<Span>,
        is_again: bool,
        was_sacked: bool,
    ) {
        self.is_again |= is_again;
        if !was_sacked {
            self.stamped = self.stamped.or(stamped);
            if !is_again {
                add(&mut self.acknowledged, rtt);
            }
        }
    }

    /// Records a segment that is SACKed.
    pub(super) fn sacked(&mut self, rtt: Span, is_again: bool) {
        if !is_again {
            add(&mut self.sacked, rtt);
        }
    }

    /// The round trips of the first and of the last segment. With one that was sent again, those of SACKed
    /// ones count, and without these the time stamp.
    pub(super) fn ends(&self) -> Ends {
        let acknowledged = self.acknowledged.filter(|_| !self.is_again);
        match (acknowledged, self.sacked) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (None, None) => self.stamped.map(|rtt| (rtt, rtt)),
            (one, other) => one.or(other),
        }
    }
}

fn add(ends: &mut Ends, rtt: Span) {
    *ends = Some((ends.map_or(rtt, |(first, _)| first), rtt));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    #[test]
    fn what_was_sent_again_counts_by_its_time_stamp_only() {
        let mut samples = Samples::default();
        assert_eq!(samples.ends(), None);
        samples.acknowledged(ms(40), Some(ms(39)), false, false);
        samples.acknowledged(ms(35), Some(ms(34)), false, false);
        assert_eq!(samples.ends(), Some((ms(40), ms(35))));
        samples.sacked(ms(31), false);
        samples.sacked(ms(30), true);
        assert_eq!(samples.ends(), Some((ms(40), ms(31))));
        // Karn's algorithm, and the SACKed segment has left once.
        samples.acknowledged(ms(20), Some(ms(19)), true, false);
        assert_eq!(samples.ends(), Some((ms(31), ms(31))));
        let mut samples = Samples::default();
        samples.acknowledged(ms(21), Some(ms(20)), true, false);
        samples.acknowledged(ms(50), Some(ms(50)), false, true);
        assert_eq!(samples.ends(), Some((ms(20), ms(20))));
    }
}
