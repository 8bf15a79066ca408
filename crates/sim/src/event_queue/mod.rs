//! When something is next to happen to each of the simulator's components, and to which first.
//!
//! A component has at most one event pending: a link sends one packet at a time and keeps what
//! is in flight in its own queue, a source knows its next packet. So an event is a component's
//! number and a time, and to carry one out is to give the component its next time. Events come
//! out by time, those of one instant by the component's number. The order depends on nothing
//! else, so a run is the same whichever queue carries it: [`Calendar`] is the fast one,
//! [`BinaryHeapQueue`] the plain one it is checked against.

mod calendar;
mod heap;
mod line;
mod tournament;

pub use calendar::Calendar;
pub use heap::BinaryHeapQueue;

use tidegate_core::units::Time;

/// Pending events, the earliest first.
pub trait EventQueue {
    /// A queue for the components 0 to `components` − 1, with nothing pending.
    fn new(components: u32) -> Self;

    /// The component's event is at `at` now, and no longer when it was before;
    /// [`Time::NEVER`] for no event. Any time is legal, also one before the first event.
    fn set(&mut self, component: u32, at: Time);

    /// The same for a component that has no event pending.
    #[inline(always)]
    fn insert(&mut self, component: u32, at: Time) {
        self.set(component, at);
    }

    /// The first event is carried out, and another component has one in place of it: `to`, which has none pending, or the
    /// same.
    #[inline(always)]
    fn replace_first(&mut self, to: u32, at: Time) {
        let (_, from) = self.first();
        if from != to {
            self.set(from, Time::NEVER);
        }
        self.set(to, at);
    }

    /// The first event's time and component; [`Time::NEVER`] when nothing is pending. It stays
    /// pending until its component gets another time. `&mut self`, because finding it may put
    /// others in order.
    fn first(&mut self) -> (Time, u32);
}

#[cfg(test)]
mod tests;
