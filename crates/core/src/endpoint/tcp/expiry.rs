//! The times at which timers expire: Linux counts them in ticks, and in coarser ones the longer they run.

use super::{RackForm, TcpParams};
use crate::units::{Span, Time};

/// Bits by which the ticks of one level of Linux's timer wheel are coarser than those of the one before.
const LEVEL: u32 = 3;
/// Ticks up to which the first level reaches; those of the next ones are as many of their own.
const REACH: u64 = 63;
/// The last level.
const LAST: u32 = 8;
/// A step of the last level, in ticks: all others divide it.
const TURN: u64 = 1 << (LEVEL * LAST);
/// Time by which Linux begins to count before its ticks pass 0, which decides where steps are
/// (`INITIAL_JIFFIES`).
const BEFORE: Span = Span::from_secs(300);

/// The clock of a host's timers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    pub(super) form: RackForm,
    /// Time by which the reordering and the probe timer expire later than RFC 8985 asks for.
    pub(super) slack: Span,
    /// A tick of the clock.
    pub(super) tick: Span,
}

impl Expiry {
    pub(super) fn new(params: &TcpParams) -> Expiry {
        Expiry { form: params.rack_form, slack: params.timer_slack, tick: params.granularity }
    }

    /// The time at which a timer expires that starts now and runs for `span`: in Linux at the next step of
    /// its level after as many whole ticks, counted from the last tick.
    pub(super) fn after(self, now: Time, span: Span) -> Time {
        match self.form {
            RackForm::Rfc => now + span,
            RackForm::Linux => {
                let tick = self.tick.ticks().max(1);
                let ticks = span.ticks().div_ceil(tick);
                let level = (0..LAST).find(|level| ticks < REACH << (LEVEL * level)).unwrap_or(LAST);
                let begun = TURN - BEFORE.ticks() / tick % TURN;
                let at = begun + now.since(Time::ORIGIN).ticks() / tick + ticks;
                let step = LEVEL * level;
                let due = (((at >> step) + 1) << step) - begun;
                Time::ORIGIN + Span::from_ticks(due.saturating_mul(tick))
            }
        }
    }

    /// The round trip of a segment by its time stamp: the ticks between, at least one.
    pub(super) fn ticks_between(self, sent: Time, now: Time) -> Span {
        let tick = self.tick.ticks().max(1);
        let reading = |at: Time| at.since(Time::ORIGIN).ticks() / tick;
        Span::from_ticks((reading(now) - reading(sent)).max(1) * tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from calc_wheel_index(), with a tick of 1 ms.
    #[test]
    fn longer_timers_expire_at_coarser_steps() {
        let at = |microseconds| Time::ORIGIN + Span::from_micros(microseconds);
        let (slack, tick) = (Span::ZERO, Span::from_millis(1));
        for (form, now, span, expected) in [
            (RackForm::Rfc, 1_300, 2_500, 3_800),
            (RackForm::Linux, 1_300, 2_500, 5_000),
            (RackForm::Linux, 1_999, 3_000, 5_000),
            (RackForm::Linux, 2_000, 3_000, 6_000),
            (RackForm::Linux, 2_000, 3_001, 7_000),
            (RackForm::Linux, 0, 62_000, 63_000),
            (RackForm::Linux, 0, 63_000, 64_000),
            (RackForm::Linux, 0, 64_000, 72_000),
            (RackForm::Linux, 5_000, 200_000, 208_000),
            (RackForm::Linux, 0, 503_000, 504_000),
            // Steps of 64 ms are 32 ms after whole multiples, those of 512 ms 480 ms.
            (RackForm::Linux, 0, 504_000, 544_000),
            (RackForm::Linux, 50_000, 1_000_000, 1_056_000),
            (RackForm::Linux, 60_000, 1_000_000, 1_120_000),
            (RackForm::Linux, 0, 4_032_000, 4_064_000),
        ] {
            let expiry = Expiry { form, slack, tick };
            assert_eq!(expiry.after(at(now), Span::from_micros(span)), at(expected), "{form:?} {now} {span}");
        }
    }
}
