//! Gathers packets into a [`Trace`]: what captures and lists have in common.

use super::{InputError, Place, Trace, TraceFlow};
use std::path::Path;
use tidegate_core::units::{Span, TICKS_PER_SECOND};

/// Ticks of 10 ps since any origin: wide enough for the year 1970 and for any clock.
pub(super) type Ticks = i128;

/// One second, in ticks.
pub(super) const SECOND: Ticks = TICKS_PER_SECOND as Ticks;

/// The most packets of a file: 320 MB of memory, twice that while they are read.
pub const MOST_PACKETS: u64 = 20_000_000;

/// How far time may go back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Not at all.
    Strict,
    /// By at most one second: captures from several queues or processors are like that.
    WithinASecond,
}

pub(super) struct Collector<'a> {
    file: &'a Path,
    order: Order,
    /// The first packet's time and the latest so far.
    times: Option<(Ticks, Ticks)>,
    /// By flow number; times are counted from one second before the first packet.
    flows: Vec<Vec<(Span, u32)>>,
    packets: u64,
    /// The most of them.
    most: u64,
    bytes: u64,
    reordered: u64,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a Path, order: Order) -> Collector<'a> {
        let (flows, most) = (Vec::new(), MOST_PACKETS);
        Collector { file, order, times: None, flows, packets: 0, most, bytes: 0, reordered: 0 }
    }

    /// How many packets were taken.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Takes a packet of flow number `flow`, which is at most one above the greatest
    /// so far.
    pub(super) fn push(
        &mut self,
        time: Ticks,
        flow: u32,
        bytes: u32,
        place: Place,
    ) -> Result<(), InputError> {
        let file = || self.file.to_owned();
        if bytes == 0 {
            return Err(InputError::ZeroSize { file: file(), place });
        }
        if self.packets == self.most {
            return Err(InputError::TooMany { file: file(), most: self.most });
        }
        let (first, latest) = self.times.unwrap_or((time, time));
        if time < latest {
            let (most, allowed) = match self.order {
                Order::Strict => (0, "times that do not decrease"),
                Order::WithinASecond => (SECOND, "at most 1 s (small reorderings are put in order)"),
            };
            if latest - time > most {
                let by = Span::from_ticks(u64::try_from(latest - time).unwrap_or(u64::MAX));
                return Err(InputError::Backwards { file: file(), place, by, allowed });
            }
            self.reordered += 1;
        }
        // Not negative: time is at most a second before the latest, and so before the first.
        let Ok(since) = u64::try_from(time - first + SECOND) else {
            return Err(InputError::TooLong { file: file(), place });
        };
        self.times = Some((first, latest.max(time)));
        let flow = flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, Vec::new);
        }
        self.flows[flow].push((Span::from_ticks(since), bytes));
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        Ok(())
    }

    /// The trace, with the name of every flow by its number. `end` says how reading ended: with the file, or
    /// where it is cut off, which is an error if there is no packet before.
    pub(super) fn finish(
        self,
        end: Result<(), InputError>,
        name: impl Fn(usize) -> String,
    ) -> Result<Trace, InputError> {
        let cut = match end {
            Ok(()) => None,
            Err(InputError::Truncated { place, .. }) if self.packets > 0 => Some(place),
            Err(error) => return Err(error),
        };
        let mut flows = self.flows;
        for packets in &mut flows {
            // Stable: packets of one time stay in the order of the file. In order, it is
            // one pass.
            packets.sort_by_key(|(time, _)| *time);
            packets.shrink_to_fit();
        }
        let first = flows.iter().filter_map(|p| p.first()).map(|p| p.0).min();
        let last = flows.iter().filter_map(|p| p.last()).map(|p| p.0).max();
        let (Some(first), Some(last)) = (first, last) else {
            return Err(InputError::Empty { file: self.file.to_owned() });
        };
        let span = last - first;
        let gap = match self.packets - 1 {
            0 => 0,
            gaps => (span.ticks() + gaps / 2) / gaps,
        };
        let period = span + Span::from_ticks(gap);
        let flows = flows.into_iter().enumerate().map(|(number, mut packets)| {
            packets.iter_mut().for_each(|(time, _)| *time = *time - first);
            TraceFlow { name: name(number), packets, period, headers: None }
        });
        Ok(Trace {
            flows: flows.collect(),
            packets: self.packets,
            bytes: self.bytes,
            span,
            reordered: self.reordered,
            cut,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets of a file are in memory, so that there is an end to them.
    #[test]
    fn packets_beyond_the_most_are_refused() {
        let mut collector = Collector { most: 2, ..Collector::new(Path::new("a.pcap"), Order::Strict) };
        let mut push = |number: u64| collector.push(number.into(), 0, 100, Place::Line(number));
        assert!(push(1).is_ok() && push(2).is_ok());
        let refused = push(3).unwrap_err().to_string();
        assert_eq!(
            refused,
            "a.pcap: holds more than 2 packets, and they are kept in memory: cut it into shorter files \
             (`editcap -c 2`)"
        );
    }
}
