//! Batching: the time that a due frame may wait for the frames behind it.
//!
//! Waking up costs more than sending a frame. Where frames leave so often that waking up for each
//! would take an eighth of a core or more, frames that wait in a queue anyway are sent together, a
//! little late. At lower rates, and where nothing waits, every frame leaves when it is due; a full
//! direction does not delay the frames of the other one.

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
pub(super) const SLEEP: Span = Span::from_micros(700);
/// Period over which departures are counted.
const WINDOW: Span = Span::from_millis(10);

/// Recent rates of departures of both directions.
pub(super) struct Batching {
    window_start: Time,
    directions: [Departures; 2],
}

/// Recent rate of a direction's departures.
#[derive(Clone, Copy, Default)]
struct Departures {
    /// Departures before the window.
    before: Count,
    /// True if frames left often in the previous window.
    often: bool,
    /// True if they were many bytes as well.
    fast: bool,
}

/// The frames of a direction, while those of a direction are sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frames {
    /// They are sent together.
    Together,
    /// They leave too often to wake up for each, and nothing waits: they wait for those.
    Deferred,
    /// They are read and sent when they come.
    OneByOne,
}

impl Batching {
    pub(super) fn new(now: Time) -> Batching {
        Batching { window_start: now, directions: [Departures::default(); 2] }
    }

    /// The frames of each direction. `frames_wait` is true if frames wait behind others in a
    /// direction; `sent` returns the departures since the start.
    pub(super) fn frames(
        &mut self,
        now: Time,
        frames_wait: [bool; 2],
        sent: impl FnOnce() -> [Count; 2],
    ) -> [Frames; 2] {
        let passed = now.since(self.window_start);
        if passed >= WINDOW {
            for (direction, sent) in self.directions.iter_mut().zip(sent()) {
                direction.look(passed, sent);
            }
            self.window_start = now;
        }
        [0, 1].map(|side| match self.directions[side] {
            Departures { often: true, fast: true, .. } if frames_wait[side] => Frames::Together,
            Departures { often: true, .. } => Frames::Deferred,
            Departures { often: false, .. } => Frames::OneByOne,
        })
    }
}

impl Departures {
    /// Looks at a window of this length, at whose end so much has departed.
    fn look(&mut self, passed: Span, sent: Count) {
        // A frame that the kernel refuses later is no longer counted as sent.
        let (frames, bytes) =
            (sent.packets.saturating_sub(self.before.packets), sent.bytes.saturating_sub(self.before.bytes));
        let least = u128::from(MIN_BYTES) * u128::from(passed.ticks());
        self.often = frames.saturating_mul(OFTEN.ticks()) > passed.ticks();
        self.fast = u128::from(bytes) * u128::from(WINDOW.ticks()) >= least;
        self.before = sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Frames of one length leave every `gap` in one direction: they are sent together if and only
        /// if they leave often and fast, and others wait. Those of the other direction, which are
        /// few, are sent when they come.
        #[test]
        fn frames_that_leave_often_are_sent_together(
            gap in 10u64..2_000, length in 60u32..1_514, count in 200u64..1_000
        ) {
            let mut batching = Batching::new(Time::ORIGIN);
            let mut sent = Count::default();
            for frame in 1..=count {
                let now = Time::ORIGIN + Span::from_micros(gap * frame);
                sent.add(length);
                let both = [sent, Count::default()];
                let [alone, _] = batching.frames(now, [false; 2], || both);
                let [frames, other] = batching.frames(now, [true; 2], || both);
                // In the first window the rate of departures is unknown; a window ends at a frame.
                let known = gap * frame > 12_000;
                let rate = u64::from(length) * 8 * 100 / gap;
                let near = gap.abs_diff(200) <= 10 || rate.abs_diff(1_000) <= 100;
                let expected = match (gap < 200, rate > 1_000) {
                    (true, true) => Frames::Together,
                    (true, false) => Frames::Deferred,
                    (false, _) => Frames::OneByOne,
                };
                prop_assert!(alone != Frames::Together && other == Frames::OneByOne);
                prop_assert!(!known || near || frames == expected, "{}: {:?}", rate, frames);
            }
        }
    }
}
