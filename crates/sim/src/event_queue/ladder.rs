//! Pending events in a radix ladder.
//!
//! The earliest few events stand sorted in the *bottom*. Every event later than
//! `top`, the last instant that the bottom covers, lies unsorted in one of many
//! buckets: the bucket is named by the highest digit in which its time differs from
//! `top`, and by that digit's value. So each bucket holds a contiguous stretch of
//! time, and the stretches of lower digits come first. When the bottom runs empty,
//! the next buckets are moved into it, and a bucket too large for that is first
//! spread over the buckets of a lower digit. An event is moved at most once per
//! digit, whatever the distribution of times: there is nothing to tune.
//!
//! Buckets are first in, first out, and so is the bottom among equals, hence no
//! entry carries a sequence number.
//!
//! Two cases would lengthen the bottom without limit: many events of one instant,
//! which no digit separates, and many pushes earlier than the stretch that was last
//! moved down. Both set the bottom aside (*frozen*), sorted once, and let pushes
//! up to `top` go to a binary heap beside it until most of both is popped. The worst case is
//! then that of the heap.

use super::EventQueue;
use super::heap::Pending;
use std::collections::BinaryHeap;
use tidegate_core::units::Time;

/// Bits in a digit.
const BITS: u32 = 5;
/// Digits in a time.
const LEVELS: usize = 64usize.div_ceil(BITS as usize);
/// Distance between the bucket numbers of neighbouring digits, as a multiple of the
/// digit's shift. It leaves some numbers unused, and saves a division by `BITS`.
const STRIDE: u32 = 1 << 3;
const BUCKETS: usize = ((LEVELS as u32 - 1) * BITS * STRIDE + (1 << BITS)).next_power_of_two() as usize;
/// Entries in a chunk of a bucket. A bucket of one chunk is small: it is sorted, not spread.
const CHUNK: u32 = 32;
/// The bottom takes in buckets until it holds this many entries.
const ENOUGH: u32 = 12;
/// The most entries in the bottom.
const CAPACITY: usize = 43;
/// How many entries stay when the bottom is full and the later ones leave it.
const KEEP: usize = 12;
/// No chunk.
const NONE: u32 = u32::MAX;

/// Bit number of the highest difference between two times → shift of its digit.
const SHIFT: [u8; 64] = {
    let mut table = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        table[bit] = (bit as u32 / BITS * BITS) as u8;
        bit += 1;
    }
    table
};

const _: () = assert!(ENOUGH - 1 + CHUNK <= CAPACITY as u32 && CAPACITY < PLACES && (1 << BITS) <= BITS * STRIDE);

/// The fast event queue: a radix ladder.
///
/// Constant amortised time per event for any distribution of times, with no memory
/// allocated once the number of pending events has peaked. Memory is that of the
/// peak, 20 to 32 bytes an event, and at most one part-filled chunk per bucket.
#[derive(Clone, Debug)]
pub struct Ladder<E> {
    bottom: Bottom<E>,
    /// Whether the bottom is set aside in `frozen`.
    is_frozen: bool,
    /// The bottom holds every event up to this instant; the buckets hold the rest.
    top: u64,
    /// Events in buckets.
    stored: usize,
    /// The digits (by shift) with a non-empty bucket.
    levels: u64,
    /// For each digit's shift, the values with a non-empty bucket.
    values: [u64; 64],
    buckets: Box<[Bucket; BUCKETS]>,
    chunks: Chunks<E>,
    /// The bottom while it is frozen, the latest event first.
    frozen: Vec<Entry<E>>,
    /// Events up to `top` that were pushed while the bottom was frozen.
    late: BinaryHeap<Pending<E>>,
    late_pushed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: u64,
    key: u32,
    event: E,
}

/// Places of the bottom that a `u8` can name, so that no index needs a check.
const PLACES: usize = 1 << 8;

/// The earliest events: a linked list in the order in which they come out.
///
/// Insertion walks from the first event. For the few entries here that takes fewer
/// instructions than any other order, and none is moved.
#[derive(Clone, Debug)]
struct Bottom<E> {
    /// The place after each place, in the list or among the free places. Place 0 is
    /// both ends of the list and the end of the free places.
    next: [u8; PLACES],
    /// Place 0 is later than every other, or as late.
    times: [u64; PLACES],
    keys: [u32; PLACES],
    /// Empty until the first event of all.
    events: Vec<E>,
    /// The first free place; 0 when the bottom is full.
    free: u8,
}

