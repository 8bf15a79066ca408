//! The part of the bottom that takes what is pushed.

use super::Entry;

/// The most entries in the front.
pub(super) const CAPACITY: usize = 31;
/// Places of the front that a `u8` can name, so that no index needs a check.
pub(super) const PLACES: usize = 1 << 8;

/// The events pushed into the bottom: a linked list in the order in which they come out.
///
/// Insertion walks from the first event: for so few entries, most of them inserted near
/// the first, that takes few instructions, and no entry is moved.
#[derive(Clone, Debug)]
pub(super) struct Front<E> {
    /// The place after each place, in the list or among the free places. Place 0 is
    /// both ends of the list and the end of the free places.
    pub(super) next: [u8; PLACES],
    /// Place 0 is later than every other, or as late.
    pub(super) times: [u64; PLACES],
    pub(super) keys: [u32; PLACES],
    /// Empty until the first event of all.
    pub(super) events: Vec<E>,
    /// The first free place; 0 when the front is full.
    pub(super) free: u8,
}

impl<E: Copy> Front<E> {
    pub(super) fn new() -> Self {
        Front { next: [0; PLACES], times: [u64::MAX; PLACES], keys: [0; PLACES], events: Vec::new(), free: 0 }
    }

    /// Gets the places ready; `filler` stands in the free ones.
    pub(super) fn provide(&mut self, filler: E) {
        self.events.resize(PLACES, filler);
        self.open();
    }

    /// Empties the list and frees every place.
    pub(super) fn open(&mut self) {
        for place in 0..CAPACITY {
            self.next[place] = place as u8 + 1;
        }
        self.next[CAPACITY] = 0;
        self.next[0] = 0;
        self.free = 1;
    }

    /// Empties the list and leaves no place to insert into.
    pub(super) fn close(&mut self) {
        self.next[0] = 0;
        self.free = 0;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.next[0] == 0
    }

    /// The first event's time; the end of time when there is none.
    #[inline]
    pub(super) fn first_time(&self) -> u64 {
        self.times[usize::from(self.next[0])]
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, E)> {
        let first = self.next[0];
        if first == 0 {
            return None;
        }
        let place = usize::from(first);
        self.next[0] = self.next[place];
        self.next[place] = self.free;
        self.free = first;
        Some((self.times[place], self.events[place]))
    }

    pub(super) fn pop_with_key(&mut self) -> Option<(u64, u32, E)> {
        let key = self.keys[usize::from(self.next[0])];
        self.pop().map(|(time, event)| (time, key, event))
    }

    /// Inserts an entry, after all that equal it; false when there is no place.
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry<E>) -> bool {
        let free = self.free;
        let Some(events) = self.events.first_chunk_mut::<PLACES>() else { return false };
        if free == 0 {
            return false;
        }
        let place = usize::from(free);
        self.free = self.next[place];
        events[place] = entry.event;
        self.times[place] = entry.time;
        self.keys[place] = entry.key;
        // Two steps a turn, so that no step has to carry one place over to the next.
        let (mut before, mut after) = (0, self.next[0]);
        loop {
            if self.times[usize::from(after)] >= entry.time {
                break;
            }
            before = self.next[usize::from(after)];
            if self.times[usize::from(before)] >= entry.time {
                (before, after) = (after, before);
                break;
            }
            after = self.next[usize::from(before)];
        }
        if self.times[usize::from(after)] == entry.time {
            (before, after) = self.among_equals(before, entry);
        }
        self.next[place] = after;
        self.next[usize::from(before)] = free;
        true
    }

    /// The neighbours of an entry among the entries of its time, the first of which
    /// comes after `before`.
    pub(super) fn among_equals(&self, mut before: u8, entry: Entry<E>) -> (u8, u8) {
        let mut after = self.next[usize::from(before)];
        while after != 0 && self.times[usize::from(after)] == entry.time {
            if self.keys[usize::from(after)] > entry.key {
                break;
            }
            before = after;
            after = self.next[usize::from(after)];
        }
        (before, after)
    }

    /// The places in use, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let mut place = 0;
        std::iter::from_fn(move || {
            place = usize::from(self.next[place]);
            (place != 0).then_some(place)
        })
    }

    pub(super) fn entry(&self, place: usize) -> Entry<E> {
        Entry { time: self.times[place], key: self.keys[place], event: self.events[place] }
    }

    /// Cuts the list after `place` (0 for all of it) and frees the places cut off.
    pub(super) fn truncate(&mut self, place: usize) {
        let first = self.next[place];
        if first != 0 {
            let mut last = first;
            while self.next[usize::from(last)] != 0 {
                last = self.next[usize::from(last)];
            }
            self.next[usize::from(last)] = self.free;
            self.free = first;
            self.next[place] = 0;
        }
    }
}
