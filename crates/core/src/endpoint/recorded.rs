//! Recorded data: an application that writes recorded sizes at their recorded times.
//!
//! It does not wait for acknowledgements: data that the connection cannot carry wait at the sender,
//! which has room for them.

use crate::units::{Span, Time};
use alloc::sync::Arc;

/// An application that writes recorded data.
#[derive(Debug)]
pub struct Player {
    /// Pieces in order of time: the time after the start, and the bytes.
    pieces: Arc<[(Span, u32)]>,
    start: Time,
    next: usize,
}

impl Player {
    /// An application that begins at `start`.
    pub fn new(pieces: Arc<[(Span, u32)]>, start: Time) -> Player {
        Player { pieces, start, next: 0 }
    }

    /// Time of the next write; [`Time::NEVER`] after the last piece.
    pub fn next_at(&self) -> Time {
        self.pieces.get(self.next).map_or(Time::NEVER, |(at, _)| self.start + *at)
    }

    /// Writes the next piece, if it is due. Returns the bytes.
    pub fn write(&mut self, now: Time) -> Option<u64> {
        let (at, bytes) = *self.pieces.get(self.next)?;
        if self.start + at > now {
            return None;
        }
        self.next += 1;
        Some(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_written_once_at_its_time() {
        let start = Time::ORIGIN + Span::from_millis(3);
        let ms = Span::from_millis;
        let mut player = Player::new([(ms(0), 10), (ms(4), 20), (ms(4), 30)].into(), start);
        let mut written = Vec::new();
        while player.next_at() < Time::NEVER {
            let now = player.next_at();
            assert_eq!(player.write(now.before(Span::TICK)), None);
            written.push((now.since(start), player.write(now).unwrap()));
        }
        assert_eq!(written, [(ms(0), 10), (ms(4), 20), (ms(4), 30)]);
        assert_eq!(player.write(Time::NEVER), None);
    }
}
