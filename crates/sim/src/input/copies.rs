//! Packets of a capture that are copies of others.
//!
//! A capture of all interfaces (`any`), or of a mirror port that copies both directions of several
//! ports, holds each packet once for every place that it passes. A copy has the content of the
//! earlier packet, except for hop limit and link header, and arrives within [`WINDOW`].
//!
//! Equal contents alone do not make a copy: senders repeat themselves (acknowledgements, constant
//! payloads). So the packets of a 5-tuple are judged together:
//!
//! - nearly every packet was seen at another place as well: those of the second place are copies;
//! - contents differ from one packet to the next, and nearly every one comes twice: the second is a
//!   copy;
//! - contents do not differ: packets are copies if their times stand in pairs and so do those of
//!   nearly the whole file, or if nearly all other packets of the file are known to be doubled.

use super::packet::Look;
use super::ticks::{SECOND, Ticks};
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::units::Span;

/// The longest time between a packet and its copy.
const WINDOW: Ticks = SECOND / 10;
/// Time for which contents are remembered, to detect repeated ones.
const MEMORY: Ticks = SECOND;
/// The most contents that are remembered: it bounds the memory.
const MAX_REMEMBERED: usize = 200_000;
/// Fewest packets of a 5-tuple that is judged by itself; all smaller ones are judged together.
const FEW: u64 = 10;

/// Earlier packet that a packet may be a copy of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CopyOf {
    #[default]
    Nothing,
    /// One that was seen at the same place.
    SamePlace,
    /// One that was seen at another place.
    OtherPlace,
}

/// Packets of a 5-tuple that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    Nothing,
    /// Copies of packets at another place.
    SeenElsewhere,
    /// All copies.
    Copies,
    /// The second of each pair; if their times do not stand in pairs, every second packet when the
    /// rest of the file is doubled.
    Pairs {
        or_every_second: bool,
    },
}

/// Detects copies among packets.
#[derive(Default)]
pub(super) struct Copies {
    contents: BTreeMap<u64, EqualPackets>,
    order: VecDeque<(Ticks, u64)>,
    seen: Vec<Counts>,
}

/// Packets with one content.
struct EqualPackets {
    latest: Ticks,
    first: Original,
    more: Vec<Original>,
}

/// A packet that is not a copy of an earlier one at another place.
#[derive(Clone, Copy)]
struct Original {
    time: Ticks,
    /// Places at which it and its copies were seen.
    places: [u64; PLACES],
    seen: usize,
}

/// The most places at which a packet is seen: further copies are taken for originals.
const PLACES: usize = 4;

/// The packets of a 5-tuple.
#[derive(Clone, Copy, Default)]
struct Counts {
    packets: u64,
    /// Packets with new content.
    fresh: u64,
    here: u64,
    elsewhere: u64,
}

impl Original {
    fn at(time: Ticks, place: u64) -> Original {
        Original { time, places: [place; PLACES], seen: 1 }
    }

    /// Returns true if a packet at `time` and `place` is this one, seen at another place, and notes
    /// the place.
    fn is_seen(&mut self, time: Ticks, place: u64) -> bool {
        let known = &self.places[..self.seen];
        let is = (time - self.time).abs() <= WINDOW && self.seen < PLACES && !known.contains(&place);
        if is {
            self.places[self.seen] = place;
            self.seen += 1;
        }
        is
    }
}

impl Copies {
    /// Returns the kind of copy that the packet, of 5-tuple number `kin`, may be.
    pub(super) fn see(&mut self, kin: u32, time: Ticks, look: &Look) -> CopyOf {
        self.forget(time);
        let at = kin as usize;
        if at >= self.seen.len() {
            self.seen.resize(at + 1, Counts::default());
        }
        let counts = &mut self.seen[at];
        counts.packets += 1;
        // 5-tuples never share a content: addresses and ports are part of it.
        let Some(content) = self.contents.get_mut(&look.content) else {
            counts.fresh += 1;
            let first = Original::at(time, look.place);
            self.contents.insert(look.content, EqualPackets { latest: time, first, more: Vec::new() });
            self.order.push_back((time, look.content));
            return CopyOf::Nothing;
        };
        content.more.retain(|original| (time - original.time).abs() <= WINDOW);
        let originals = std::iter::once(&mut content.first).chain(&mut content.more);
        for original in originals {
            if original.is_seen(time, look.place) {
                counts.elsewhere += 1;
                return CopyOf::OtherPlace;
            }
        }
        let near = (time - content.latest).abs() <= WINDOW;
        content.latest = content.latest.max(time);
        content.more.push(Original::at(time, look.place));
        if near {
            counts.here += 1;
            return CopyOf::SamePlace;
        }
        CopyOf::Nothing
    }

