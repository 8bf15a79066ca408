//! Delay diagnosis: the record of a watched packet at every hop.
//!
//! What a link sends while watched packets wait for it is noted once for all of them, and a packet keeps its place
//! in those notes. They are summed up for the packets that are kept, and forgotten, as soon as they are twice as
//! long as what still waits: time and memory are linear in what is sent and in the longest queue.

use std::collections::BTreeMap;
use tidegate_core::stats::Workahead;
use tidegate_core::units::{Rate, Span, Time};

/// Minimum number of notes that a link keeps before the old ones are summed up.
const FEWEST_NOTES: usize = 1024;

/// Packets that one flow sent on a link while a watched packet waited for that link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Index of the flow.
    pub flow: u32,
    /// Packets of the flow that started.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A watched packet at one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the link.
    pub link: u32,
    /// Arrival of its last bit; once it has started, its release by its flow's envelope.
    pub arrived: Time,
    /// Time for which the envelope held it before that.
    pub held: Span,
    /// The queue that it met: packets, the one in service included; `None` for one that an envelope held.
    pub queue: Option<u64>,
    /// First bit out; `None` while it waits, or when it was dropped.
    pub started: Option<Time>,
    /// Its own stamp, known once it starts.
    pub stamp: u64,
    before: Before,
}

/// Packets sent before a packet while it waited.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Before {
    /// From this note of the link on, and before that one, by their numbers.
    Noted {
        from: u64,
        until: u64,
    },
    Summed(Vec<Served>),
}

/// A packet that was followed from its source to its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// From leaving the source to last bit in at the destination.
    pub delay: Span,
    /// Its number within its flow, from 0.
    pub sequence: u64,
    /// Bytes.
    pub len: u32,
    /// How far its flow, with this packet, was ahead of what it reserves: the delay at an ideal server of that
    /// rate. `None` for a datagram flow.
    pub ahead: Option<Span>,
    /// Arrival of its last bit at the destination.
    pub arrived: Time,
    /// Its hops, in order.
    pub hops: Vec<Hop>,
}

/// Traffic terms stated by a watched flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The greatest rate that it ever reserves.
    pub reserve: Rate,
    /// How long its reservation takes for the deepest bucket that it states: its average interval AI, or the burst
    /// of an envelope that is no faster than the reservation. `None` when it states none.
    pub bucket: Option<Span>,
}

/// A packet that has started on a link while a watched packet waited for that link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) flow: u32,
    pub(crate) sequence: u64,
    pub(crate) len: u32,
    /// Its stamp.
    pub(crate) stamp: u64,
    /// Time at which it reached the schedulers.
    pub(crate) arrived: Time,
    pub(crate) at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Note {
    flow: u32,
    len: u32,
    at: Time,
}

/// Packets that a link sends while watched packets wait for it.
#[derive(Clone, Debug, Default)]
struct Notes {
    /// Notes that were forgotten.
    forgotten: u64,
    kept: Vec<Note>,
    /// How many there may be before the old ones are summed up.
    most: usize,
    /// Watched packets that are waiting.
    waiting: usize,
}

impl Notes {
    fn end(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    fn between(&self, from: u64, until: u64) -> &[Note] {
        &self.kept[(from - self.forgotten) as usize..(until - self.forgotten) as usize]
    }

    /// The number of the first note from `from` on that is of `at` or later.
    fn first_at(&self, from: u64, at: Time) -> u64 {
        from + self.between(from, self.end()).partition_point(|note| note.at < at) as u64
    }

    fn sum(&self, before: &Before) -> Vec<Served> {
        let (from, until) = match before {
            Before::Noted { from, until } => (*from, *until),
            Before::Summed(served) => return served.clone(),
        };
        let mut sums: BTreeMap<u32, Served> = BTreeMap::new();
        for Note { flow, len, .. } in self.between(from, until) {
            let sum = sums.entry(*flow).or_insert(Served { flow: *flow, packets: 0, bytes: 0 });
            sum.packets += 1;
            sum.bytes += u64::from(*len);
        }
        sums.into_values().collect()
    }
}

/// A watched packet on its way.
#[derive(Clone, Debug)]
struct UnderWay {
    len: u32,
    ahead: Option<Span>,
    hops: Vec<Hop>,
}

/// Follows the packets of one flow through the network, and keeps the slowest.
#[derive(Clone, Debug)]
pub struct Watch {
    flow: u32,
    keep: usize,
    /// The first link on its way.
    first: Option<u32>,
    terms: Option<Terms>,
    /// What the flow has sent, against what it reserves.
    workahead: Option<Workahead>,
    /// Whether an envelope decides when its packets are sent.
    enveloped: bool,
    under_way: BTreeMap<u64, UnderWay>,
    notes: BTreeMap<u32, Notes>,
    /// The slowest first; among equals the earliest.
    slowest: Vec<Journey>,
}

impl Watch {
    /// Follows the packets of `flow` and keeps the `keep` slowest.
    pub fn new(flow: u32, keep: usize) -> Watch {
        Watch {
            flow,
            keep,
            first: None,
            terms: None,
            workahead: None,
            enveloped: false,
            under_way: BTreeMap::new(),
            notes: BTreeMap::new(),
            slowest: Vec::new(),
        }
    }

