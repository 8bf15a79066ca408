//! Event queues: the next event of each component of the simulator, and the earliest of all.
//!
//! A component has at most one event pending: a link sends one packet at a time and keeps what
//! is in flight in its own queue, a source knows its next packet. So an event is a component's
//! number and a time, and to carry one out is to give the component its next time. Events come
//! out by time, those of one instant by the component's number. The order depends on nothing
//! else, so a run is the same whichever queue carries it: [`Calendar`] is the fast one,
//! [`BinaryHeapQueue`] the plain one it is checked against.

mod calendar;
mod heap;
mod lanes;
mod line;
mod tournament;

pub use calendar::Calendar;
pub use heap::BinaryHeapQueue;

use tidegate_core::units::Time;

/// Pending events, the earliest first.
pub trait EventQueue {
    /// Creates a queue for the components 0 to `components` − 1, with nothing pending.
    fn new(components: u32) -> Self;

    /// Sets the component's event to `at`, in place of its previous time; [`Time::NEVER`] for no
    /// event. Any time is legal, also one before the first event.
    fn set(&mut self, component: u32, at: Time);

    /// Like [`set`](Self::set), for a component that has no event pending.
    #[inline(always)]
    fn insert(&mut self, component: u32, at: Time) {
        self.set(component, at);
    }

    /// Like [`insert`](Self::insert), for an event that becomes known `now`. It is cheap where many
    /// events have the same lead time and are inserted in the order in which they become known.
    #[inline(always)]
    fn insert_after(&mut self, component: u32, now: Time, at: Time) {
        let _ = now;
        self.insert(component, at);
    }

    /// Replaces the first event, which is carried out `now`, by its component's next;
    /// [`Time::NEVER`] for no event.
    #[inline(always)]
    fn renew_first(&mut self, now: Time, at: Time) {
        let _ = now;
        let (_, component) = self.first();
        self.set(component, at);
    }

    /// Returns the first event's time and component; [`Time::NEVER`] when nothing is pending. It
    /// stays pending until its component gets another time. `&mut self`, because finding it may
    /// reorder others.
    fn first(&mut self) -> (Time, u32);
}

#[cfg(test)]
mod tests;