    fn forget(&mut self, now: Ticks) {
        while let Some((time, content)) = self.order.front().copied() {
            if now - time <= MEMORY && self.order.len() < MAX_REMEMBERED {
                return;
            }
            self.order.pop_front();
            let Some(known) = self.contents.get(&content) else { continue };
            // It was repeated since, and is kept for as long again.
            if known.latest > time && self.order.len() < MAX_REMEMBERED && now - known.latest <= MEMORY {
                self.order.push_back((known.latest, content));
                return;
            }
            self.contents.remove(&content);
        }
    }

    /// Returns the packets to remove of each 5-tuple. `pairs` returns true if the times of a
    /// 5-tuple stand in pairs.
    pub(super) fn judge(&self, pairs: impl Fn(usize) -> bool) -> Vec<Removed> {
        let small = |counts: &&Counts| counts.packets < FEW;
        let few = self.seen.iter().filter(small).fold(Counts::default(), |sum, one| Counts {
            packets: sum.packets + one.packets,
            fresh: sum.fresh + one.fresh,
            here: sum.here + one.here,
            elsewhere: sum.elsewhere + one.elsewhere,
        });
        let judged: Vec<Option<Removed>> =
            self.seen.iter().map(|one| if small(&one) { few.judge() } else { one.judge() }).collect();
        let packets = |which: &dyn Fn(&Option<Removed>) -> bool| -> u64 {
            self.seen.iter().zip(&judged).filter(|(_, one)| which(one)).map(|(one, _)| one.packets).sum()
        };
        let known = packets(&Option::is_some);
        let doubled = packets(&|one| one.is_some_and(|one| one != Removed::Nothing));
        let unknown = packets(&Option::is_none);
        // Where contents do not decide, the rest of the file does.
        let rest_doubled = doubled > 0 && doubled * 10 >= known * 9;
        let in_pairs: Vec<bool> =
            judged.iter().enumerate().map(|(kin, one)| one.is_none() && pairs(kin)).collect();
        let paired: u64 =
            self.seen.iter().zip(&in_pairs).filter(|(_, is)| **is).map(|(one, _)| one.packets).sum();
        let all_paired = known < FEW && unknown >= FEW && paired * 10 >= unknown * 9;
        judged
            .into_iter()
            .zip(in_pairs)
            .map(|(one, in_pairs)| match one {
                Some(removed) => removed,
                None if rest_doubled => Removed::Pairs { or_every_second: true },
                None if all_paired && in_pairs => Removed::Pairs { or_every_second: false },
                None => Removed::Nothing,
            })
            .collect()
    }
}

impl Counts {
    /// Returns `None` when contents do not decide.
    fn judge(&self) -> Option<Removed> {
        let originals = self.packets - self.elsewhere;
        if self.elsewhere > 0 && self.elsewhere * 10 >= originals * 8 {
            return Some(Removed::SeenElsewhere);
        }
        let again = originals - self.fresh - self.here;
        let differ = again * 10 <= self.fresh && self.here <= self.fresh * 3 + self.fresh / 2;
        differ.then_some(match self.here > 0 && self.here * 10 >= self.fresh * 8 {
            true => Removed::Copies,
            false => Removed::Nothing,
        })
    }
}

/// Marks the packets of a flow, in the order of time, that are the second of a pair: as long as the
/// first, and much closer to it than the neighbours are to the pair.
pub(super) fn pairs(packets: &[(Span, u32)]) -> Vec<bool> {
    let mut second = vec![false; packets.len()];
    let mut at = 0;
    while at + 1 < packets.len() {
        let (first, next) = (packets[at], packets[at + 1]);
        let within = (next.0 - first.0).ticks();
        let after = packets.get(at + 2).map(|third| (third.0 - next.0).ticks());
        let before = at.checked_sub(1).map(|last| (first.0 - packets[last].0).ticks());
        let apart = |gap: Option<u64>| gap.is_none_or(|gap| gap / 4 >= within && gap > 0);
        if first.1 == next.1 && i128::from(within) <= WINDOW && apart(after) && apart(before) {
            second[at + 1] = true;
            at += 1;
        }
        at += 1;
    }
    second
}

/// Returns true if nearly all packets of a flow stand in pairs.
pub(super) fn is_in_pairs(packets: &[(Span, u32)]) -> bool {
    let seconds = pairs(packets).into_iter().filter(|second| *second).count();
    packets.len() as u64 >= FEW && seconds * 2 * 10 >= packets.len() * 9
}
