//! A first-in, first-out ring buffer of small values.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Values in order of arrival. Memory grows to the largest number of values ever held.
///
/// It takes 24 bytes, so that a port has room for one on the cache line that a packet touches.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Ring<T> {
    /// Storage; its length is zero or a power of two.
    slots: Box<[T]>,
    /// Positions of the first value and of the next one to be added, modulo the length of the
    /// storage.
    first: u32,
    end: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Box::default(), first: 0, end: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of values.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.end.wrapping_sub(self.first) as usize
    }

    #[inline(always)]
    fn slot(&self, at: u32) -> usize {
        at as usize & self.slots.len().wrapping_sub(1)
    }

    /// Returns true if the ring is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The oldest value.
    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        // A ring without storage is empty, too.
        if self.is_empty() { None } else { self.slots.get(self.slot(self.first)) }
    }

    /// The newest value.
    #[inline(always)]
    pub fn last(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.slots.get(self.slot(self.end.wrapping_sub(1))) }
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.push_with(|| value);
    }

    /// Like [`push`](Self::push), for a value that is put together in its place: `make` is called
    /// once more where the storage grows.
    #[inline(always)]
    pub fn push_with(&mut self, make: impl Fn() -> T) {
        if self.len() == self.slots.len() {
            self.grow(make());
        }
        let slot = self.slot(self.end);
        self.slots[slot] = make();
        self.end = self.end.wrapping_add(1);
    }

    /// Removes and returns the oldest value; `None` if the ring is empty.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let first = *self.first()?;
        self.skip();
        Some(first)
    }

    /// Removes the oldest value. The ring must not be empty.
    #[inline(always)]
    pub fn skip(&mut self) {
        debug_assert!(!self.is_empty());
        self.first = self.first.wrapping_add(1);
    }

    /// Doubles the storage; `filler` fills the new slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let mut slots: Vec<T> = core::iter::from_fn(|| self.pop()).collect();
        (self.first, self.end) = (0, slots.len() as u32);
        slots.resize((2 * slots.len()).max(4), filler);
        self.slots = slots.into();
    }

    /// Removes the newest value equal to `value`, if there is one.
    pub fn remove_last(&mut self, value: T)
    where
        T: PartialEq,
    {
        let last = (0..self.len()).rev().find(|&nth| self.nth(nth) == value);
        if let Some(nth) = last {
            for nth in nth + 1..self.len() {
                let slot = self.slot(self.first.wrapping_add(nth as u32 - 1));
                self.slots[slot] = self.nth(nth);
            }
            self.end = self.end.wrapping_sub(1);
        }
    }

    /// The values, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|nth| &self.slots[self.slot(self.first.wrapping_add(nth as u32))])
    }

    fn nth(&self, nth: usize) -> T {
        self.slots[self.slot(self.first.wrapping_add(nth as u32))]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec((0u8..5, 0u32..4), 1..300)) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for (what, value) in steps {
                match what {
                    0 => prop_assert_eq!(ring.pop(), model.pop_front()),
                    1 => {
                        ring.remove_last(value);
                        if let Some(nth) = model.iter().rposition(|queued| *queued == value) {
                            model.remove(nth);
                        }
                    }
                    _ => {
                        ring.push(value);
                        model.push_back(value);
                    }
                }
                prop_assert_eq!(ring.first(), model.front());
                prop_assert_eq!(ring.last(), model.back());
                prop_assert_eq!(ring.len(), model.len());
                prop_assert!(ring.iter().eq(&model));
            }
        }
    }
}
