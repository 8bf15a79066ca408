//! Progress of the handshake before the first data (RFC 9293, section 3.5).

use super::params::Handshake;
use crate::units::Time;

/// Progress of the handshake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The connection is open.
    Done,
    /// The opening segment was sent `times` times, last at `at`.
    Asks { times: u32, at: Time },
}

impl Opening {
    pub(super) fn new(handshake: Handshake) -> Opening {
        match handshake {
            Handshake::On => Opening::Asks { times: 0, at: Time::ORIGIN },
            Handshake::Off => Opening::Done,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        *self == Opening::Done
    }
}
