//! Gathers packets into a [`Trace`]: the part that captures and lists share.

use super::clock::{BESIDE, Beside, Clock};
use super::copies::{self, Copies, CopyOf, Removed};
use super::error::{InputError, TracePlace};
use super::mended::Mended;
use super::packet::Arrival;
use super::segments::{Cut, Whole};
use super::ticks::{SECOND, Ticks};
use super::trace::{Trace, TraceFlow};
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::headers::Headers;
use tidegate_core::units::Span;

/// The most packets of a file: 320 MB of memory, twice that while they are read.
pub const MAX_PACKETS: u64 = 20_000_000;

/// Extent to which time may go back in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Not at all.
    Strict,
    /// Packets may be late, and the clock may be set ([`Clock`]).
    ByTheClock,
}

pub(super) struct Collector<'a> {
    file: &'a Path,
    order: Order,
    /// Times of the first and the latest packet of a list.
    times: Option<(Ticks, Ticks)>,
    flows: Vec<Gathered>,
    clock: Clock,
    copies: Copies,
    /// Maximum segment sizes that TCP connections announce, by the number of the 5-tuple.
    announced: BTreeMap<u32, u16>,
    packets: u64,
    /// The most packets that are taken.
    most: u64,
    pub(super) mended: Mended,
}

/// The packets of a flow, in the order of the file.
#[derive(Default)]
struct Gathered {
    kin: u32,
    six: bool,
    packets: Vec<Stored>,
}

/// A packet, in the memory of its time and its bytes alone.
#[derive(Clone, Copy)]
struct Stored {
    /// Time since one second before its epoch, in ticks.
    since: u64,
    bytes: u32,
    marks: Marks,
}

/// Epoch (14 bits), bytes of all headers (9), bytes of the link header (7), and the kind of copy
/// (2).
#[derive(Clone, Copy)]
struct Marks(u32);

impl Marks {
    fn new(epoch: usize, arrival: &Arrival, copy_of: CopyOf) -> Marks {
        let look = arrival.look.and_then(|look| Some((look.head?, look.link)));
        // Headers too long for the bit fields are not stored: such a packet is left whole.
        let (head, link) = look.filter(|(head, link)| *head < 1 << 9 && *link < 1 << 7).unwrap_or((0, 0));
        let copy_of = match copy_of {
            CopyOf::Nothing => 0,
            CopyOf::SamePlace => 1,
            CopyOf::OtherPlace => 2,
        };
        Marks((epoch as u32) << 18 | head << 9 | link << 2 | copy_of)
    }

    fn epoch(self) -> usize {
        (self.0 >> 18) as usize
    }

    fn copy_of(self) -> CopyOf {
        match self.0 & 3 {
            1 => CopyOf::SamePlace,
            2 => CopyOf::OtherPlace,
            _ => CopyOf::Nothing,
        }
    }
}

