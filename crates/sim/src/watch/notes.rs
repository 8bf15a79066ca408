//! Activity of a link while watched packets wait for it: a timeline without gaps.

use std::collections::BTreeMap;
use tidegate_core::switch::Block;
use tidegate_core::units::{Span, Time};

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
    /// Time for which the link was sending packets of the flow, and nothing else blocked the
    /// watched packet.
    pub took: Span,
}

/// Cause of a packet's wait at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The link sends a packet of this flow, by its index.
    Packet(u32),
    /// The link sends a cell of its own: credit or a check.
    OwnCell,
    /// The packet's flow, a class or the port as a whole is blocked, whatever else waits.
    Block(Block),
    /// The trace of the link has no opportunity to deliver.
    NoOpportunity,
    /// No known cause.
    Unknown,
}

/// Packets sent before a packet while it waited, and causes of its wait, in the order of the
/// causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Packets sent, by flow.
    pub served: Vec<Served>,
    /// Causes other than packets, and the time for which each blocked the packet.
    pub causes: Vec<(Cause, Span)>,
}

/// The state of a link for the watched flow, from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Block of the flow's packets other than by packets of others, and its end.
    pub(crate) block: Option<(Block, Time)>,
    /// Activity of the link.
    pub(crate) link: Cause,
}

#[derive(Clone, Copy, Debug)]
enum NoteKind {
    /// A packet has started.
    Started {
        flow: u32,
        len: u32,
    },
    Is(State),
}

#[derive(Clone, Copy, Debug)]
struct Note {
    at: Time,
    kind: NoteKind,
}

/// Packets sent before a packet while it waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WaitNotes {
    /// Range of the link's notes, by their numbers, the end excluded.
    Noted {
        from: u64,
        until: u64,
    },
    Summed(Waiting),
}

/// The notes of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// Number of notes that were forgotten.
    forgotten: u64,
    kept: Vec<Note>,
    /// Number of notes at which the old ones are summed up.
    most: usize,
    /// Number of watched packets that are waiting.
    pub(super) waiting: usize,
}

impl Notes {
    pub(super) fn end(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    fn between(&self, from: u64, until: u64) -> &[Note] {
        &self.kept[(from - self.forgotten) as usize..(until - self.forgotten) as usize]
    }

    /// Returns the number of the first note, of those from `from` on, that is of `at` or later.
    pub(super) fn first_at(&self, from: u64, at: Time) -> u64 {
        from + self.between(from, self.end()).partition_point(|note| note.at < at) as u64
    }

    /// Notes that a packet has started while watched packets wait. Returns true if there are too
    /// many notes.
    pub(super) fn started(&mut self, at: Time, flow: u32, len: u32) -> bool {
        self.kept.push(Note { at, kind: NoteKind::Started { flow, len } });
        self.kept.len() >= self.most.max(FEWEST_NOTES)
    }

    /// Notes the state of the link while watched packets wait.
    pub(super) fn is(&mut self, at: Time, state: State) {
        self.kept.push(Note { at, kind: NoteKind::Is(state) });
    }

    /// Forgets the notes before `first`.
    pub(super) fn forget(&mut self, first: u64, under_way: usize) {
        let first = first.min(self.end());
        self.kept.drain(..(first - self.forgotten) as usize);
        self.forgotten = first;
        self.most = 2 * self.kept.len().max(under_way);
    }

    /// Sums up the wait of a packet between two times.
    pub(super) fn sum(&self, before: &WaitNotes, joined: Time, started: Time) -> Waiting {
        let (from, until) = match before {
            WaitNotes::Noted { from, until } => (*from, *until),
            WaitNotes::Summed(waiting) => return waiting.clone(),
        };
        let mut served: BTreeMap<u32, Served> = BTreeMap::new();
        let mut causes: BTreeMap<Cause, Span> = BTreeMap::new();
        let mut took = |cause: Cause, from: Time, until: Time| {
            if from < until {
                *causes.entry(cause).or_default() += until.since(from);
            }
        };
        let (mut since, mut state) = (joined, State { block: None, link: Cause::Unknown });
        let mut passes_to = |at: Time, state: &State| {
            let at = at.clamp(since, started);
            let freed = state.block.map_or(since, |(_, until)| until.clamp(since, at));
            if let Some((block, _)) = state.block {
                took(Cause::Block(block), since, freed);
            }
            took(state.link, freed, at);
            since = at;
        };
        for Note { at, kind } in self.between(from, until) {
            match kind {
                NoteKind::Started { flow, len } => {
                    let none = Served { flow: *flow, packets: 0, bytes: 0, took: Span::ZERO };
                    let sum = served.entry(*flow).or_insert(none);
                    sum.packets += 1;
                    sum.bytes += u64::from(*len);
                }
                NoteKind::Is(next) => {
                    passes_to(*at, &state);
                    state = *next;
                }
            }
        }
        passes_to(started, &state);
        let mut waiting = Waiting::default();
        for (cause, span) in causes {
            match cause {
                // The packet that was in service on its arrival has no start among the notes.
                Cause::Packet(flow) => {
                    let none = Served { flow, packets: 0, bytes: 0, took: Span::ZERO };
                    served.entry(flow).or_insert(none).took = span;
                }
                _ => waiting.causes.push((cause, span)),
            }
        }
        waiting.served = served.into_values().collect();
        waiting
    }
}
