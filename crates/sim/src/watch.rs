//! Why was this packet late? What a watched packet met at every hop.

use std::collections::BTreeMap;
use tidegate_core::units::{Span, Time};

/// A packet that was sent while a watched one waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Index of its flow.
    pub flow: u32,
    /// Bytes.
    pub len: u32,
    /// The stamp that it was served by.
    pub stamp: u64,
    /// When its first bit left.
    pub started: Time,
}

/// A watched packet at one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the link.
    pub link: u32,
    /// Last bit in.
    pub arrived: Time,
    /// The queue that it met: packets, the one in service included.
    pub queue: u64,
    /// First bit out; `None` while it waits, or when it was dropped.
    pub started: Option<Time>,
    /// Its own stamp, known once it starts.
    pub stamp: u64,
    /// What was sent before it while it waited, in order.
    pub ahead: Vec<Ahead>,
}

/// A packet that was followed from its source to its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// From leaving the source to last bit in at the destination.
    pub delay: Span,
    /// Its number within its flow, from 0.
    pub sequence: u64,
    /// When its last bit was in at the destination.
    pub arrived: Time,
    /// What it met, hop by hop.
    pub hops: Vec<Hop>,
}

/// Follows the packets of one flow through the network, and keeps the slowest.
#[derive(Clone, Debug)]
pub struct Watch {
    flow: u32,
    keep: usize,
    under_way: BTreeMap<u64, Vec<Hop>>,
    /// Which of them wait at which link now.
    waiting: BTreeMap<u32, Vec<u64>>,
    /// The slowest first; among equals the earliest.
    slowest: Vec<Journey>,
}

impl Watch {
    /// Follows the packets of `flow` and keeps the `keep` slowest.
    pub fn new(flow: u32, keep: usize) -> Watch {
        let (under_way, waiting) = (BTreeMap::new(), BTreeMap::new());
        Watch { flow, keep, under_way, waiting, slowest: Vec::new() }
    }

    /// The slowest packets that arrived, the slowest first.
    pub fn slowest(&self) -> &[Journey] {
        &self.slowest
    }

    pub(crate) fn arrived(&mut self, link: u32, flow: u32, sequence: u64, at: Time, queue: u64) {
        if flow == self.flow {
            let hop = Hop { link, arrived: at, queue, started: None, stamp: 0, ahead: Vec::new() };
            self.under_way.entry(sequence).or_default().push(hop);
            self.waiting.entry(link).or_default().push(sequence);
        }
    }

    pub(crate) fn started(&mut self, link: u32, sequence: u64, ahead: Ahead) {
        let Some(waiting) = self.waiting.get_mut(&link) else { return };
        if ahead.flow == self.flow {
            waiting.retain(|watched| *watched != sequence);
            if let Some(hop) = self.under_way.get_mut(&sequence).and_then(|hops| hops.last_mut()) {
                (hop.started, hop.stamp) = (Some(ahead.started), ahead.stamp);
            }
        }
        for watched in waiting.iter() {
            if let Some(hop) = self.under_way.get_mut(watched).and_then(|hops| hops.last_mut()) {
                hop.ahead.push(ahead);
            }
        }
    }

    pub(crate) fn dropped(&mut self, link: u32, flow: u32, sequence: u64) {
        if flow == self.flow {
            self.under_way.remove(&sequence);
            if let Some(waiting) = self.waiting.get_mut(&link) {
                waiting.retain(|watched| *watched != sequence);
            }
        }
    }

    pub(crate) fn delivered(&mut self, flow: u32, sequence: u64, arrived: Time, delay: Span) {
        if flow != self.flow {
            return;
        }
        let Some(hops) = self.under_way.remove(&sequence) else { return };
        let place = self.slowest.partition_point(|journey| journey.delay >= delay);
        if place < self.keep {
            self.slowest.insert(place, Journey { delay, sequence, arrived, hops });
            self.slowest.truncate(self.keep);
        }
    }
}