impl Stored {
    /// Returns the packet for cutting; `None` if it may not be cut.
    fn whole(self) -> Option<Whole> {
        let (head, link) = (self.marks.0 >> 9 & 0x1ff, self.marks.0 >> 2 & 0x7f);
        (head > 0 && head < self.bytes).then_some(Whole { bytes: self.bytes, link, head })
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a Path, order: Order) -> Collector<'a> {
        Collector {
            file,
            order,
            times: None,
            flows: Vec::new(),
            clock: Clock::default(),
            copies: Copies::default(),
            announced: BTreeMap::new(),
            packets: 0,
            most: MAX_PACKETS,
            mended: Mended::default(),
        }
    }

    /// Returns the number of packets taken.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Takes a packet.
    pub(super) fn push(&mut self, arrival: &Arrival, place: TracePlace) -> Result<(), InputError> {
        let file = || self.file.to_owned();
        if arrival.bytes == 0 {
            return Err(InputError::ZeroSize { file: file(), place });
        }
        if self.packets == self.most {
            return Err(InputError::TooMany { file: file(), most: self.most });
        }
        let (epoch, since) = match self.order {
            Order::Strict => (0, self.since(arrival.time, place)?),
            Order::ByTheClock => self.clock.see(arrival.interface, arrival.time, place),
        };
        let copy_of = arrival.look.map_or(CopyOf::Nothing, |look| {
            if let Some(announced) = look.announced {
                self.announced.insert(arrival.kin, announced);
            }
            self.copies.see(arrival.kin, arrival.time, &look)
        });
        let flow = arrival.flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, Gathered::default);
        }
        let flow = &mut self.flows[flow];
        (flow.kin, flow.six) = (arrival.kin, arrival.look.is_some_and(|look| look.six));
        flow.packets.push(Stored { since, bytes: arrival.bytes, marks: Marks::new(epoch, arrival, copy_of) });
        self.packets += 1;
        Ok(())
    }

    /// Returns the time since one second before the first packet of a list.
    fn since(&mut self, time: Ticks, place: TracePlace) -> Result<u64, InputError> {
        let (first, latest) = self.times.unwrap_or((time, time));
        if time < latest {
            let by = Span::from_ticks(u64::try_from(latest - time).unwrap_or(u64::MAX));
            return Err(InputError::Backwards { file: self.file.to_owned(), place, by });
        }
        self.times = Some((first, time));
        u64::try_from(time - first + SECOND)
            .map_err(|_| InputError::TooLong { file: self.file.to_owned(), place })
    }

    /// Returns the trace. `describe` gives the name and the headers of a flow by its number,
    /// `reverse` the number of the 5-tuple in the other direction. `end` is the end of reading:
    /// that of the file, or where it is cut off, which is an error if there is no packet before.
    pub(super) fn finish(
        mut self,
        end: Result<(), InputError>,
        describe: impl Fn(usize) -> (String, Option<Headers>),
        reverse: impl Fn(u32) -> Option<u32>,
    ) -> Result<Trace, InputError> {
        let cut = match end {
            Ok(()) => None,
            Err(InputError::Truncated { place, .. }) if self.packets > 0 => Some(place),
            Err(error) => return Err(error),
        };
        let mut placed = self.placed();
        self.remove_copies(&mut placed);
        let room = self.most;
        let mut mended = std::mem::take(&mut self.mended);
        let mut flows: Vec<(usize, Vec<(Span, u32)>)> = Vec::new();
        let mut packets = 0;
        for (number, (flow, stored)) in self.flows.iter().zip(placed).enumerate() {
            let both = [Some(flow.kin), reverse(flow.kin)];
            let announced = both.iter().flatten().filter_map(|kin| self.announced.get(kin)).min().copied();
            let played = in_segments(stored, announced, flow.six, &mut mended);
            packets += played.len() as u64;
            if packets > room {
                return Err(InputError::TooMany { file: self.file.to_owned(), most: room });
            }
            if !played.is_empty() {
                flows.push((number, played));
            }
        }
        let first = flows.iter().filter_map(|(_, packets)| packets.first()).map(|packet| packet.0).min();
        let last = flows.iter().filter_map(|(_, packets)| packets.last()).map(|packet| packet.0).max();
        let (Some(first), Some(last)) = (first, last) else {
            return Err(InputError::Empty { file: self.file.to_owned() });
        };
        let span = last - first;
        let gap = match packets - 1 {
            0 => 0,
            gaps => (span.ticks() + gaps / 2) / gaps,
        };
        let period = span + Span::from_ticks(gap);
        let flows: Vec<TraceFlow> = flows
            .into_iter()
            .map(|(number, mut packets)| {
                packets.iter_mut().for_each(|(time, _)| *time = *time - first);
                let (name, headers) = describe(number);
                TraceFlow { name, packets, period, headers }
            })
            .collect();
        let bytes = flows.iter().map(TraceFlow::bytes).fold(0, u64::saturating_add);
        Ok(Trace { flows, packets, bytes, span, reordered: self.clock.reordered, cut, mended })
    }

    /// Returns the packets of each flow in the order of time, with times since one second before
    /// the first of the file.
    fn placed(&mut self) -> Vec<Vec<Stored>> {
        let mut flows: Vec<Vec<Stored>> =
            self.flows.iter_mut().map(|flow| std::mem::take(&mut flow.packets)).collect();
        let epochs = self.clock.epochs();
        if !epochs.is_empty() {
            let beside = if epochs.len() > 1 { self.beside(&flows) } else { vec![Beside::default()] };
            let shifts = self.clock.shifts(self.packets, &beside, &mut self.mended);
            let starts: Vec<Ticks> =
                epochs.iter().zip(shifts).map(|(epoch, shift)| epoch.first + shift).collect();
            let origin = starts.iter().copied().min().unwrap_or(0);
            for packet in flows.iter_mut().flatten() {
                let moved = starts[packet.marks.epoch()] - origin + Ticks::from(packet.since);
                packet.since = u64::try_from(moved).unwrap_or(u64::MAX);
            }
        }
        for packets in &mut flows {
            // A stable sort: packets of one time stay in the order of the file. If all are in
            // order, it is one pass.
            packets.sort_by_key(|packet| packet.since);
        }
        flows
    }

    /// Counts the packets beside the beginning of each epoch.
    fn beside(&self, flows: &[Vec<Stored>]) -> Vec<Beside> {
        let epochs = self.clock.epochs();
        let mut beside = vec![Beside::default(); epochs.len()];
        let mut ends = vec![0; epochs.len()];
        // Packets of one flow at the start and at the end of each of its epochs.
        let mut of_flow = BTreeMap::<usize, [u64; 2]>::new();
        for packets in flows {
            of_flow.clear();
            for packet in packets {
                let number = packet.marks.epoch();
                let length = epochs[number].latest - epochs[number].first;
                let since = Ticks::from(packet.since) - SECOND;
                let counts = of_flow.entry(number).or_default();
                counts[0] += u64::from(since <= BESIDE);
                counts[1] += u64::from(length - since <= BESIDE);
            }
            for (number, [start, end]) in &of_flow {
                beside[*number].at_start += start;
                ends[*number] += end;
                let Some(before) = self.clock.before(*number) else { continue };
                if let Some([_, end]) = of_flow.get(&before).filter(|[_, end]| *end > 0 && *start > 0) {
                    beside[*number].shared_start += start;
                    beside[*number].shared_end += end;
                }
            }
        }
        // The end of an epoch is beside the start of those that follow it.
        for (after, one) in beside.iter_mut().enumerate() {
            one.at_end = self.clock.before(after).map_or(0, |before| ends[before]);
        }
        beside
    }

    fn remove_copies(&mut self, flows: &mut [Vec<Stored>]) {
        let plain = |packets: &[Stored]| -> Vec<(Span, u32)> {
            packets.iter().map(|packet| (Span::from_ticks(packet.since), packet.bytes)).collect()
        };
        let mut of_kin = BTreeMap::<usize, Vec<usize>>::new();
        for (number, flow) in self.flows.iter().enumerate() {
            of_kin.entry(flow.kin as usize).or_default().push(number);
        }
        let removed = self.copies.judge(|kin| {
            let flows: Vec<_> = of_kin.get(&kin).into_iter().flatten().map(|at| plain(&flows[*at])).collect();
            flows.iter().all(|packets| copies::is_in_pairs(packets))
        });
        for (flow, packets) in self.flows.iter().zip(flows) {
            let before = packets.len();
            match removed.get(flow.kin as usize).copied().unwrap_or(Removed::Nothing) {
                Removed::Nothing => {}
                Removed::SeenElsewhere => {
                    packets.retain(|packet| packet.marks.copy_of() != CopyOf::OtherPlace)
                }
                Removed::Copies => packets.retain(|packet| packet.marks.copy_of() == CopyOf::Nothing),
                Removed::Pairs { or_every_second } => {
                    let times = plain(packets);
                    let mut second = copies::pairs(&times);
                    if or_every_second && !copies::is_in_pairs(&times) {
                        second = (0..times.len()).map(|nth| nth % 2 == 1).collect();
                    }
                    let mut second = second.into_iter();
                    packets.retain(|_| !second.next().unwrap_or(false));
                }
            }
            self.mended.copies += (before - packets.len()) as u64;
        }
    }
}

