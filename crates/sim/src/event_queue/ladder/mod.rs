//! Pending events in a radix ladder.
//!
//! The earliest few events stand sorted in the *bottom*. Every event later than
//! `top`, the last instant that the bottom covers, lies unsorted in one of many
//! buckets: the bucket is named by the highest digit in which its time differs from
//! `top`, and by that digit's value. So each bucket holds a contiguous stretch of
//! time, and the stretches of lower digits come first. When the bottom runs empty,
//! the next buckets are moved into it, and a bucket too large for that is first
//! spread over the buckets of a lower digit. An event goes down by at least one digit
//! each time, whatever the distribution of times: there is nothing to tune.
//!
//! The bottom has two parts. The *run* is what was moved down, sorted all at once;
//! the *front* is a short linked list that takes the events pushed since. In a small
//! network everything pending fits into the front, and no bucket is ever used. When
//! the front is full, the later part of the bottom returns to buckets.
//!
//! Buckets are first in, first out, and so is the bottom among equals, hence no
//! entry carries a sequence number.
//!
//! Two cases would lengthen the bottom without limit: many events of one instant,
//! which no digit separates, and many pushes earlier than the stretch that was last
//! moved down. The first makes a long run, sorted once. When the front is full and
//! nothing can be moved back into buckets, the run is set aside (*frozen*), and
//! pushes up to `top` go to a binary heap beside it until that is empty again. The
//! worst case is then that of the heap.

mod chunks;
mod front;

use super::EventQueue;
use super::heap::Pending;
use chunks::{Bucket, CHUNK, Chunks, NONE};
use front::{CAPACITY, Front, PLACES};
use std::collections::BinaryHeap;
use tidegate_core::units::Time;

/// Bits in a digit: a power of two, so that a digit's shift is found by masking.
const BITS: u32 = 4;
/// The bucket of value `v` of the digit at `shift` has number `shift * STRIDE + v`.
const STRIDE: u32 = (1 << BITS) / BITS;
const BUCKETS: usize = 64 * STRIDE as usize;
/// A bucket of at most this many entries is sorted rather than spread: so few that the
/// standard library sorts them without allocating, if it has to.
const RUN: u32 = 128;
/// A run takes in buckets until it holds this many entries.
const ENOUGH: u32 = 24;
/// A run is first sorted into cells by this many of the highest bits that differ.
const CELL_BITS: u32 = 6;
/// A run with a cell of more entries is left to the standard library.
const CROWDED: u8 = 16;
/// How many entries stay when the front is full and the later ones leave it.
const KEEP: usize = 12;

const _: () = assert!(CAPACITY < PLACES && RUN < 256 && BITS.is_power_of_two() && BITS <= 4);

/// The fast event queue: a radix ladder.
///
/// Amortised time per event is constant for any distribution of times, and that of a
/// binary heap at worst (see the module's text). No memory is allocated per event once
/// the number of pending events has peaked; only a long run of one instant may allocate,
/// once for the whole run. Memory is that of the peak, 24 to 32 bytes an event for
/// payloads of 8 to 16, and at most one part-filled chunk per bucket.
#[derive(Clone, Debug)]
pub struct Ladder<E> {
    front: Front<E>,
    /// The other part of the bottom, the latest event first. Its events were pushed
    /// before those of the front.
    run: Vec<Entry<E>>,
    /// The bottom holds every event up to this instant; the buckets hold the rest.
    top: u64,
    /// Events in buckets.
    stored: usize,
    /// The digits (by shift) with a non-empty bucket.
    levels: u64,
    /// For each digit's shift, the values with a non-empty bucket.
    values: [u16; 64],
    buckets: Box<[Bucket; BUCKETS]>,
    chunks: Chunks<E>,
    /// The entries that are becoming the run.
    unsorted: Vec<Entry<E>>,
    /// The run while `late` is in use; then `run` and the front are empty.
    frozen: Vec<Entry<E>>,
    /// Events up to `top` that found no room in the front.
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
    (difference | 1).ilog2() & !(BITS - 1)
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

    /// Puts the next events into the empty bottom, if there are any.
    #[inline(never)]
    fn refill(&mut self) {
        while self.levels != 0 {
            let shift = self.levels.trailing_zeros();
            let value = self.values[shift as usize].trailing_zeros();
            if self.count(self.buckets[(shift * STRIDE + value) as usize], RUN).is_some() {
                return self.gather(shift);
            }
            let bucket = self.detach(shift, value);
            let difference = self.difference(bucket);
            if difference == 0 {
                return self.gather_instant(bucket);
            }
            self.spread(bucket, shift_of(difference));
        }
    }

