//! How long may a frame that is due wait for those behind it?
//!
//! Waking up costs more than sending a frame. Where frames leave so often that waking up for each would take most of a core,
//! those that wait in a queue anyway are sent together, a little late. At lower rates, and where nothing waits, every frame
//! leaves when it is due.

use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

/// Frames are sent together when they leave more often than this, on average over a window: 5000 wake-ups in a second
/// take an eighth of a core.
const OFTEN: Span = Span::from_micros(200);
/// They are not where fewer bytes leave in a window, 10 Mbit/s: a frame more or less at once is a long time there.
const LEAST_BYTES: u64 = 12_500;
/// For how long the gate then sleeps: with the time that waking up and reading take, less than 1 ms between two frames.
const SLEEP: Span = Span::from_micros(700);
/// Over which time departures are counted.
const WINDOW: Span = Span::from_millis(10);

/// How often frames have left of late.
pub(super) struct Batching {
    window_start: Time,
    /// What had left until then.
    before: Count,
    /// Whether frames left often in the window before.
    often: bool,
}

impl Batching {
    pub(super) fn new(now: Time) -> Batching {
        Batching { window_start: now, before: Count::default(), often: false }
    }

    /// For how long to sleep whatever becomes due, when frames wait behind others and so much has left since the start.
    pub(super) fn sleep(&mut self, now: Time, frames_wait: bool, sent: impl FnOnce() -> Count) -> Span {
        let passed = now.since(self.window_start);
        if passed >= WINDOW {
            let sent = sent();
            // A frame that the kernel refuses later is no longer counted as sent.
            let (frames, bytes) = (
                sent.packets.saturating_sub(self.before.packets),
                sent.bytes.saturating_sub(self.before.bytes),
            );
            let least = u128::from(LEAST_BYTES) * u128::from(passed.ticks());
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
        /// Frames of one length that leave each `gap`: the gate sleeps where they leave often, fast, and others wait, and
        /// nowhere else.
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
                // In the first window nothing is known of how often they leave; a window ends at a frame.
                let known = gap * frame > 12_000;
                let rate = u64::from(length) * 8 * 100 / gap;
                let near = gap.abs_diff(200) <= 10 || rate.abs_diff(1_000) <= 100;
                let expected = gap < 200 && rate > 1_000;
                prop_assert!(sleep <= SLEEP && (!known || near || (sleep > Span::ZERO) == expected), "{}", rate);
            }
        }
    }
}