impl<E: Copy> Bottom<E> {
    fn new() -> Self {
        Bottom { next: [0; PLACES], times: [u64::MAX; PLACES], keys: [0; PLACES], events: Vec::new(), free: 0 }
    }

    /// Gets the places ready; `filler` stands in the free ones.
    fn provide(&mut self, filler: E) {
        self.events.resize(PLACES, filler);
        self.open();
    }

    /// Empties the list and frees every place.
    fn open(&mut self) {
        for place in 0..CAPACITY {
            self.next[place] = place as u8 + 1;
        }
        self.next[CAPACITY] = 0;
        self.next[0] = 0;
        self.free = 1;
    }

    /// Empties the list and leaves no place to insert into.
    fn close(&mut self) {
        self.next[0] = 0;
        self.free = 0;
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.next[0] == 0
    }

    #[inline]
    fn first(&self) -> Option<u64> {
        let first = self.next[0];
        (first != 0).then(|| self.times[usize::from(first)])
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, E)> {
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

    /// Inserts an entry that was pushed after (`NEWEST`) or before all that equal it;
    /// false when there is no place.
    #[inline]
    fn insert<const NEWEST: bool>(&mut self, entry: Entry<E>) -> bool {
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
            (before, after) = self.among_equals::<NEWEST>(before, entry);
        }
        self.next[place] = after;
        self.next[usize::from(before)] = free;
        true
    }

    /// The neighbours of an entry among the entries of its time, the first of which
    /// comes after `before`.
    fn among_equals<const NEWEST: bool>(&self, mut before: u8, entry: Entry<E>) -> (u8, u8) {
        let mut after = self.next[usize::from(before)];
        while after != 0 && self.times[usize::from(after)] == entry.time {
            let key = self.keys[usize::from(after)];
            if key > entry.key || (key == entry.key && !NEWEST) {
                break;
            }
            before = after;
            after = self.next[usize::from(after)];
        }
        (before, after)
    }

    /// The places in use, in order.
    fn places(&self) -> impl Iterator<Item = usize> {
        let mut place = 0;
        std::iter::from_fn(move || {
            place = usize::from(self.next[place]);
            (place != 0).then_some(place)
        })
    }

    fn entry(&self, place: usize) -> Entry<E> {
        Entry { time: self.times[place], key: self.keys[place], event: self.events[place] }
    }

    /// Cuts the list after `place` (0 for all of it) and frees the places cut off.
    fn truncate(&mut self, place: usize) {
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

/// A first-in first-out list of chunks, all full but the last.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The first chunk, when the bucket is not empty.
    head: u32,
    /// The place after the last entry: a multiple of `CHUNK` when there is no room.
    tail: u32,
}

impl Bucket {
    const EMPTY: Bucket = Bucket { head: NONE, tail: 0 };

    /// The number of entries, if the bucket is not empty and has one chunk.
    #[inline]
    fn small(self) -> Option<u32> {
        // From one before the first place, so that a chunk filled just before the
        // first chunk in memory is not taken for it.
        let last = self.tail.wrapping_sub(1).wrapping_sub(self.head.wrapping_mul(CHUNK));
        (last < CHUNK).then_some(last.wrapping_add(1))
    }

    /// The last chunk, when the bucket is not empty.
    #[inline]
    fn last(self) -> u32 {
        (self.tail - 1) / CHUNK
    }
}

/// The memory of all buckets.
#[derive(Clone, Debug)]
struct Chunks<E> {
    /// Chunk `c` is `entries[c * CHUNK..][..CHUNK]`.
    entries: Vec<Entry<E>>,
    /// The chunk after each chunk in its bucket or in the list of free chunks.
    next: Vec<u32>,
    free: u32,
}

impl<E: Copy> Chunks<E> {
    /// A chunk for use; `filler` fills new memory.
    #[inline]
    fn take(&mut self, filler: Entry<E>) -> u32 {
        let chunk = self.free;
        match self.next.get(chunk as usize) {
            Some(&next) => {
                self.free = next;
                chunk
            }
            None => self.extend(filler),
        }
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, filler: Entry<E>) -> u32 {
        let chunk = self.next.len();
        let places = (chunk + 1) * CHUNK as usize;
        assert!(places < NONE as usize, "more pending events than the queue can number");
        self.next.push(NONE);
        self.entries.resize(places, filler);
        chunk as u32
    }