/// Returns the packets of a flow, with those cut that no link carries.
fn in_segments(
    packets: Vec<Stored>,
    announced: Option<u16>,
    six: bool,
    mended: &mut Mended,
) -> Vec<(Span, u32)> {
    let plain = |packet: Stored| (Span::from_ticks(packet.since), packet.bytes);
    let wholes = packets.iter().filter_map(|packet| packet.whole());
    let Some(cut) = Cut::of(wholes, announced, six) else {
        return packets.into_iter().map(plain).collect();
    };
    let mut played = Vec::with_capacity(packets.len());
    for packet in packets {
        let Some(whole) = packet.whole().filter(|whole| whole.is_long()) else {
            played.push(plain(packet));
            continue;
        };
        let before = played.len();
        let time = Span::from_ticks(packet.since);
        for bytes in cut.segments(whole, announced.is_some()) {
            played.push((time, bytes));
        }
        let segments = (played.len() - before) as u64;
        if segments > 1 {
            mended.super_packets += 1;
            mended.segments += segments;
            mended.longest = mended.longest.max(packet.bytes);
            mended.longest_segment = mended.longest_segment.max(played[before].1);
        }
    }
    played
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets of a file are kept in memory, so their number is limited.
    #[test]
    fn packets_beyond_the_most_are_refused() {
        let mut collector = Collector { most: 2, ..Collector::new(Path::new("a.pcap"), Order::Strict) };
        let mut push = |number: u64| {
            let time = number.into();
            let arrival = Arrival { time, interface: 0, flow: 0, kin: 0, bytes: 100, look: None };
            collector.push(&arrival, TracePlace::Line(number))
        };
        assert!(push(1).is_ok() && push(2).is_ok());
        let refused = push(3).unwrap_err().to_string();
        assert_eq!(
            refused,
            "a.pcap: holds more than 2 packets, and they are kept in memory: cut it into shorter files \
             (`editcap -c 2`)"
        );
    }
}
