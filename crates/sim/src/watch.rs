//! Why was this packet late? What a watched packet met at every hop.

use std::collections::BTreeMap;
use tidegate_core::units::Time;

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

/// Packets of one flow that are followed through the network.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    flow: u32,
    packets: BTreeMap<u64, Vec<Hop>>,
    /// Which of them wait at which link now.
    waiting: BTreeMap<u32, Vec<u64>>,
}

impl Watch {
    /// Follows the packets of `flow` with these sequence numbers.
    pub fn new(flow: u32, sequences: &[u64]) -> Watch {
        let packets = sequences.iter().map(|sequence| (*sequence, Vec::new())).collect();
        Watch { flow, packets, waiting: BTreeMap::new() }
    }

    /// What each packet met, hop by hop.
    pub fn packets(&self) -> &BTreeMap<u64, Vec<Hop>> {
        &self.packets
    }

    pub(crate) fn arrived(&mut self, link: u32, flow: u32, sequence: u64, at: Time, queue: u64) {
        if flow != self.flow {
            return;
        }
        if let Some(hops) = self.packets.get_mut(&sequence) {
            hops.push(Hop { link, arrived: at, queue, started: None, stamp: 0, ahead: Vec::new() });
            self.waiting.entry(link).or_default().push(sequence);
        }
    }

    pub(crate) fn started(&mut self, link: u32, sequence: u64, ahead: Ahead) {
        let Some(waiting) = self.waiting.get_mut(&link) else { return };
        if ahead.flow == self.flow {
            waiting.retain(|watched| *watched != sequence);
            if let Some(hop) = self.packets.get_mut(&sequence).and_then(|hops| hops.last_mut()) {
                (hop.started, hop.stamp) = (Some(ahead.started), ahead.stamp);
            }
        }
        for watched in waiting.iter() {
            if let Some(hop) = self.packets.get_mut(watched).and_then(|hops| hops.last_mut()) {
                hop.ahead.push(ahead);
            }
        }
    }

    pub(crate) fn dropped(&mut self, link: u32, flow: u32, sequence: u64) {
        if flow == self.flow
            && let Some(waiting) = self.waiting.get_mut(&link)
        {
            waiting.retain(|watched| *watched != sequence);
        }
    }
}
