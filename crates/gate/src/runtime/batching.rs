//! Batching: the time that a due frame may wait for the frames behind it.
//!
//! Waking up costs more than sending a frame. Where frames leave so often that waking up for each
//! would take an eighth of a core or more, frames that wait in a queue anyway are sent together, a
//! little late. At lower rates, and where nothing waits, every frame leaves when it is due.

use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

/// Frames are sent together when their mean interval over a window is shorter than this: 5000
/// wake-ups a second take an eighth of a core.
const OFTEN: Span = Span::from_micros(200);
/// Frames are sent one by one when fewer bytes leave in a window, 10 Mbit/s: at that rate, each
/// further frame takes long to send.
const MIN_BYTES: u64 = 12_500;
/// Length of the sleep: together with waking up and reading, less than 1 ms passes between two
/// frames.
const SLEEP: Span = Span::from_micros(700);
/// Period over which departures are counted.
const WINDOW: Span = Span::from_millis(10);

/// Recent rate of departures.
pub(super) struct Batching {
    window_start: Time,
    /// Departures before the window.
    before: Count,
    /// True if frames left often in the previous window.
    often: bool,
}

impl Batching {
    pub(super) fn new(now: Time) -> Batching {
        Batching { window_start: now, before: Count::default(), often: false }
    }

    /// Time to sleep, whatever becomes due meanwhile. `frames_wait` is true if frames wait behind
    /// others; `sent` returns the departures since the start.
    pub(super) fn sleep(&mut self, now: Time, frames_wait: bool, sent: impl FnOnce() -> Count) -> Span {
        let passed = now.since(self.window_start);
        if passed >= WINDOW {
            let sent = sent();
            // A frame that the kernel refuses later is no longer counted as sent.
            let (frames, bytes) = (
                sent.packets.saturating_sub(self.before.packets),
                sent.bytes.saturating_sub(self.before.bytes),
            );
            let least = u128::from(MIN_BYTES) * u128::from(passed.ticks());
            self.often = frames.saturating_mul(OFTEN.ticks()) > passed.ticks()
                && u128::from(bytes) * u128::from(WINDOW.ticks()) >= least;
            (self.window_start, self.before) = (now, sent);
        }
        if self.often && frames_wait { SLEEP } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Frames of one length leave every `gap`: the gate sleeps if and only if they leave often
        /// and fast, and others wait.
        #[test]
        fn frames_that_leave_often_are_sent_together(
            gap in 10u64..2_000, length in 60u32..1_514, count in 200u64..1_000
        ) {
            let mut batching = Batching::new(Time::ORIGIN);
            let mut sent = Count::default();
            for frame in 1..=count {
                let now = Time::ORIGIN + Span::from_micros(gap * frame);
                sent.add(length);
                prop_assert_eq!(batching.sleep(now, false, || sent), Span::ZERO);
                let sleep = batching.sleep(now, true, || sent);
                // In the first window the rate of departures is unknown; a window ends at a frame.
                let known = gap * frame > 12_000;
                let rate = u64::from(length) * 8 * 100 / gap;
                let near = gap.abs_diff(200) <= 10 || rate.abs_diff(1_000) <= 100;
                let expected = gap < 200 && rate > 1_000;
                prop_assert!(sleep <= SLEEP && (!known || near || (sleep > Span::ZERO) == expected), "{}", rate);
            }
        }
    }
}
