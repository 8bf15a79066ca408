//! The priority lane of a line: cells that go ahead of the queue of its port.
//!
//! The driver asks the lane first whenever the line is free. A cell that is made when it starts,
//! with the state of that moment, does not wait in the lane: its sender [requests](Lane::request)
//! the line instead.

use crate::stats::Count;
use crate::units::{Span, Time};
use alloc::collections::VecDeque;

/// The cells of a line that go ahead of its port's packets, and their counts. They take no place in
/// the port's queue; transmission time, delay and losses apply to them as to packets.
#[derive(Clone, Debug)]
pub struct Lane<T> {
    /// Cells that wait, in order.
    waiting: VecDeque<T>,
    /// True while cells wait that are made when they start.
    is_requested: bool,
    /// True while a cell waits in either way.
    has_cells: bool,
    /// The cell in service, its length, and the time at which its first bit left.
    in_service: Option<(T, u32, Time)>,
    sent: Count,
    busy: Span,
}

impl<T> Default for Lane<T> {
    fn default() -> Lane<T> {
        Lane {
            waiting: VecDeque::new(),
            is_requested: false,
            has_cells: false,
            in_service: None,
            sent: Count::default(),
            busy: Span::ZERO,
        }
    }
}

impl<T: Copy> Lane<T> {
    /// Adds a cell behind those that wait.
    pub fn push(&mut self, cell: T) {
        self.waiting.push_back(cell);
        self.has_cells = true;
    }

    /// Requests the line for cells that are made when they start, or withdraws the request.
    pub fn request(&mut self, is_requested: bool) {
        self.is_requested = is_requested;
        self.has_cells = is_requested || !self.waiting.is_empty();
    }

    /// Takes the first cell that waits.
    pub fn pop(&mut self) -> Option<T> {
        let first = self.waiting.pop_front();
        self.has_cells = self.is_requested || !self.waiting.is_empty();
        first
    }

    /// Returns true if a cell waits for the line.
    #[inline(always)]
    pub fn has_cells(&self) -> bool {
        self.has_cells
    }

    /// Returns true if a cell is being sent.
    #[inline(always)]
    pub fn is_sending(&self) -> bool {
        self.in_service.is_some()
    }

    /// Returns true if no cell waits and none is being sent.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        !self.has_cells() && !self.is_sending()
    }

    /// Starts a cell of `len` bytes.
    pub(super) fn begin(&mut self, now: Time, cell: T, len: u32) {
        debug_assert!(self.in_service.is_none(), "two cells at once");
        self.in_service = Some((cell, len, now));
    }

    /// Completes the cell in service, whose last bit is out; `None` when there is none.
    pub fn finish(&mut self, now: Time) -> Option<T> {
        let (cell, len, started) = self.in_service.take()?;
        self.sent.add(len);
        self.busy += now.since(started);
        Some(cell)
    }

    /// The number and bytes of cells whose last bit has left, since the counts were restarted.
    pub fn sent(&self) -> Count {
        self.sent
    }

    /// The time for which cells occupied the line up to `now`, since the counts were restarted.
    pub fn busy(&self, now: Time) -> Span {
        let under_way = self.in_service.as_ref().map_or(Span::ZERO, |(_, _, started)| now.since(*started));
        self.busy + under_way
    }

    /// Restarts the counts.
    pub fn restart_counts(&mut self, now: Time) {
        (self.sent, self.busy) = (Count::default(), Span::ZERO);
        if let Some((_, _, started)) = &mut self.in_service {
            *started = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Line, LinePlan};
    use crate::units::Rate;

    #[test]
    fn a_cell_occupies_the_line_for_its_time() {
        let rate = Rate::from_bits_per_second(8_000_000).unwrap();
        let mut line: Line<u32> = Line::new(Time::ORIGIN, &LinePlan::plain(rate));
        assert!(line.lane().is_none() && line.has_idle_lane());
        let at = |micros| Time::ORIGIN + Span::from_micros(micros);
        line.open_lane().push(7);
        line.open_lane().push(8);
        assert!(!line.has_idle_lane());
        let first = line.open_lane().pop().unwrap();
        assert_eq!((first, line.begin_cell(at(0), first, 53)), (7, at(53)));
        let lane = line.open_lane();
        assert_eq!((lane.busy(at(20)), lane.sent()), (Span::from_micros(20), Count::default()));
        lane.restart_counts(at(20));
        assert_eq!(lane.finish(at(53)), Some(7));
        assert_eq!(lane.finish(at(53)), None);
        assert_eq!((lane.sent().packets, lane.sent().bytes), (1, 53));
        assert_eq!(lane.busy(at(90)), Span::from_micros(33));
        assert!(lane.has_cells() && !lane.is_sending());
        assert_eq!(lane.pop(), Some(8));
        lane.request(true);
        assert!(!lane.is_idle());
        lane.request(false);
        assert!(line.has_idle_lane());
    }
}