    /// The number of entries in a bucket that is not empty, unless there are more than `limit`.
    #[inline]
    fn count(&self, bucket: Bucket, limit: u32) -> Option<u32> {
        let mut chunk = bucket.head;
        let mut before = 0;
        while chunk != bucket.last() {
            before += CHUNK;
            if before >= limit {
                return None;
            }
            chunk = self.chunks.next[chunk as usize];
        }
        let count = before + (bucket.tail - chunk * CHUNK);
        (count <= limit).then_some(count)
    }

    /// Makes buckets of the digit at `shift` the run: the first, and more if that is small.
    #[inline]
    fn gather(&mut self, shift: u32) {
        let mut last = 0;
        self.unsorted.clear();
        while self.values[shift as usize] != 0 && self.unsorted.len() < ENOUGH as usize {
            let value = self.values[shift as usize].trailing_zeros();
            let room = RUN - self.unsorted.len() as u32;
            if self.count(self.buckets[(shift * STRIDE + value) as usize], room).is_none() {
                break;
            }
            let bucket = self.detach(shift, value);
            self.drain(bucket);
            last = value;
        }
        self.stored -= self.unsorted.len();
        self.sort_run();
        self.top = match (self.levels, self.run.first()) {
            (0, _) | (_, None) => u64::MAX,
            // The last instant that the last bucket covers.
            (_, Some(latest)) => (latest.time & above(shift)) | (u64::from(last) << shift) | !(!0 << shift),
        };
    }

    /// Moves a detached bucket to `unsorted`.
    #[inline]
    fn drain(&mut self, bucket: Bucket) {
        let mut chunk = bucket.head;
        while chunk != bucket.last() {
            let start = (chunk * CHUNK) as usize;
            self.unsorted.extend_from_slice(&self.chunks.entries[start..start + CHUNK as usize]);
            chunk = self.chunks.give_back(chunk);
        }
        self.unsorted.extend_from_slice(&self.chunks.entries[(chunk * CHUNK) as usize..bucket.tail as usize]);
        self.chunks.give_back(chunk);
    }

    /// Sorts `unsorted`, at most `RUN` entries, into the empty run.
    #[inline]
    fn sort_run(&mut self) {
        let (unsorted, run) = (&self.unsorted[..], &mut self.run);
        let [first, ..] = unsorted else { return };
        let difference = unsorted.iter().fold(0, |difference, entry| difference | (entry.time ^ first.time));
        // The highest bits that differ name a cell; more than a few entries rarely share one.
        let shift = (difference | 1).ilog2().saturating_sub(CELL_BITS - 1);
        let cell = |entry: &Entry<E>| (entry.time >> shift) as usize % (1 << CELL_BITS);
        let mut counts = [0u8; 1 << CELL_BITS];
        for entry in unsorted {
            // At most RUN: no overflow, here and below.
            counts[cell(entry)] = counts[cell(entry)].wrapping_add(1);
        }
        let mut crowd = 0;
        // From counts to the end of each cell: the latest cell comes first in the run, and
        // within a cell the newest entry.
        let mut end = 0u8;
        for count in counts.iter_mut().rev() {
            crowd = crowd.max(*count);
            end = end.wrapping_add(*count);
            *count = end;
        }
        run.resize(unsorted.len(), *first);
        for entry in unsorted {
            let place = &mut counts[cell(entry)];
            *place = place.wrapping_sub(1);
            run[usize::from(*place)] = *entry;
        }
        if crowd > CROWDED {
            // Stable: the newest still comes first among equals.
            run.sort_by_key(|entry| std::cmp::Reverse((entry.time, entry.key)));
            return;
        }
        for sorted in 1..run.len() {
            let entry = run[sorted];
            let mut place = sorted;
            while place > 0 && run[place - 1].precedes(&entry) {
                run[place] = run[place - 1];
                place -= 1;
            }
            if place != sorted {
                run[place] = entry;
            }
        }
    }