    #[inline]
    fn give_back(&mut self, chunk: u32) {
        self.next[chunk as usize] = self.free;
        self.free = chunk;
    }
}

/// The bucket of `time` under the digit at `shift`.
#[inline]
fn value(time: u64, shift: u32) -> u32 {
    (time >> shift) as u32 & ((1 << BITS) - 1)
}

/// The bits above the digit at `shift`.
#[inline]
fn above(shift: u32) -> u64 {
    // In two steps, since the highest digit has nothing above it.
    !0u64 << shift << (BITS - 1) << 1
}

/// The shift of the highest digit in which two times differ, from their difference.
#[inline]
fn shift_of(difference: u64) -> u32 {
    u32::from(SHIFT[(difference | 1).ilog2() as usize])
}

impl<E: Copy> Ladder<E> {
    /// Appends to the bucket of `entry.time` under the digit at `shift`.
    #[inline]
    fn store(&mut self, shift: u32, entry: Entry<E>) {
        let value = value(entry.time, shift);
        let index = (shift * STRIDE + value) as usize % BUCKETS;
        let place = self.buckets[index].tail;
        if place.is_multiple_of(CHUNK) {
            return self.store_in_new_chunk(shift, value, entry);
        }
        self.chunks.entries[place as usize] = entry;
        // No overflow: `extend` keeps the number of places below 2³² − 1.
        self.buckets[index].tail = place.wrapping_add(1);
    }

    /// The same for a bucket that is empty or whose last chunk is full.
    #[inline(never)]
    fn store_in_new_chunk(&mut self, shift: u32, value: u32, entry: Entry<E>) {
        let chunk = self.chunks.take(entry);
        let bucket = &mut self.buckets[(shift * STRIDE + value) as usize % BUCKETS];
        if bucket.tail == 0 {
            bucket.head = chunk;
            self.values[shift as usize % 64] |= 1 << value;
            self.levels |= 1 << shift;
        } else {
            self.chunks.next[bucket.last() as usize] = chunk;
        }
        let place = chunk * CHUNK;
        self.chunks.entries[place as usize] = entry;
        bucket.tail = place + 1;
    }

    /// Empties the bucket `value` of the digit at `shift` and returns what it was.
    #[inline]
    fn detach(&mut self, shift: u32, value: u32) -> Bucket {
        let values = &mut self.values[shift as usize];
        *values &= !(1 << value);
        if *values == 0 {
            self.levels &= !(1 << shift);
        }
        std::mem::replace(&mut self.buckets[(shift * STRIDE + value) as usize], Bucket::EMPTY)
    }

