//! Times at which a packet may start on a link, and at which its last bit is out.

use super::Ticks;
use std::sync::Arc;
use tidegate_core::link::Trace;
use tidegate_core::units::{Rate, Span, Time};

/// Bytes that an opportunity of a trace delivers.
const BYTES: u32 = 1500;

/// One direction of a link.
pub struct Line {
    rate: Rate,
    /// The opportunities of its trace that are not over: their times, and the bytes that are left
    /// of each.
    opportunities: Option<Vec<(Ticks, u32)>>,
}

impl Line {
    /// A line whose trace is written out up to `until`, and one period beyond.
    pub fn new(rate: Rate, trace: Option<&Arc<Trace>>, until: Ticks) -> Line {
        let opportunities = trace.map(|trace| {
            let mut list: Vec<(Ticks, u32)> = instants(trace, until).map(|at| (at, BYTES)).collect();
            list.reverse();
            list
        });
        Line { rate, opportunities }
    }

    pub fn is_traced(&self) -> bool {
        self.opportunities.is_some()
    }

    /// The first time from `now` on at which a packet may start.
    pub fn opens(&mut self, now: Ticks) -> Ticks {
        let Some(list) = &mut self.opportunities else { return now };
        while list.last().is_some_and(|(at, left)| *at < now || *left == 0) {
            list.pop();
        }
        list.last().map_or(Ticks::MAX, |(at, _)| *at)
    }

    /// The times from `now` on at which it is open, with a trace; otherwise only `now`.
    pub fn openings(&self, now: Ticks) -> Vec<Ticks> {
        match &self.opportunities {
            None => vec![now],
            Some(list) => {
                let left = list.iter().rev().filter(|(at, left)| *at >= now && *left > 0);
                left.map(|(at, _)| *at).collect()
            }
        }
    }

    /// Starts a packet at a time at which the line is open; returns the time when its last bit is
    /// out.
    pub fn carry(&mut self, now: Ticks, len: u32) -> Ticks {
        self.opens(now);
        let Some(list) = &mut self.opportunities else { return now + self.rate.time_for(len).ticks().max(1) };
        let mut rest = len;
        while let Some((at, left)) = list.last_mut() {
            if *left >= rest {
                *left -= rest;
                return *at;
            }
            rest -= *left;
            list.pop();
        }
        Ticks::MAX
    }
}

/// The instants of a trace, over and over.
fn instants(trace: &Trace, until: Ticks) -> impl Iterator<Item = Ticks> {
    let origin = Time::ORIGIN.ticks();
    let period = trace.period().ticks();
    let millisecond = Span::from_millis(1).ticks();
    // The count up to the end of each millisecond, less the count up to its beginning.
    let at = move |ms: u64| {
        let [before, after] =
            [0, 1].map(|tick| trace.opportunities_within(Span::from_ticks(ms * millisecond + tick)));
        (0..after - before).map(move |_| origin + ms * millisecond)
    };
    let last = (until - origin + 3 * period) / millisecond;
    (0..=last).flat_map(at)
}
