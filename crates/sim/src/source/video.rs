//! Times at which the packets of a video are sent.
//!
//! A frame is cut into packets of one size, the last of them shorter. It begins with its frame
//! interval; its packets follow each other at a peak rate, or are spread evenly over the interval.
//! If the peak rate is too low for a frame, the following frames are delayed. At the end of the
//! file the video begins again.

use crate::input::Video;
use std::sync::Arc;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::PacketSizes;
use tidegate_core::units::{Rate, Span, TICKS_PER_SECOND};

/// Playback parameters of a video.
#[derive(Clone, Debug)]
pub struct Playing {
    /// Its frames.
    pub video: Arc<Video>,
    /// Frames in a second, above zero.
    pub fps: f64,
    /// The size of its packets in bytes, at least 1.
    pub size: u32,
    /// Spacing of the packets of a frame.
    pub spread: Spread,
    /// The frame with which it begins, from 0, at the flow's start. `None` to draw a frame and an
    /// instant of the first frame interval.
    pub first: Option<u64>,
}

/// Spacing of the packets of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At this rate, starting at the beginning of the frame.
    Peak(Rate),
    /// Evenly over the frame interval, the first at its beginning.
    Frame,
}

impl Playing {
    /// Returns the mean rate in bit/s.
    pub(super) fn mean(&self) -> f64 {
        let bytes: u64 = self.video.frames.iter().map(|bytes| u64::from(*bytes)).sum();
        bytes as f64 * 8.0 * self.fps / self.video.frames.len().max(1) as f64
    }

    /// Returns the sizes of its packets: the last one of each frame, and the size of those before
    /// it.
    pub(super) fn sizes(&self) -> Option<PacketSizes> {
        let frames = self.video.frames.iter().copied().filter(|bytes| *bytes > 0);
        PacketSizes::of(frames.flat_map(|bytes| [bytes.min(self.size), (bytes - 1) % self.size + 1]))
    }

    /// Returns the ticks of a frame interval.
    fn interval(&self) -> f64 {
        TICKS_PER_SECOND as f64 / self.fps
    }
}

/// Playback position of a video.
#[derive(Clone, Debug)]
pub(super) struct Player {
    /// The next frame of the file.
    next: usize,
    /// Frames that have begun.
    begun: u64,
    /// Beginning of the first one, in ticks since the start.
    phase: f64,
    /// Beginning of the present one.
    begins: u64,
    /// Its bytes still to send, its packets, and those already sent.
    left: u32,
    packets: u32,
    sent: u32,
    /// Time of the previous packet, and the end of its transmission at the peak rate.
    last: u64,
    free_at: u64,
}

impl Player {
    pub(super) fn new(playing: &Playing, rng: &mut Rng) -> Player {
        let frames = playing.video.frames.len() as u64;
        let (next, phase) = match playing.first {
            Some(first) => (first % frames, 0),
            None => (rng.below(frames), rng.below((playing.interval() as u64).max(1))),
        };
        Player {
            next: next as usize,
            begun: 0,
            phase: phase as f64,
            begins: 0,
            left: 0,
            packets: 0,
            sent: 0,
            last: 0,
            free_at: 0,
        }
    }

    /// Returns the next packet: the time since the previous one (for the first: since the start),
    /// and its size. `None` when time ends.
    pub(super) fn next_packet(&mut self, playing: &Playing) -> Option<(Span, u32)> {
        while self.left == 0 {
            self.begin_frame(playing)?;
        }
        let at = match playing.spread {
            Spread::Peak(_) => self.begins.max(self.free_at),
            Spread::Frame => {
                let share = f64::from(self.sent) / f64::from(self.packets);
                self.begins + (playing.interval() * share) as u64
            }
        };
        let len = self.left.min(playing.size);
        (self.left, self.sent) = (self.left - len, self.sent + 1);
        if let Spread::Peak(peak) = playing.spread {
            self.free_at = at.checked_add(peak.time_for(len).max(Span::TICK).ticks())?;
        }
        let gap = Span::from_ticks(at - self.last);
        self.last = at;
        Some((gap, len))
    }

    /// Begins the next frame of the file, which may be empty.
    fn begin_frame(&mut self, playing: &Playing) -> Option<()> {
        let begins = self.phase + self.begun as f64 * playing.interval();
        // Half of all time: sums with it do not overflow.
        if begins >= (u64::MAX / 2) as f64 {
            return None;
        }
        let frames = &playing.video.frames;
        self.left = frames[self.next];
        (self.begins, self.packets, self.sent) = (begins as u64, self.left.div_ceil(playing.size), 0);
        (self.next, self.begun) = ((self.next + 1) % frames.len(), self.begun + 1);
        Some(())
    }
}