    /// Puts the next events into the empty bottom; false when there are none.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        while self.levels != 0 {
            let shift = self.levels.trailing_zeros();
            let value = self.values[shift as usize].trailing_zeros();
            if self.buckets[(shift * STRIDE + value) as usize].small().is_some() {
                self.gather(shift);
                return true;
            }
            let bucket = self.detach(shift, value);
            let difference = self.difference(bucket);
            if difference == 0 {
                self.freeze_instant(bucket);
                return true;
            }
            self.spread(bucket, shift_of(difference));
        }
        false
    }

    /// Moves small buckets of the digit at `shift` into the empty bottom, as many as
    /// make it worth while.
    #[inline]
    fn gather(&mut self, shift: u32) {
        let values = self.values[shift as usize];
        let mut left = values;
        let mut last = 0;
        let mut count = 0;
        while left != 0 && count < ENOUGH {
            let value = left.trailing_zeros();
            let Some(more) = self.buckets[(shift * STRIDE + value) as usize].small() else { break };
            count += more;
            last = value;
            left &= left - 1;
        }
        self.values[shift as usize] = left;
        if left == 0 {
            self.levels &= !(1 << shift);
        }
        let mut moving = values & !left;
        // The latest first, and the newest first among equals, so that most insertions
        // are at the head of the bottom.
        while moving != 0 {
            let value = moving.ilog2();
            moving &= !(1 << value);
            let bucket = &mut self.buckets[(shift * STRIDE + value) as usize];
            let Bucket { head, tail } = std::mem::replace(bucket, Bucket::EMPTY);
            self.chunks.give_back(head);
            for entry in self.chunks.entries[(head * CHUNK) as usize..tail as usize].iter().rev() {
                self.bottom.insert::<false>(*entry);
            }
        }
        self.stored -= count as usize;
        self.top = match self.levels {
            0 => u64::MAX,
            // The last instant that the last bucket covers.
            _ => {
                let time = self.bottom.first().unwrap_or(0);
                (time & above(shift)) | (u64::from(last) << shift) | !(!0 << shift)
            }
        };
    }

    /// The bits in which the times of a bucket differ.
    #[inline]
    fn difference(&self, bucket: Bucket) -> u64 {
        let first = self.chunks.entries[(bucket.head * CHUNK) as usize].time;
        let mut difference = 0;
        self.each_chunk(bucket, |entries| {
            for entry in entries {
                difference |= entry.time ^ first;
            }
        });
        difference
    }

    /// Hands out the entries of a bucket in the order in which they came, chunk by chunk.
    #[inline]
    fn each_chunk(&self, bucket: Bucket, mut see: impl FnMut(&[Entry<E>])) {
        let mut chunk = bucket.head;
        while chunk != bucket.last() {
            see(&self.chunks.entries[(chunk * CHUNK) as usize..][..CHUNK as usize]);
            chunk = self.chunks.next[chunk as usize];
        }
        see(&self.chunks.entries[(chunk * CHUNK) as usize..bucket.tail as usize]);
    }

    /// Spreads a detached bucket over the digit at `shift`.
    #[inline]
    fn spread(&mut self, bucket: Bucket, shift: u32) {
        let mut chunk = bucket.head;
        loop {
            let last = chunk == bucket.last();
            let start = chunk * CHUNK;
            let end = if last { bucket.tail } else { start + CHUNK };
            for place in start..end {
                let entry = self.chunks.entries[place as usize];
                self.store(shift, entry);
            }
            let next = self.chunks.next[chunk as usize];
            self.chunks.give_back(chunk);
            if last {
                return;
            }
            chunk = next;
        }
    }

    /// Makes a detached bucket of one instant the frozen bottom.
    #[cold]
    #[inline(never)]
    fn freeze_instant(&mut self, bucket: Bucket) {
        let mut frozen = std::mem::take(&mut self.frozen);
        self.each_chunk(bucket, |entries| frozen.extend_from_slice(entries));
        let mut chunk = bucket.head;
        while chunk != bucket.last() {
            let next = self.chunks.next[chunk as usize];
            self.chunks.give_back(chunk);
            chunk = next;
        }
        self.chunks.give_back(chunk);
        self.stored -= frozen.len();
        self.top = frozen[0].time;
        // Stable, so that the order of pushing decides among equal keys.
        frozen.sort_by_key(|entry| entry.key);
        frozen.reverse();
        self.frozen = frozen;
        self.is_frozen = true;
        self.bottom.close();
    }

    /// Puts an event later than `top` into its bucket.
    #[inline(never)]
    fn push_later(&mut self, time: Time, key: u32, event: E) {
        let time = time.ticks();
        // Every event takes memory: their number cannot overflow.
        self.stored = self.stored.wrapping_add(1);
        self.store(shift_of(time ^ self.top), Entry { time, key, event });
    }

    /// Puts an event up to `top` where it belongs when the bottom has no room for it.
    #[cold]
    #[inline(never)]
    fn push_full(&mut self, time: Time, key: u32, event: E) {
        if self.bottom.events.is_empty() {
            self.bottom.provide(event);
        } else if self.is_frozen || !self.spill() {
            if !self.is_frozen {
                self.freeze_bottom();
            }
            self.late.push(Pending { time, key, sequence: self.late_pushed, event });
            self.late_pushed += 1;
            return;
        }
        self.push(time, key, event);
    }

    /// Shortens the full bottom by moving its later events into buckets and `top`
    /// before them; false when none can be moved.
    fn spill(&mut self) -> bool {
        let mut places = [0; CAPACITY];
        let mut count = 0;
        for (slot, place) in places.iter_mut().zip(self.bottom.places()) {
            *slot = place;
            count += 1;
        }
        let places = &places[..count];
        let last_kept = self.bottom.times[places[KEEP - 1]];
        let range = self.bottom.times[places[count - 1]] - last_kept;
        if range == 0 {
            return false;
        }
        // As coarse as the range of times allows, so that few digits come into play.
        let grain = 1u64 << range.ilog2().saturating_sub(BITS);
        let mut top = last_kept | (grain - 1);
        if self.levels != 0 {
            // Below the lowest digit in use, `top` may change without renaming a bucket.
            top = top.max(self.top & above(self.levels.trailing_zeros()));
        }
        let kept = places.partition_point(|&place| self.bottom.times[place] <= top);
        if kept == count {
            return false;
        }
        self.top = top;
        for &place in &places[kept..] {
            let entry = self.bottom.entry(place);
            self.store(shift_of(entry.time ^ top), entry);
        }
        self.stored += count - kept;
        self.bottom.truncate(kept.checked_sub(1).map_or(0, |last| places[last]));
        true
    }

    fn freeze_bottom(&mut self) {
        self.frozen.extend(self.bottom.places().map(|place| self.bottom.entry(place)));
        self.frozen.reverse();
        self.is_frozen = true;
        self.bottom.close();
    }

    /// Ends the frozen state when little of it is left.
    fn thaw(&mut self) {
        if self.is_frozen && self.late.is_empty() && self.frozen.len() <= KEEP {
            self.is_frozen = false;
            self.bottom.open();
            for entry in &self.frozen {
                self.bottom.insert::<false>(*entry);
            }
            self.frozen.clear();
            self.frozen.shrink_to(1 << 10);
            self.late.shrink_to(1 << 10);
            if self.levels == 0 {
                self.top = u64::MAX;
            }
        }
    }

    /// Brings the first event into the bottom unless it is frozen.
    fn prepare(&mut self) {
        self.thaw();
        if self.bottom.is_empty() && !self.is_frozen {
            self.refill();
        }
    }

    /// The first event's time, when it is not in the bottom; the bottom may be filled.
    #[cold]
    #[inline(never)]
    fn first_elsewhere(&mut self) -> Option<Time> {
        self.prepare();
        let first = if self.is_frozen {
            let late = self.late.peek().map(|late| late.time.ticks());
            self.frozen.last().map(|entry| entry.time).into_iter().chain(late).min()
        } else {
            self.bottom.first()
        };
        first.map(Time::from_ticks)
    }

    /// Removes the first event, when it is not in the bottom.
    #[inline(never)]
    fn pop_elsewhere(&mut self) -> Option<(Time, E)> {
        self.prepare();
        if !self.is_frozen {
            return self.bottom.pop().map(|(time, event)| (Time::from_ticks(time), event));
        }
        // A late event that equals a frozen one was pushed after it.
        let late_first = match (self.late.peek(), self.frozen.last()) {
            (Some(late), Some(frozen)) => (late.time.ticks(), late.key) < (frozen.time, frozen.key),
            (late, _) => late.is_some(),
        };
        if late_first {
            return self.late.pop().map(|late| (late.time, late.event));
        }
        self.frozen.pop().map(|entry| (Time::from_ticks(entry.time), entry.event))
    }
}

