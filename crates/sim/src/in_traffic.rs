//! In-traffic of links against their capacity: what is inside the profiles and must be carried (Clark and Fang 1998,
//! section II.D).
//!
//! In-traffic of a link are the green packets that reach its port's queue, those included that are dropped there: it may
//! be more than the link carries. It is counted for the links that packets pass behind a meter that colours, or at it.
//! Packets that no meter has coloured are green, as they are for droppers.

use std::collections::BTreeMap;
use tidegate_core::units::{Rate, Span, Time};

/// The greatest share is that of a second: a burst within a round-trip time is averaged out, a busy minute is not.
pub const WINDOW: Span = Span::from_secs(1);

/// Counters of links with in-traffic.
#[derive(Clone, Debug)]
pub(crate) struct InTraffic {
    links: BTreeMap<u32, Counted>,
    /// When the present window ends; `NEVER` without links.
    next: Time,
}

/// Counters of one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
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
    /// Counters for links with these port capacities; measurement begins at `warm_at`.
    pub(crate) fn new(links: impl Iterator<Item = (u32, Rate)>, warm_at: Time) -> InTraffic {
        let counted = |(link, capacity)| {
            (link, Counted { capacity, before_measuring: 0, before_window: 0, greatest: None })
        };
        let links: BTreeMap<_, _> = links.map(counted).collect();
        let next = if links.is_empty() { Time::NEVER } else { warm_at + WINDOW };
        InTraffic { links, next }
    }

    /// The links with counters.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> {
        self.links.keys().copied()
    }

    /// When the present window ends.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Counters of a link; `None` for a link without in-traffic.
    pub(crate) fn of(&self, link: u32) -> Option<&Counted> {
        self.links.get(&link)
    }

    /// Measuring begins: so many bytes had come to a link.
    pub(crate) fn begin(&mut self, link: u32, bytes: u64) {
        if let Some(counted) = self.links.get_mut(&link) {
            (counted.before_measuring, counted.before_window) = (bytes, bytes);
        }
    }

    /// The window ends with so many bytes that have come to a link, which has a capacity of `offered` bytes in it where that
    /// varies.
    pub(crate) fn end_window(&mut self, link: u32, bytes: u64, offered: Option<u64>) {
        let Some(counted) = self.links.get_mut(&link) else { return };
        let came = bytes - std::mem::replace(&mut counted.before_window, bytes);
        let share = counted.share(came, WINDOW, offered);
        counted.greatest = counted.greatest.into_iter().chain(share).reduce(f64::max);
    }

    /// The window has ended for all links.
    pub(crate) fn begin_window(&mut self) {
        self.next += WINDOW;
    }
}

impl Counted {
    /// The share of the capacity that so many bytes take in `span`; `None` where nothing could be carried.
    pub(crate) fn share(&self, bytes: u64, span: Span, offered: Option<u64>) -> Option<f64> {
        let carried = offered.unwrap_or_else(|| self.capacity.bytes_in_about(span));
        (carried > 0).then(|| bytes as f64 / carried as f64)
    }

    /// The share over all of the measured time, with so many bytes that have come in all.
    pub(crate) fn mean(&self, bytes: u64, measured: Span, offered: Option<u64>) -> Option<f64> {
        self.share(bytes - self.before_measuring, measured, offered)
    }

    /// The greatest share in a whole window of the measured time; `None` when that is shorter.
    pub(crate) fn greatest(&self) -> Option<f64> {
        self.greatest
    }
}
