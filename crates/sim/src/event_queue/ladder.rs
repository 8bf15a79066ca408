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
const BITS: u32 = 6;
/// Digits in a time.
const LEVELS: usize = 64usize.div_ceil(BITS as usize);
/// Distance between the bucket numbers of neighbouring digits, as a multiple of the
/// digit's shift. It leaves some numbers unused, and saves a division by `BITS`.
const STRIDE: u32 = 1 << 4;
const BUCKETS: usize = ((LEVELS as u32 - 1) * BITS * STRIDE + (1 << BITS)) as usize;
/// Entries in a chunk of a bucket. A bucket of one chunk is small: it is sorted, not spread.
const CHUNK: u32 = 16;
/// The bottom takes in buckets until it holds this many entries.
const ENOUGH: u32 = 16;
/// The most entries in the bottom.
const CAPACITY: usize = 31;
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

const _: () = assert!(ENOUGH - 1 + CHUNK <= CAPACITY as u32 && (1 << BITS) <= BITS * STRIDE);

/// The fast event queue: a radix ladder.
///
/// Constant amortised time per event for any distribution of times, with no memory
/// allocated once the number of pending events has peaked. Memory is that of the
/// peak, 20 to 32 bytes an event, and at most one part-filled chunk per bucket.
#[derive(Clone, Debug)]
pub struct Ladder<E> {
    /// The bottom: `CAPACITY + 1` places once there is an event, of which the first
    /// `sorted` are in use, the latest event first. Unused places have time zero.
    bottom: Vec<Entry<E>>,
    sorted: usize,
    /// How far `sorted` may grow: `CAPACITY`, or 0 while the bottom is frozen.
    capacity: usize,
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

impl<E> Entry<E> {
    /// Whether this entry comes out before `other` whatever the order of pushing.
    #[inline]
    fn precedes(&self, other: &Entry<E>) -> bool {
        self.time < other.time || (self.time == other.time && self.key < other.key)
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

#[inline]
fn shift_of(difference: u64) -> u32 {
    u32::from(SHIFT[(difference | 1).ilog2() as usize])
}

impl<E: Copy> Ladder<E> {
    /// Appends to the bucket of `entry.time` under the digit at `shift`.
    #[inline]
    fn store(&mut self, shift: u32, entry: Entry<E>) {
        let value = value(entry.time, shift);
        let bucket = &mut self.buckets[(shift * STRIDE + value) as usize];
        let mut place = bucket.tail;
        if place.is_multiple_of(CHUNK) {
            let chunk = self.chunks.take(entry);
            if bucket.head == NONE {
                bucket.head = chunk;
                self.values[shift as usize] |= 1 << value;
                self.levels |= 1 << shift;
            } else {
                self.chunks.next[(place / CHUNK - 1) as usize] = chunk;
            }
            place = chunk * CHUNK;
        }
        self.chunks.entries[place as usize] = entry;
        // No overflow: `extend` keeps the number of places below 2³² − 1.
        bucket.tail = place.wrapping_add(1);
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
        let Some(bottom) = self.bottom.first_chunk_mut::<{ CAPACITY + 1 }>() else { return };
        let mut sorted = 0;
        // The latest first: from the last bucket to the first, from the end of each
        // to its start; what little is out of place is sorted by insertion.
        while moving != 0 {
            let value = moving.ilog2();
            moving &= !(1 << value);
            let bucket = &mut self.buckets[(shift * STRIDE + value) as usize];
            let Bucket { head, tail } = std::mem::replace(bucket, Bucket::EMPTY);
            self.chunks.give_back(head);
            for entry in self.chunks.entries[(head * CHUNK) as usize..tail as usize].iter().rev() {
                let mut place = sorted;
                while place > 0 && bottom[place - 1].precedes(entry) {
                    bottom[place] = bottom[place - 1];
                    place -= 1;
                }
                bottom[place] = *entry;
                sorted += 1;
            }
        }
        self.sorted = sorted;
        self.stored -= sorted;
        self.top = match self.levels {
            0 => u64::MAX,
            // The last instant that the last bucket covers.
            _ => {
                let above = !0u64 << shift << (BITS - 1) << 1;
                (bottom[0].time & above) | (u64::from(last) << shift) | !(!0 << shift)
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
        self.capacity = 0;
    }

    /// Puts an event up to `top` where it belongs when the bottom has no room for it.
    #[cold]
    #[inline(never)]
    fn push_full(&mut self, entry: Entry<E>) {
        if self.bottom.is_empty() {
            self.bottom.resize(CAPACITY + 1, Entry { time: 0, ..entry });
            self.capacity = CAPACITY;
        } else if self.capacity == 0 || !self.spill() {
            if self.capacity != 0 {
                self.frozen.extend_from_slice(&self.bottom[..self.sorted]);
                self.clear_bottom(0);
                self.capacity = 0;
            }
            self.late.push(Pending {
                time: Time::from_ticks(entry.time),
                key: entry.key,
                sequence: self.late_pushed,
                event: entry.event,
            });
            self.late_pushed += 1;
            return;
        }
        self.push(Time::from_ticks(entry.time), entry.key, entry.event);
    }

    /// Shortens the full bottom by moving its later events into buckets and `top`
    /// before them; false when none can be moved.
    fn spill(&mut self) -> bool {
        let latest = self.bottom[0].time;
        let first_to_keep = self.bottom[self.sorted - KEEP].time;
        // As coarse as the range of times allows, so that few digits come into play.
        let range = latest - first_to_keep;
        if range == 0 {
            return false;
        }
        let grain = 1 << (range.ilog2().saturating_sub(BITS));
        let mut top = first_to_keep | (grain - 1);
        if self.levels != 0 {
            // Below the lowest digit in use, `top` may change without renaming a bucket.
            let shift = self.levels.trailing_zeros();
            top = top.max(self.top & (!0u64 << shift << (BITS - 1) << 1));
        }
        let spilt = self.bottom[..self.sorted].partition_point(|entry| entry.time > top);
        if spilt == 0 {
            return false;
        }
        self.top = top;
        for place in (0..spilt).rev() {
            let entry = self.bottom[place];
            self.store(shift_of(entry.time ^ top), entry);
        }
        self.stored += spilt;
        self.bottom.copy_within(spilt..self.sorted, 0);
        self.clear_bottom(self.sorted - spilt);
        true
    }

    /// Leaves the first `keep` entries in the bottom.
    fn clear_bottom(&mut self, keep: usize) {
        for entry in &mut self.bottom[keep..self.sorted] {
            entry.time = 0;
        }
        self.sorted = keep;
    }

    /// The first event's time, when it is not in the bottom; the bottom may be filled.
    #[cold]
    #[inline(never)]
    fn first_unsorted(&mut self) -> Option<Time> {
        self.thaw();
        if self.sorted == 0 && self.capacity != 0 {
            self.refill();
        }
        if self.sorted != 0 {
            return Some(Time::from_ticks(self.bottom[self.sorted - 1].time));
        }
        let frozen = self.frozen.last().map(|entry| Time::from_ticks(entry.time));
        let late = self.late.peek().map(|pending| pending.time);
        frozen.into_iter().chain(late).min()
    }

    /// Removes the first event, when it is not in the bottom.
    #[inline(never)]
    fn pop_unsorted(&mut self) -> Option<(Time, E)> {
        self.thaw();
        if self.sorted == 0 && self.capacity != 0 && !self.refill() {
            return None;
        }
        if self.sorted != 0 {
            return self.pop();
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

    /// Ends the frozen state when little of it is left.
    fn thaw(&mut self) {
        if self.capacity == 0 && self.late.is_empty() && self.frozen.len() <= KEEP && !self.bottom.is_empty() {
            self.bottom[..self.frozen.len()].copy_from_slice(&self.frozen);
            self.sorted = self.frozen.len();
            self.capacity = CAPACITY;
            self.frozen.clear();
            self.frozen.shrink_to(1 << 10);
            self.late.shrink_to(1 << 10);
            if self.levels == 0 {
                self.top = u64::MAX;
            }
        }
    }
}

impl<E: Copy> EventQueue<E> for Ladder<E> {
    fn new() -> Self {
        Self::with_capacity(0)
    }

    fn with_capacity(events: usize) -> Self {
        let chunks = events.div_ceil(CHUNK as usize);
        Self {
            bottom: Vec::new(),
            sorted: 0,
            capacity: 0,
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
        let time = time.ticks();
        let entry = Entry { time, key, event };
        if time > self.top {
            self.stored += 1;
            return self.store(shift_of(time ^ self.top), entry);
        }
        let sorted = self.sorted;
        let Some(bottom) = self.bottom.first_chunk_mut::<{ CAPACITY + 1 }>() else {
            return self.push_full(entry);
        };
        if sorted >= self.capacity.min(CAPACITY) {
            return self.push_full(entry);
        }
        // The number of entries later than `time`, one binary digit after the other.
        // Or-ing keeps the index visibly below the array's length.
        let mut place = 0;
        for half in [16, 8, 4, 2, 1] {
            if bottom[place | (half - 1)].time > time {
                place |= half;
            }
        }
        while bottom[place].time == time && place < sorted && bottom[place].key > key {
            place += 1;
        }
        bottom.copy_within(place..sorted, place + 1);
        bottom[place] = entry;
        self.sorted = sorted + 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        let Some(last) = self.sorted.checked_sub(1) else {
            return self.pop_unsorted();
        };
        self.sorted = last;
        let entry = &mut self.bottom[last];
        let time = std::mem::replace(&mut entry.time, 0);
        Some((Time::from_ticks(time), entry.event))
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        (self.next_time()? <= limit).then(|| self.pop()).flatten()
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        match self.sorted.checked_sub(1) {
            Some(last) => Some(Time::from_ticks(self.bottom[last].time)),
            None => self.first_unsorted(),
        }
    }

    fn len(&self) -> usize {
        self.sorted + self.stored + self.frozen.len() + self.late.len()
    }
}

#[cfg(test)]
impl<E> Ladder<E> {
    /// Bytes of memory held for events.
    pub(super) fn memory(&self) -> usize {
        (self.chunks.entries.capacity() + self.frozen.capacity() + self.bottom.capacity()) * size_of::<Entry<E>>()
            + self.chunks.next.capacity() * size_of::<u32>()
            + self.late.capacity() * size_of::<Pending<E>>()
    }
}
