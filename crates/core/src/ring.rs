//! A first-in first-out ring of small values.

/// Values in the order in which they came. Memory grows to the most that it has held.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// As many as a power of two, or none.
    places: Vec<T>,
    /// Where the first value is and where the next will be, modulo the number of places.
    first: usize,
    end: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Vec::new(), first: 0, end: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.end.wrapping_sub(self.first)
    }

    #[inline(always)]
    fn place(&self, at: usize) -> usize {
        at & self.places.len().wrapping_sub(1)
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The one that came first.
    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        // Without places there is no first either.
        if self.is_empty() { None } else { self.places.get(self.place(self.first)) }
    }

    /// The one that came last.
    #[inline(always)]
    pub fn last(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.place(self.end.wrapping_sub(1))) }
    }

    /// Adds a value behind all others.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.end);
        self.places[place] = value;
        self.end = self.end.wrapping_add(1);
    }

    /// Takes the first value out, if there is one.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let first = *self.first()?;
        self.skip();
        Some(first)
    }

    /// Takes the first value out, which is there.
    #[inline(always)]
    pub fn skip(&mut self) {
        debug_assert!(!self.is_empty());
        self.first = self.first.wrapping_add(1);
    }

    /// Twice as many places; `filler` stands in those that are new.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let mut places: Vec<T> = core::iter::from_fn(|| self.pop()).collect();
        (self.first, self.end) = (0, places.len());
        places.resize((2 * places.len()).max(4), filler);
        self.places = places;
    }

    /// Takes out the last value that is equal, if there is one.
    pub fn remove_last(&mut self, value: T)
    where
        T: PartialEq,
    {
        let last = (0..self.len()).rev().find(|&nth| self.nth(nth) == value);
        if let Some(nth) = last {
            for nth in nth + 1..self.len() {
                let place = self.place(self.first.wrapping_add(nth - 1));
                self.places[place] = self.nth(nth);
            }
            self.end = self.end.wrapping_sub(1);
        }
    }

    fn nth(&self, nth: usize) -> T {
        self.places[self.place(self.first.wrapping_add(nth))]
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.places.capacity() * size_of::<T>()
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
            }
        }
    }
}
