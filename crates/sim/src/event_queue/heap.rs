//! Pending events in the standard library's binary heap.

use super::EventQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tidegate_core::units::Time;

/// The plain event queue: the baseline for speed, and the reference for order.
#[derive(Clone, Debug)]
pub struct BinaryHeapQueue {
    /// Times that were set, including those that are no longer valid.
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// The valid time of each component.
    times: Vec<Time>,
}

impl EventQueue for BinaryHeapQueue {
    fn new(components: u32) -> Self {
        Self { heap: BinaryHeap::new(), times: vec![Time::NEVER; components as usize] }
    }

    #[inline]
    fn set(&mut self, component: u32, at: Time) {
        self.times[component as usize] = at;
        if at != Time::NEVER {
            self.heap.push(Reverse((at, component)));
        }
    }

    #[inline]
    fn first(&mut self) -> (Time, u32) {
        while let Some(&Reverse((at, component))) = self.heap.peek() {
            if self.times[component as usize] == at {
                return (at, component);
            }
            self.heap.pop();
        }
        (Time::NEVER, 0)
    }
}