    /// Makes a detached bucket of one instant the run.
    #[cold]
    #[inline(never)]
    fn gather_instant(&mut self, bucket: Bucket) {
        self.unsorted.clear();
        self.drain(bucket);
        std::mem::swap(&mut self.unsorted, &mut self.run);
        self.stored -= self.run.len();
        self.top = if self.levels == 0 { u64::MAX } else { self.run[0].time };
        // Stable, so that the order of pushing decides among equal keys.
        self.run.sort_by_key(|entry| entry.key);
        self.run.reverse();
    }

    /// The bits in which the times of a bucket differ.
    #[inline]
    fn difference(&self, bucket: Bucket) -> u64 {
        let first = self.chunks.entries[(bucket.head * CHUNK) as usize].time;
        let mut difference = 0;
        let mut chunk = bucket.head;
        loop {
            let start = (chunk * CHUNK) as usize;
            let last = chunk == bucket.last();
            let end = if last { bucket.tail as usize } else { start + CHUNK as usize };
            for entry in &self.chunks.entries[start..end] {
                difference |= entry.time ^ first;
            }
            if last {
                return difference;
            }
            chunk = self.chunks.next[chunk as usize];
        }
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
            let next = self.chunks.give_back(chunk);
            if last {
                return;
            }
            chunk = next;
        }
    }

    /// Puts an event later than `top` into its bucket.
    #[inline(never)]
    fn push_later(&mut self, time: Time, key: u32, event: E) {
        let time = time.ticks();
        // Every event takes memory: their number cannot overflow.
        self.stored = self.stored.wrapping_add(1);
        self.store(shift_of(time ^ self.top), Entry { time, key, event });
    }

    /// Puts an event up to `top` where it belongs when the front has no room for it.
    #[cold]
    #[inline(never)]
    fn push_full(&mut self, time: Time, key: u32, event: E) {
        if self.front.events.is_empty() {
            self.front.provide(event);
        } else if !self.late.is_empty() || !self.spill() {
            if self.late.is_empty() {
                self.freeze();
            }
            return self.push_late(time, key, event);
        }
        self.push(time, key, event);
    }

    fn push_late(&mut self, time: Time, key: u32, event: E) {
        self.late.push(Pending { time, key, sequence: self.late_pushed, event });
        self.late_pushed += 1;
    }

    /// Shortens the full front by moving the later events of the bottom into buckets
    /// and `top` before them; false when the front would stay full.
    fn spill(&mut self) -> bool {
        let mut places = [0; CAPACITY];
        for (slot, place) in places.iter_mut().zip(self.front.places()) {
            *slot = place;
        }
        let last_kept = self.front.times[places[KEEP - 1]];
        let range = self.front.times[places[CAPACITY - 1]] - last_kept;
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
        let kept = places.partition_point(|&place| self.front.times[place] <= top);
        let spilt = self.run.partition_point(|entry| entry.time > top);
        if kept == CAPACITY || spilt > RUN as usize {
            return false;
        }
        self.top = top;
        // The run first, for its events are the older ones.
        for place in (0..spilt).rev() {
            let entry = self.run[place];
            self.store(shift_of(entry.time ^ top), entry);
        }
        self.run.drain(..spilt);
        for &place in &places[kept..] {
            let entry = self.front.entry(place);
            self.store(shift_of(entry.time ^ top), entry);
        }
        self.stored += spilt + CAPACITY - kept;
        self.front.truncate(kept.checked_sub(1).map_or(0, |last| places[last]));
        true
    }

    /// Sets the run aside and moves the front to `late`.
    fn freeze(&mut self) {
        while let Some((time, key, event)) = self.front.pop_with_key() {
            self.push_late(Time::from_ticks(time), key, event);
        }
        self.front.close();
        std::mem::swap(&mut self.run, &mut self.frozen);
    }

    /// Brings the first event into the bottom unless it is frozen.
    fn prepare(&mut self) {
        if self.late.is_empty() && self.run.is_empty() && self.front.is_empty() {
            if self.unsorted.capacity().max(self.run.capacity()) > 1 << 10 {
                // Left from a long run.
                self.unsorted = Vec::with_capacity(RUN as usize);
                self.run = Vec::with_capacity(RUN as usize);
            }
            self.refill();
        }
    }

    /// The first event's time, when the bottom is empty or frozen.
    #[cold]
    #[inline(never)]
    fn first_elsewhere(&mut self) -> Option<Time> {
        self.prepare();
        let late = self.late.peek().map(|late| late.time);
        let sorted = self.run.last().or(self.frozen.last()).map(|entry| Time::from_ticks(entry.time));
        late.into_iter().chain(sorted).min()
    }

    /// The same up to `limit`.
    #[inline(never)]
    fn pop_elsewhere_until(&mut self, limit: Time) -> Option<(Time, E)> {
        (self.first_elsewhere()? <= limit).then(|| self.pop()).flatten()
    }

    /// Removes the first event, when the bottom is empty or frozen.
    #[inline(never)]
    fn pop_elsewhere(&mut self) -> Option<(Time, E)> {
        self.prepare();
        let Some(late) = self.late.peek() else {
            return self.run.pop().map(|entry| (Time::from_ticks(entry.time), entry.event));
        };
        // A late event that equals a frozen one was pushed after it.
        if self.frozen.last().is_some_and(|frozen| (frozen.time, frozen.key) <= (late.time.ticks(), late.key))
        {
            return self.frozen.pop().map(|entry| (Time::from_ticks(entry.time), entry.event));
        }
        let first = self.late.pop().map(|late| (late.time, late.event));
        if self.late.is_empty() {
            std::mem::swap(&mut self.run, &mut self.frozen);
            self.front.open();
        }
        first
    }

    /// Whether the first event of the bottom is in the run, which is not empty, at the
    /// time at which the front's first event is too.
    #[cold]
    #[inline(never)]
    fn run_wins_tie(&self) -> bool {
        let first = self.front.next[0];
        first == 0 || self.run.last().is_some_and(|entry| entry.key <= self.front.keys[usize::from(first)])
    }
}