    /// The same, of a flow that first passes the link `first`, states these terms, and may have an envelope.
    #[must_use]
    pub(crate) fn of(self, first: u32, terms: Option<Terms>, enveloped: bool) -> Watch {
        let workahead = terms.map(|terms| Workahead::new(terms.reserve));
        Watch { first: Some(first), terms, workahead, enveloped, ..self }
    }

    /// Index of its flow.
    pub(crate) fn flow(&self) -> usize {
        self.flow as usize
    }

    /// What the flow states of its traffic; `None` for a datagram flow.
    pub fn terms(&self) -> Option<Terms> {
        self.terms
    }

    /// The slowest packets that arrived, the slowest first.
    pub fn slowest(&self) -> &[Journey] {
        &self.slowest
    }

    /// What was sent before a packet of [`slowest`](Watch::slowest) while it waited at a hop, by flow.
    pub fn served_before(&self, hop: &Hop) -> Vec<Served> {
        self.notes.get(&hop.link).map_or_else(Vec::new, |notes| notes.sum(&hop.before))
    }

    pub(crate) fn arrived(&mut self, link: u32, flow: u32, sequence: u64, len: u32, at: Time, queue: u64) {
        if flow != self.flow {
            return;
        }
        let notes = self.notes.entry(link).or_default();
        notes.waiting += 1;
        let before = Before::Noted { from: notes.end(), until: notes.end() };
        let hop =
            Hop { link, arrived: at, held: Span::ZERO, queue: Some(queue), started: None, stamp: 0, before };
        let packet =
            self.under_way.entry(sequence).or_insert(UnderWay { len, ahead: None, hops: Vec::new() });
        packet.hops.push(hop);
        // What an envelope holds is not sent yet.
        if self.first == Some(link)
            && !self.enveloped
            && let Some(workahead) = &mut self.workahead
        {
            packet.ahead = Some(workahead.see(at, len));
        }
    }

    pub(crate) fn started(&mut self, link: u32, packet: Started) {
        let Some(notes) = self.notes.get_mut(&link).filter(|notes| notes.waiting > 0) else { return };
        if packet.flow == self.flow
            && let Some(watched) = self.under_way.get_mut(&packet.sequence)
            && let Some(hop) = watched.hops.iter_mut().rfind(|hop| hop.waits_at(link))
        {
            notes.waiting -= 1;
            let mut from = match hop.before {
                Before::Noted { from, .. } => from,
                Before::Summed(_) => notes.end(),
            };
            if packet.arrived > hop.arrived {
                hop.held = packet.arrived.since(hop.arrived);
                (hop.arrived, hop.queue) = (packet.arrived, None);
                from = notes.first_at(from, packet.arrived);
            }
            (hop.started, hop.stamp) = (Some(packet.at), packet.stamp);
            hop.before = Before::Noted { from, until: notes.end() };
            // Those that were dropped here after the envelope are not seen, so that this is at most the workahead.
            if self.first == Some(link)
                && self.enveloped
                && let Some(workahead) = &mut self.workahead
            {
                watched.ahead = Some(workahead.see(packet.arrived, packet.len));
            }
        }
        if notes.waiting > 0 {
            notes.kept.push(Note { flow: packet.flow, len: packet.len, at: packet.at });
            if notes.kept.len() >= notes.most.max(FEWEST_NOTES) {
                self.forget(link);
            }
        }
    }

    pub(crate) fn dropped(&mut self, flow: u32, sequence: u64) {
        if flow == self.flow {
            _ = self.take(sequence);
        }
    }

    pub(crate) fn delivered(&mut self, flow: u32, sequence: u64, arrived: Time, delay: Span) {
        if flow != self.flow {
            return;
        }
        let Some(UnderWay { len, ahead, hops }) = self.take(sequence) else { return };
        let place = self.slowest.partition_point(|journey| journey.delay >= delay);
        if place < self.keep {
            self.slowest.insert(place, Journey { delay, sequence, len, ahead, arrived, hops });
            self.slowest.truncate(self.keep);
        }
    }

    /// Takes a packet that is followed no longer; its copies of a multicast flow are not either.
    fn take(&mut self, sequence: u64) -> Option<UnderWay> {
        let packet = self.under_way.remove(&sequence)?;
        for hop in packet.hops.iter().filter(|hop| hop.started.is_none()) {
            if let Some(notes) = self.notes.get_mut(&hop.link) {
                notes.waiting -= 1;
            }
        }
        Some(packet)
    }

    /// Sums up the notes of a link for the packets that are kept, and forgets those that no other packet needs.
    #[cold]
    fn forget(&mut self, link: u32) {
        let Some(notes) = self.notes.get_mut(&link) else { return };
        for hop in self.slowest.iter_mut().flat_map(|journey| &mut journey.hops) {
            if hop.link == link && matches!(hop.before, Before::Noted { .. }) {
                hop.before = Before::Summed(notes.sum(&hop.before));
            }
        }
        let needed = self.under_way.values().flat_map(|packet| &packet.hops).filter(|hop| hop.link == link);
        let first = needed.map(|hop| match hop.before {
            Before::Noted { from, .. } => from,
            Before::Summed(_) => u64::MAX,
        });
        let first = first.min().unwrap_or(u64::MAX).min(notes.end());
        notes.kept.drain(..(first - notes.forgotten) as usize);
        notes.forgotten = first;
        notes.most = 2 * notes.kept.len().max(self.under_way.len());
    }
}

impl Hop {
    fn waits_at(&self, link: u32) -> bool {
        self.link == link && self.started.is_none()
    }
}
