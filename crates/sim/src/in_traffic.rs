//! In-traffic of links against their capacity: the traffic inside the profiles, which must be
//! carried (Clark and Fang 1998, section II.D).
//!
//! In-traffic of a link is the green packets that reach its port's queue, including those dropped
//! there: it may exceed the link's capacity. It is counted for links whose packets pass a colouring
//! meter at or before them. Packets that no meter has coloured are green, as they are for droppers.

use std::collections::BTreeMap;
use tidegate_core::units::{Rate, Span, Time};

/// The greatest share is taken over one second: bursts within a round-trip time are averaged out, a
/// busy minute is not.
pub const WINDOW: Span = Span::from_secs(1);

/// Counters of links with in-traffic.
#[derive(Clone, Debug)]
pub(crate) struct InTraffic {
    links: BTreeMap<u32, LinkCounters>,
    /// End of the present window; `NEVER` without links.
    next: Time,
}

/// Counters of one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkCounters {
    /// Capacity of its port: the rate of the link, or the port's ceiling.
    capacity: Rate,
    /// Bytes that had arrived by the end of the warm-up.
    before_measuring: u64,
    /// Bytes that had arrived by the beginning of the window.
    before_window: u64,
    /// The greatest share in a window so far.
    greatest: Option<f64>,
}

impl InTraffic {
    /// Creates counters for links with these port capacities; measurement begins at `warm_at`.
    pub(crate) fn new(links: impl Iterator<Item = (u32, Rate)>, warm_at: Time) -> InTraffic {
        let counted = |(link, capacity)| {
            (link, LinkCounters { capacity, before_measuring: 0, before_window: 0, greatest: None })
        };
        let links: BTreeMap<_, _> = links.map(counted).collect();
        let next = if links.is_empty() { Time::NEVER } else { warm_at + WINDOW };
        InTraffic { links, next }
    }

    /// Iterates over the links with counters.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> {
        self.links.keys().copied()
    }

    /// Returns the end of the present window.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Returns the counters of a link; `None` for a link without in-traffic.
    pub(crate) fn of(&self, link: u32) -> Option<&LinkCounters> {
        self.links.get(&link)
    }

    /// Begins the measurement of a link, to which `bytes` have come so far.
    pub(crate) fn begin(&mut self, link: u32, bytes: u64) {
        if let Some(counted) = self.links.get_mut(&link) {
            (counted.before_measuring, counted.before_window) = (bytes, bytes);
        }
    }

    /// Ends the window of a link to which `bytes` have come so far; `offered` is its capacity in
    /// bytes in the window, where that varies.
    pub(crate) fn end_window(&mut self, link: u32, bytes: u64, offered: Option<u64>) {
        let Some(counted) = self.links.get_mut(&link) else { return };
        let came = bytes - std::mem::replace(&mut counted.before_window, bytes);
        let share = counted.share(came, WINDOW, offered);
        counted.greatest = counted.greatest.into_iter().chain(share).reduce(f64::max);
    }

    /// Begins the next window, once the window has ended for all links.
    pub(crate) fn begin_window(&mut self) {
        self.next += WINDOW;
    }
}

impl LinkCounters {
    /// Returns the share of the capacity that `bytes` take in `span`; `None` where nothing could be
    /// carried.
    pub(crate) fn share(&self, bytes: u64, span: Span, offered: Option<u64>) -> Option<f64> {
        let carried = offered.unwrap_or_else(|| self.capacity.bytes_in_about(span));
        //= clark1998 II.D
        (carried > 0).then(|| bytes as f64 / carried as f64)
    }

    /// Returns the share over the whole measured time, with `bytes` come so far.
    pub(crate) fn mean(&self, bytes: u64, measured: Span, offered: Option<u64>) -> Option<f64> {
        self.share(bytes - self.before_measuring, measured, offered)
    }

    /// Returns the greatest share in a whole window of the measured time; `None` when that is
    /// shorter.
    pub(crate) fn greatest(&self) -> Option<f64> {
        self.greatest
    }
}