impl<E: Copy> EventQueue<E> for Ladder<E> {
    fn new() -> Self {
        Self::with_capacity(0)
    }

    fn with_capacity(events: usize) -> Self {
        let chunks = events.div_ceil(CHUNK as usize);
        Self {
            front: Front::new(),
            run: Vec::new(),
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
            unsorted: Vec::new(),
            frozen: Vec::new(),
            late: BinaryHeap::new(),
            late_pushed: 0,
        }
    }

    #[inline]
    fn push(&mut self, time: Time, key: u32, event: E) {
        if time.ticks() > self.top {
            self.push_later(time, key, event);
        } else if !self.front.insert(Entry { time: time.ticks(), key, event }) {
            self.push_full(time, key, event);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(Time, E)> {
        if let Some(last) = self.run.last() {
            let front = self.front.first_time();
            if last.time < front || (last.time == front && self.run_wins_tie()) {
                return self.run.pop().map(|entry| (Time::from_ticks(entry.time), entry.event));
            }
        }
        match self.front.pop() {
            Some((time, event)) => Some((Time::from_ticks(time), event)),
            None => self.pop_elsewhere(),
        }
    }

    #[inline]
    fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        let front = self.front.first_time();
        match self.run.last() {
            Some(last) if last.time < front || (last.time == front && self.run_wins_tie()) => {
                if last.time > limit.ticks() {
                    return None;
                }
                self.run.pop().map(|entry| (Time::from_ticks(entry.time), entry.event))
            }
            _ if self.front.is_empty() => self.pop_elsewhere_until(limit),
            _ if front > limit.ticks() => None,
            _ => self.front.pop().map(|(time, event)| (Time::from_ticks(time), event)),
        }
    }

    #[inline]
    fn next_time(&mut self) -> Option<Time> {
        let front = self.front.first_time();
        match self.run.last() {
            Some(last) => Some(Time::from_ticks(last.time.min(front))),
            None if !self.front.is_empty() => Some(Time::from_ticks(front)),
            None => self.first_elsewhere(),
        }
    }

    fn len(&self) -> usize {
        self.front.places().count() + self.run.len() + self.stored + self.frozen.len() + self.late.len()
    }

    fn is_empty(&self) -> bool {
        self.front.is_empty()
            && self.run.is_empty()
            && self.stored == 0
            && self.frozen.is_empty()
            && self.late.is_empty()
    }
}

#[cfg(test)]
impl<E> Ladder<E> {
    /// Bytes of memory held for events.
    pub(super) fn memory(&self) -> usize {
        let vectors = [&self.chunks.entries, &self.unsorted, &self.run, &self.frozen];
        vectors.iter().map(|entries| entries.capacity()).sum::<usize>() * size_of::<Entry<E>>()
            + self.front.events.capacity() * size_of::<E>()
            + self.chunks.next.capacity() * size_of::<u32>()
            + self.late.capacity() * size_of::<Pending<E>>()
    }
}
