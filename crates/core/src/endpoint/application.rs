//! Applications, which hand a connection its data, piece by piece.

use super::on_off::{OnOff, Writer};
use super::recorded::Player;
use super::transfers::{Transfer, Transferring, Transfers};
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::sync::Arc;

/// Finite or intermittent data of an application.
#[derive(Clone, Debug)]
pub enum Data {
    /// Finite transfers, one after the other.
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
            Data::Transfers(transfers) => Application::Transferring(Transferring::new(transfers, rng)),
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

    /// Called when all data handed over are acknowledged.
    pub fn acknowledged(&mut self, now: Time) {
        if let Application::Transferring(transferring) = self {
            transferring.acknowledged(now);
        }
    }

    /// Transfers that have ended, in order of time.
    pub fn done(&self) -> &[Transfer] {
        match self {
            Application::Transferring(transferring) => transferring.done(),
            Application::Writing(_) | Application::Playing(_) => &[],
        }
    }
}
