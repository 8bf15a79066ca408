//! Applications, which hand a connection its data, piece by piece.

use super::on_off::{OnOff, Writer};
use super::recorded::Player;
use super::transfers::{Transfer, Transferring, Transfers};
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::sync::Arc;

/// Data that are not endless.
#[derive(Clone, Debug)]
pub enum Data {
    /// Finite transfers, one after the other.
    Transfers(Transfers),
    /// A constant rate for a time, and silence for a time, in turn.
    OnOff(OnOff),
    /// Pieces of so many bytes at times from the start on, in order of time.
    Recorded(Arc<[(Span, u32)]>),
}

/// How long something lasts, time after time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Always as long.
    Fixed(Span),
    /// Exponential with this mean.
    Exponential(Span),
}

impl Period {
    /// How long it lasts this time.
    pub(super) fn draw(self, rng: &mut Rng) -> Span {
        match self {
            Period::Fixed(span) => span,
            Period::Exponential(mean) => rng.exponential(mean),
        }
    }
}

/// The application at the sending end of a connection.
#[derive(Debug)]
pub enum Application {
    /// It hands over transfers.
    Transferring(Transferring),
    /// It writes at a rate, now and then.
    Writing(Writer),
    /// It writes recorded data.
    Playing(Player),
}

impl Application {
    /// An application that begins at `start`. Data at a rate are written in pieces of `piece` bytes.
    pub fn new(data: Data, piece: u32, start: Time, rng: Rng) -> Application {
        match data {
            Data::Transfers(transfers) => Application::Transferring(Transferring::new(transfers, rng)),
            Data::OnOff(on_off) => Application::Writing(Writer::new(on_off, piece, start, rng)),
            Data::Recorded(pieces) => Application::Playing(Player::new(pieces, start)),
        }
    }

    /// When it has something to hand over of its own accord; [`Time::NEVER`] while it waits for acknowledgements.
    pub fn next_at(&self) -> Time {
        match self {
            Application::Transferring(transferring) => transferring.next_at(),
            Application::Writing(writer) => writer.next_at(),
            Application::Playing(player) => player.next_at(),
        }
    }

    /// Hands over the data that are due. Returns the bytes.
    pub fn hand_over(&mut self, now: Time) -> Option<u64> {
        match self {
            Application::Transferring(transferring) => transferring.begin(now),
            Application::Writing(writer) => writer.write(now),
            Application::Playing(player) => player.write(now),
        }
    }

    /// All that was handed over is acknowledged.
    pub fn acknowledged(&mut self, now: Time) {
        if let Application::Transferring(transferring) = self {
            transferring.acknowledged(now);
        }
    }

    /// Transfers that have ended, in the order of time.
    pub fn done(&self) -> &[Transfer] {
        match self {
            Application::Transferring(transferring) => transferring.done(),
            Application::Writing(_) | Application::Playing(_) => &[],
        }
    }
}
