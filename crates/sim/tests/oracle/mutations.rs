//! Falsified logs.

use crate::history::History;
use crate::model;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_sim::packet_log::{Entry, PacketEvent, PacketId};

/// A way to falsify a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Two packets that waited at the same port are sent in the other order.
    Swap,
    /// A packet starts a tick late.
    StartLate,
    /// A packet's last bit is out a tick late.
    DepartLate,
    /// A packet stays in service.
    NoDeparture,
    /// A packet is dropped without a log entry.
    NoDrop,
    /// A drop names another packet than the dropped one.
    OtherDrop,
    /// A packet is not received.
    NoReception,
}

impl Mutation {
    pub const ALL: [Mutation; 7] = [
        Mutation::Swap,
        Mutation::StartLate,
        Mutation::DepartLate,
        Mutation::NoDeparture,
        Mutation::NoDrop,
        Mutation::OtherDrop,
        Mutation::NoReception,
    ];

    /// A log falsified at a random modelled place; `None` when the log has no place for this
    /// mutation.
    pub fn of(self, rng: &mut Rng, history: &History<'_>, log: &[Entry]) -> Option<Vec<Entry>> {
        let skipped = model::skipped(history.network);
        let modelled = |link: u32| !skipped.contains(&history.network.links[link as usize].from);
        let mut log = log.to_vec();
        let mut one = |wanted: &dyn Fn(&Entry) -> bool| {
            let counts = |entry: &Entry| modelled(entry.link) && wanted(entry);
            let places: Vec<usize> = (0..log.len()).filter(|ix| counts(&log[*ix])).collect();
            (!places.is_empty()).then(|| places[rng.below(places.len() as u64) as usize])
        };
        match self {
            Mutation::Swap => {
                let (a, b) = pair(rng, history, &modelled)?;
                log.iter_mut().for_each(|entry| exchange(entry, a, b));
            }
            Mutation::StartLate => {
                let ix = one(&|entry| matches!(entry.what, PacketEvent::Started { .. }))?;
                log[ix].at += Span::from_ticks(1);
            }
            Mutation::DepartLate => {
                let ix = one(&|entry| matches!(entry.what, PacketEvent::Departed(_)))?;
                log[ix].at += Span::from_ticks(1);
            }
            Mutation::NoDeparture => {
                let ix = one(&|entry| matches!(entry.what, PacketEvent::Departed(_)))?;
                log.remove(ix);
            }
            Mutation::NoDrop => {
                let ix = one(&|entry| matches!(entry.what, PacketEvent::Dropped(..)))?;
                log.remove(ix);
            }
            Mutation::OtherDrop => {
                let ix = one(
                    &|entry| matches!(entry.what, PacketEvent::Dropped(packet, _) if packet.sequence > 0),
                )?;
                if let PacketEvent::Dropped(packet, _) = &mut log[ix].what {
                    packet.sequence -= 1;
                }
            }
            Mutation::NoReception => {
                let ix = one(&|entry| matches!(entry.what, PacketEvent::Received(_)))?;
                log.remove(ix);
            }
        }
        Some(log)
    }
}

/// Two packets of different flows that were sent by one port one after the other, the second of
/// which was queued when the first started: the link, and both.
fn pair(
    rng: &mut Rng,
    history: &History<'_>,
    modelled: &dyn Fn(u32) -> bool,
) -> Option<((u32, PacketId), PacketId)> {
    let mut pairs = Vec::new();
    for link in (0..history.network.links.len()).filter(|link| modelled(*link as u32)) {
        let sent: Vec<_> = history.sent(link).collect();
        for two in sent.windows(2) {
            let waited = two[1].queued < two[0].started && two[1].departed.is_some();
            if waited && two[0].packet.flow != two[1].packet.flow && two[0].len == two[1].len {
                pairs.push(((link as u32, two[0].packet), two[1].packet));
            }
        }
    }
    (!pairs.is_empty()).then(|| pairs[rng.below(pairs.len() as u64) as usize])
}

/// Exchanges two packets in a link's entries.
fn exchange(entry: &mut Entry, (link, a): (u32, PacketId), b: PacketId) {
    if entry.link == link
        && let PacketEvent::Started { packet, .. } | PacketEvent::Departed(packet) = &mut entry.what
    {
        if *packet == a {
            *packet = b;
        } else if *packet == b {
            *packet = a;
        }
    }
}
