//! The reordering window (RFC 8985, section 6.2, step 4): the time for which a segment may be
//! overtaken before it counts as lost.

use crate::endpoint::tcp::scoreboard::DUP_THRESH;
use crate::units::Span;

/// Recoveries for which a wider window is kept (RACK.reo_wnd_persist).
const PERSIST: u32 = 16;

/// Knowledge of reordering on the path.
#[derive(Debug)]
pub(in crate::endpoint::tcp) struct Reordering {
    /// RACK.reordering_seen.
    was_seen: bool,
    /// RACK.reo_wnd_mult, in quarters of the least round trip.
    quarters: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round: no D-SACK widens the window until the bytes before this one are
    /// acknowledged.
    round: Option<u64>,
}

impl Default for Reordering {
    fn default() -> Reordering {
        Reordering { was_seen: false, quarters: 1, persist: PERSIST, round: None }
    }
}

impl Reordering {
    /// Records the arrival of a segment that was overtaken (step 3).
    pub(in crate::endpoint::tcp) fn seen(&mut self) {
        self.was_seen = true;
    }

    /// Adapts to an acknowledgement of the bytes before `una`, with a D-SACK or without one, when
    /// the bytes before `max` had been sent. `has_recovered` is true if it ends a recovery.
    pub(in crate::endpoint::tcp) fn adapt(
        &mut self,
        una: u64,
        max: u64,
        is_dsack: bool,
        has_recovered: bool,
    ) {
        self.round = self.round.filter(|round| una < *round);
        if is_dsack && self.round.is_none() {
            self.round = Some(max);
            self.quarters += 1;
            self.persist = PERSIST;
        } else if has_recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// RACK.reo_wnd.
    pub(super) fn window(&self, min_rtt: Span, srtt: Span, sacked: u32, is_recovering: bool) -> Span {
        if !self.was_seen && (is_recovering || sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        Span::from_ticks(min_rtt.ticks().saturating_mul(self.quarters.into()) / 4).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(40);
    const SRTT: Span = Span::from_millis(100);

    fn quarters(reordering: &Reordering) -> u64 {
        reordering.window(RTT, Span::from_secs(60), 0, false).ticks() / Span::from_millis(10).ticks()
    }

    /// Without reordering, three SACKed segments or a recovery show a loss at once.
    #[test]
    fn the_window_is_zero_until_reordering_was_seen() {
        let mut reordering = Reordering::default();
        let windows = |it: &Reordering| {
            [(0, false), (2, false), (3, false), (0, true)]
                .map(|(sacked, is)| it.window(RTT, SRTT, sacked, is))
        };
        let quarter = Span::from_millis(10);
        assert_eq!(windows(&reordering), [quarter, quarter, Span::ZERO, Span::ZERO]);
        reordering.seen();
        assert_eq!(windows(&reordering), [quarter; 4]);
    }

    /// Each round trip with a D-SACK adds a quarter, up to SRTT in all; 16 recoveries without one
    /// take them back.
    #[test]
    fn a_dsack_in_a_round_trip_widens_the_window_for_sixteen_recoveries() {
        let mut reordering = Reordering::default();
        reordering.adapt(0, 100, true, false);
        reordering.adapt(99, 200, true, false);
        assert_eq!(quarters(&reordering), 2);
        reordering.adapt(100, 300, true, true);
        assert_eq!(quarters(&reordering), 3);
        (0..15).for_each(|_| reordering.adapt(400, 500, false, true));
        assert_eq!(quarters(&reordering), 3);
        reordering.adapt(400, 500, true, true);
        assert_eq!(quarters(&reordering), 4);
        (0..15).for_each(|_| reordering.adapt(600, 700, false, true));
        assert_eq!(quarters(&reordering), 4);
        reordering.adapt(600, 700, false, true);
        assert_eq!(quarters(&reordering), 1);
        for round in 1..100 {
            reordering.adapt(1000 * round, 1000 * (round + 1), true, false);
        }
        assert_eq!(reordering.window(RTT, SRTT, 0, false), SRTT);
    }
}
