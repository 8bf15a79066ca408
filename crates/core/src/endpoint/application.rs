//! Applications, which hand a connection its data, piece by piece.

use super::on_off::{OnOff, Writer};
use super::recorded::Player;
use super::transfers::{Transfer, Transferring, Transfers};
use crate::rng::Rng;
use crate::units::{Span, Time};
use alloc::sync::Arc;
use core::ops::Range;

/// Finite or intermittent data of an application.
#[derive(Clone, Debug)]
pub enum Data {
    /// Finite transfers.
    Transfers(Transfers),
    /// On-off data: a constant rate and silence in turn, each for a time.
    OnOff(OnOff),
    /// Recorded data: pieces with their times after the start and their sizes in bytes, in order of
    /// time.
    Recorded(Arc<[(Span, u32)]>),
}

/// The application at the sending end of a connection.
#[derive(Debug)]
pub enum Application {
    /// Hands over transfers.
    Transferring(Transferring),
    /// Writes on-off data.
    Writing(Writer),
    /// Writes recorded data.
    Playing(Player),
}

impl Application {
    /// An application that begins at `start`. Data at a rate are written in pieces of `piece`
    /// bytes.
    pub fn new(data: Data, piece: u32, start: Time, rng: Rng) -> Application {
        match data {
            Data::Transfers(transfers) => Application::Transferring(Transferring::new(transfers, start, rng)),
            Data::OnOff(on_off) => Application::Writing(Writer::new(on_off, piece, start, rng)),
            Data::Recorded(pieces) => Application::Playing(Player::new(pieces, start)),
        }
    }

    /// The time of the next data that do not depend on acknowledgements; [`Time::NEVER`] while it
    /// waits for them.
    pub fn next_at(&self) -> Time {
        match self {
            Application::Transferring(transferring) => transferring.next_at(),
            Application::Writing(writer) => writer.next_at(),
            Application::Playing(player) => player.next_at(),
        }
    }

    /// Hands over the data that are due. Returns their size in bytes.
    pub fn hand_over(&mut self, now: Time) -> Option<u64> {
        match self {
            Application::Transferring(transferring) => transferring.begin(now),
            Application::Writing(writer) => writer.write(now),
            Application::Playing(player) => player.write(now),
        }
    }

    /// Returns true if data are handed over whether the connection is open or not.
    pub fn is_open_loop(&self) -> bool {
        matches!(self, Application::Transferring(transferring) if transferring.is_open_loop())
    }

    /// Called when the bytes with these numbers, from 0, are sent, for the first time or again.
    pub fn sent(&mut self, now: Time, bytes: Range<u64>, again: bool) {
        if let Application::Transferring(transferring) = self {
            transferring.sent(now, bytes, again);
        }
    }

    /// Called when all bytes before `number` are acknowledged.
    pub fn acknowledged(&mut self, now: Time, number: u64) {
        if let Application::Transferring(transferring) = self {
            transferring.acknowledged(now, number);
        }
    }

    /// Transfers handed over so far, in order of time.
    pub fn transfers(&self) -> &[Transfer] {
        match self {
            Application::Transferring(transferring) => transferring.begun(),
            Application::Writing(_) | Application::Playing(_) => &[],
        }
    }
}
