//! A reserved flow at an engine in virtual time, and a line of its own beside it: for tests of what is
//! promised to the flow.

use super::tests::Bench;
use super::*;
use crate::stats::Envelope;
use std::collections::VecDeque;
use tidegate_core::contract::Contract;
use tidegate_core::link::Framing;
use tidegate_core::units::Rate;
use tidegate_formats::{GateFile, Promise};

/// The address inside of the reserved flow, which is the first in its file and named by this address.
pub(super) const CALLER: [u8; 4] = [192, 168, 7, 7];
/// Length of the shortest and the longest frame, with their headers.
pub(super) const SHORTEST: u32 = 60;
pub(super) const LONGEST: u32 = 1514;

/// A UDP frame of `length` bytes from an address and a port inside, with a number in its payload.
pub(super) fn frame_from(source: [u8; 4], port: u16, length: u32, number: u64) -> Vec<u8> {
    let mut frame = super::tests::udp(port, length as usize - 42);
    frame[26..30].copy_from_slice(&source);
    frame[42..50].copy_from_slice(&number.to_be_bytes());
    frame
}

/// The lateness that `check` allows a frame of the first flow of a file; `None` where nothing is
/// promised.
pub(super) fn promised(file: &GateFile) -> Option<Span> {
    match file.promises(Direction::Up).first() {
        Some(Promise::Named { flow: 0, behind, .. }) => Some(*behind),
        _ => None,
    }
}

/// The reserved flow, which sends upwards, and all that the engine does.
pub(super) struct Reserved {
    pub(super) bench: Bench,
    framing: Framing,
    /// The rate of the link, and that of the flow's own line.
    link: Rate,
    own: Rate,
    /// The bucket that the flow keeps to.
    bucket: Envelope,
    /// Time when its own line has sent the last bit of each packet.
    due: Vec<Time>,
    /// Time when its own line is free.
    pub(super) free: Time,
    pub(super) sent: u64,
    /// The longest time from the own line's to the link's last bit of a packet.
    pub(super) latest: Span,
    /// Charged lengths of the packets that have not left, the oldest first.
    waiting: VecDeque<u32>,
}

impl Reserved {
    pub(super) fn new(file: &GateFile) -> Reserved {
        let contract: Contract = Contract {
            reserve: file.flows[0].terms[0].reserve.and_then(Rate::from_bits_per_second),
            ..file.flows[0].contract.contract()
        };
        Reserved {
            bench: Bench::of(&Plan::of(file)),
            framing: file.framing,
            link: file.rates[0],
            own: contract.reserve.unwrap(),
            bucket: Envelope::of(&contract).unwrap(),
            due: Vec::new(),
            free: Time::ORIGIN,
            sent: 0,
            latest: Span::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// Lets time pass, each event at its time.
    pub(super) fn wait_until(&mut self, until: Time) {
        loop {
            let at = self.bench.engine.next_event(Direction::Up).min(until);
            self.bench.now = at;
            self.bench.engine.advance(at, usize::MAX);
            let departures = self.bench.engine.departures(Direction::Up).to_vec();
            for departure in &departures {
                let frame = self.bench.engine.frame(Direction::Up, *departure);
                if frame[26..30] == CALLER {
                    let number = u64::from_be_bytes(frame[42..50].try_into().unwrap()) as usize;
                    let through = departure.due + self.link.time_for(self.framing.charge(frame.len() as u32));
                    self.sent += 1;
                    self.waiting.pop_front();
                    self.latest = self.latest.max(through.since(self.due[number]));
                }
            }
            self.bench.engine.complete(Direction::Up, departures.len(), 0);
            if at == until {
                return;
            }
        }
    }

    /// Sends a packet of the reserved flow if its bucket has enough, and returns true if so.
    pub(super) fn call(&mut self, length: u32) -> bool {
        let (now, charged) = (self.bench.now, self.framing.charge(length));
        let before = self.bucket.beyond;
        self.bucket.see(now, charged);
        if self.bucket.beyond > before {
            return false;
        }
        self.free = self.free.max(now) + self.own.time_for(charged);
        self.bench.receive(Direction::Up, &frame_from(CALLER, 5004, length, self.due.len() as u64));
        self.due.push(self.free);
        self.waiting.push_back(charged);
        true
    }

    /// Carries out another file from now on.
    pub(super) fn reload(&mut self, file: &GateFile) {
        self.bench.engine.reconfigure(self.bench.now, &Plan::of(file)).unwrap();
        self.bench.check_identity();
    }

    /// Starts the flow's own line anew with the packets that wait.
    pub(super) fn restart_line(&mut self) {
        self.free = self.bench.now;
        let first = self.due.len() - self.waiting.len();
        for (due, charged) in self.due[first..].iter_mut().zip(&self.waiting) {
            self.free += self.own.time_for(*charged);
            *due = self.free;
        }
    }

    /// Returns true if a packet of it is in the gate.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Number of its packets that came to the gate.
    pub(super) fn came(&self) -> u64 {
        self.due.len() as u64
    }

    /// Packets of all other flows that the switch dropped.
    pub(super) fn others_lost(&self) -> u64 {
        let own: u64 = self.bench.engine.statistics(Direction::Up, 0).dropped.iter().sum();
        self.bench.engine.counters(Direction::Up).total_dropped() - own
    }
}
