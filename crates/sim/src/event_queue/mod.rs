//! The simulator's pending events, in a total order.
//!
//! Events come out by time, then by a fixed small key (the component they are for),
//! then in the order in which they were pushed. The order depends on nothing else,
//! so a run is the same whichever queue carries it: [`Ladder`] is the fast one,
//! [`BinaryHeapQueue`] the plain one it is checked against.

mod heap;
mod ladder;

pub use heap::BinaryHeapQueue;
pub use ladder::Ladder;

use tidegate_core::units::Time;

/// Pending events, the earliest first.
///
/// An event is a small `Copy` value; 16 bytes or less keep an entry within 32.
/// An event earlier than the last one popped is legal and comes out next.
pub trait EventQueue<E: Copy> {
    /// An empty queue.
    fn new() -> Self
    where
        Self: Sized;

    /// An empty queue with memory for `events` pending events.
    fn with_capacity(events: usize) -> Self
    where
        Self: Sized;

    /// Adds `event` at `time`; among events of the same instant, those with the
    /// smaller `key` come out first, and those with the same key in the order pushed.
    fn push(&mut self, time: Time, key: u32, event: E);

    /// Removes the first event.
    fn pop(&mut self) -> Option<(Time, E)>;

    /// Removes the first event if its time is `limit` or earlier.
    fn pop_until(&mut self, limit: Time) -> Option<(Time, E)>;

    /// The time of the first event. It takes `&mut self` because finding the first
    /// event may put others in order.
    fn next_time(&mut self) -> Option<Time>;

    /// How many events are pending.
    fn len(&self) -> usize;

    /// Whether no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