impl<E: Copy> EventQueue<E> for Ladder<E> {
    fn new() -> Self {
        Self::with_capacity(0)
    }

    fn with_capacity(events: usize) -> Self {
        let chunks = events.div_ceil(CHUNK as usize);
        Self {
            bottom: Bottom::new(),
            is_frozen: false,
            top: u64::MAX,
            stored: 0,
            levels: 0,
            values: [0; 64],
            buckets: Box::new([Bucket::EMPTY; BUCKETS]),
            chunks: Chunks {
                entries: Vec::with_capacity(chunks * CHUNK as usize),
                next: Vec::with_capacity(chunks),
                free: NONE,
            },
            frozen: Vec::new(),
            late: BinaryHeap::new(),
            late_pushed: 0,
        }
    }

    #[inline]
    fn push(&mut self, time: Time, key: u32, event: E) {
        if time.ticks() > self.top {
            self.push_later(time, key, event);
        } else if !self.bottom.insert::<true>(Entry { time: time.ticks(), key, event }) {
            self.push_full(time, key, event);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        match self.bottom.pop() {
            Some((time, event)) => Some((Time::from_ticks(time), event)),
            None => self.pop_elsewhere(),
        }
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        (self.next_time()? <= limit).then(|| self.pop()).flatten()
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        match self.bottom.first() {
            Some(time) => Some(Time::from_ticks(time)),
            None => self.first_elsewhere(),
        }
    }

    fn len(&self) -> usize {
        self.bottom.places().count() + self.stored + self.frozen.len() + self.late.len()
    }

    fn is_empty(&self) -> bool {
        self.bottom.is_empty() && self.stored == 0 && self.frozen.is_empty() && self.late.is_empty()
    }
}

#[cfg(test)]
impl<E> Ladder<E> {
    /// Bytes of memory held for events.
    pub(super) fn memory(&self) -> usize {
        (self.chunks.entries.capacity() + self.frozen.capacity() + self.bottom.events.capacity()) * size_of::<Entry<E>>()
            + self.chunks.next.capacity() * size_of::<u32>()
            + self.late.capacity() * size_of::<Pending<E>>()
    }
}
