//! The share of a direction's conversations whose frames its sending thread sends; the forwarding
//! thread sends the others.
//!
//! Two processors are used to the full only if both have the same work. So the share becomes
//! smaller while the sending thread is behind, and larger while it waits. A conversation may move
//! from one thread to the other only when the sending thread holds no frame.

use crate::frame::spread;
use tidegate_core::units::{Span, Time};

/// Period after which the share may change.
const WINDOW: Span = Span::from_millis(10);
/// All conversations, by the numbers that [`spread`] gives.
const ALL: u16 = 256;
/// Change of the share, and the least one: frames without IP, which have number 0, are in it.
const STEP: u16 = 16;

/// Room for frames at a sending thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It sends nothing.
    All,
    /// It sends, and takes more.
    Some,
    /// It takes none.
    None,
}

/// The share of a sending thread.
pub(super) struct Share {
    /// Conversations with numbers below this are in it.
    below: u16,
    /// The value that `below` is to have.
    wanted: u16,
    window_start: Time,
    /// Number of times that frames were to be sent in this window, and those at which the thread waited
    /// for some or took none.
    rounds: u32,
    waiting: u32,
    full: u32,
}

impl Share {
    pub(super) fn new(now: Time) -> Share {
        Share { below: ALL, wanted: ALL, window_start: now, rounds: 0, waiting: 0, full: 0 }
    }

    /// Notes the thread's room when frames are to be sent; returns true if it may get some of them.
    pub(super) fn look(&mut self, now: Time, room: Room) -> bool {
        self.rounds += 1;
        self.waiting += u32::from(room == Room::All);
        self.full += u32::from(room == Room::None);
        if now.since(self.window_start) >= WINDOW {
            if self.full > self.rounds / 4 {
                self.wanted = self.below.saturating_sub(STEP).max(STEP);
            } else if self.waiting > self.rounds / 8 {
                self.wanted = (self.below + STEP).min(ALL);
            }
            (self.window_start, self.rounds, self.waiting, self.full) = (now, 0, 0, 0);
        }
        if room == Room::All {
            self.below = self.wanted;
        }
        // Until the thread holds no frames, it gets no further ones.
        room != Room::None && self.below == self.wanted
    }

    /// Returns true if the thread sends this frame.
    pub(super) fn has(&self, frame: &[u8]) -> bool {
        self.below == ALL || u16::from(spread::number(frame)) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that is `speed` times as fast as the rest, which gets `share` of the frames: its room
    /// after some rounds.
    fn room(share: u16, speed: f64) -> Room {
        let (thread, rest) = (f64::from(share) / speed, f64::from(ALL - share));
        match thread / rest.max(1.0) {
            ratio if ratio > 1.1 => Room::None,
            ratio if ratio < 0.9 => Room::All,
            _ => Room::Some,
        }
    }

    #[test]
    fn both_threads_get_the_same_work() {
        for speed in [0.2, 0.5, 1.0, 2.0, 4.0] {
            let mut share = Share::new(Time::ORIGIN);
            let mut now = Time::ORIGIN;
            for _ in 0..2000 {
                now += Span::from_micros(100);
                let before = share.below;
                let room = room(before, speed);
                share.look(now, room);
                // It has sent its frames some rounds later.
                if room == Room::None && share.below != share.wanted {
                    share.look(now, Room::All);
                }
                assert!(share.below.abs_diff(before) <= STEP);
            }
            let ideal = f64::from(ALL) * speed / (1.0 + speed);
            assert!(
                (f64::from(share.below) - ideal).abs() <= 1.5 * f64::from(STEP),
                "{speed}: {}",
                share.below
            );
        }
    }

    /// A conversation never moves while the thread holds frames.
    #[test]
    fn the_share_changes_only_while_nothing_is_held() {
        let mut share = Share::new(Time::ORIGIN);
        let mut now = Time::ORIGIN;
        for _ in 0..3000 {
            now += Span::from_micros(100);
            assert!(!share.look(now, Room::None));
            assert_eq!(share.below, ALL);
        }
        // It is to become smaller: the thread gets nothing until it holds nothing.
        assert!(!share.look(now, Room::Some));
        assert!(share.look(now, Room::All));
        assert_eq!(share.below, ALL - STEP);
    }
}
