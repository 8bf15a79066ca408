//! How long may a frame that is due wait for those behind it?
//!
//! Waking up costs more than sending a frame. Where frames leave so often that waking up for each would take most of a core,
//! those that wait in a queue anyway are sent together, a little late. At lower rates, and where nothing waits, every frame
//! leaves when it is due.

use tidegate_core::units::{Span, Time};

/// Frames are sent together when they leave more often than this, on average over a window: 5000 wake-ups in a second
/// take an eighth of a core.
const OFTEN: Span = Span::from_micros(200);
/// For how long the gate then sleeps: with the time that waking up and reading take, less than 1 ms between two frames.
const SLEEP: Span = Span::from_micros(700);
/// Over which time departures are counted.
const WINDOW: Span = Span::from_millis(10);

/// How often frames have left of late.
pub(super) struct Batching {
    window_start: Time,
    /// Frames that have left since then.
    departed: u64,
    /// Whether they left often in the window before.
    often: bool,
}

impl Batching {
    pub(super) fn new(now: Time) -> Batching {
        Batching { window_start: now, departed: 0, often: false }
    }

    /// So many frames have left.
    pub(super) fn departed(&mut self, frames: u64) {
        self.departed += frames;
    }

    /// For how long to sleep whatever becomes due, when frames wait behind others.
    pub(super) fn sleep(&mut self, now: Time, frames_wait: bool) -> Span {
        let passed = now.since(self.window_start);
        if passed >= WINDOW {
            self.often = self.departed.saturating_mul(OFTEN.ticks()) > passed.ticks();
            (self.window_start, self.departed) = (now, 0);
        }
        if self.often && frames_wait { SLEEP } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Frames that leave each `gap`: the gate sleeps where they leave often and others wait, and nowhere else.
        #[test]
        fn frames_that_leave_often_are_sent_together(gap in 10u64..2_000, count in 200u64..1_000) {
            let mut batching = Batching::new(Time::ORIGIN);
            for frame in 1..=count {
                let now = Time::ORIGIN + Span::from_micros(gap * frame);
                batching.departed(1);
                prop_assert_eq!(batching.sleep(now, false), Span::ZERO);
                let sleep = batching.sleep(now, true);
                // In the first window nothing is known of how often they leave; a window ends at a frame.
                let known = gap * frame > 12_000;
                prop_assert!(sleep <= SLEEP && (!known || gap.abs_diff(200) <= 10 || (sleep > Span::ZERO) == (gap < 200)));
            }
        }
    }
}
