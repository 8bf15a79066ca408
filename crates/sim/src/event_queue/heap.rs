//! Pending events in the standard library's binary heap.

use super::EventQueue;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use tidegate_core::units::Time;

/// The plain event queue: the baseline for speed and the sibling for order.
#[derive(Clone, Debug)]
pub struct BinaryHeapQueue<E> {
    heap: BinaryHeap<Pending<E>>,
    pushed: u64,
}

/// One pending event with its place in the total order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<E> {
    pub(super) time: Time,
    pub(super) key: u32,
    /// How many events were pushed before this one.
    pub(super) sequence: u64,
    pub(super) event: E,
}

impl<E> Ord for Pending<E> {
    /// Reversed, since the standard heap hands out the greatest: the greatest entry
    /// is the first to come out.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.key, other.sequence).cmp(&(self.time, self.key, self.sequence))
    }
}

impl<E> PartialOrd for Pending<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Pending<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Pending<E> {}

impl<E: Copy> EventQueue<E> for BinaryHeapQueue<E> {
    fn new() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }

    fn with_capacity(events: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(events), pushed: 0 }
    }

    #[inline]
    fn push(&mut self, time: Time, key: u32, event: E) {
        let sequence = self.pushed;
        self.pushed += 1;
        self.heap.push(Pending { time, key, sequence, event });
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|first| (first.time, first.event))
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        let first = self.heap.peek_mut()?;
        if first.time > limit {
            return None;
        }
        let first = PeekMut::pop(first);
        Some((first.time, first.event))
    }

    fn next_time(&mut self) -> Option<Time> {
        self.heap.peek().map(|first| first.time)
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
