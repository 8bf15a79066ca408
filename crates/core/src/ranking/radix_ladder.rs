//! Radix ladder: entries by rank, for large numbers of them. They are appended to buckets, and
//! sorted when their turn comes.
//!
//! All ranks lie at or above the *base*. An entry is in the bucket of the highest hexadecimal digit
//! in which its rank differs from the base, and of the value of that digit: buckets of a lower
//! digit come before those of a higher one, and within a digit the smaller comes first. The first
//! bucket is taken as a whole when it is small; a larger one is spread over the buckets of lower
//! digits first. So an entry is moved once for every digit that distinguishes it from those before
//! it: memory is read and written in sequence, where a heap of many entries jumps.

use crate::ranking::sorted_prefix::RankedFlow;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Bits per digit.
const DIGIT: u32 = 4;
/// Number of values of a digit.
const DIGITS: usize = 1 << DIGIT;
/// Number of digits in a rank.
const LEVELS: usize = (u128::BITS / DIGIT) as usize;
/// Entries in a chunk of a bucket: the most that are taken at once.
pub(crate) const CHUNK: usize = 16;
const NONE: u32 = u32::MAX;

/// A chunk: some of the entries of a bucket.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    entries: [RankedFlow; CHUNK],
    len: u32,
    /// The next chunk of the bucket, or of the free list.
    next: u32,
}

/// The chunks of every bucket, and bitmaps of the buckets that have any.
#[derive(Clone, Debug)]
struct Buckets {
    first: [[u32; DIGITS]; LEVELS],
    /// For each level, one bit for every digit whose bucket has entries.
    filled: [u16; LEVELS],
    /// One bit for every level with such a bucket.
    levels: u32,
}

/// Entries at or above a base, by rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct RadixLadder {
    base: u128,
    /// Allocated on first use.
    buckets: Option<Box<Buckets>>,
    chunks: Vec<Chunk>,
    free: u32,
    len: usize,
}

impl RadixLadder {
    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The smallest rank that may be inserted.
    #[inline]
    pub(crate) fn base(&self) -> u128 {
        self.base
    }

    /// Sets the base of a ladder that is empty, or raises it to a rank that no entry lies below and
    /// that is in the bucket that was taken last.
    pub(crate) fn set_base(&mut self, base: u128) {
        self.base = base;
    }

    /// Inserts an entry whose rank is not below the base.
    pub(crate) fn insert(&mut self, entry: RankedFlow) {
        debug_assert!(entry.wide() >= self.base);
        self.len += 1;
        self.put(entry);
    }

    #[inline]
    fn put(&mut self, entry: RankedFlow) {
        let rank = entry.wide();
        let level = ((rank ^ self.base) | 1).ilog2() / DIGIT;
        let digit = (rank >> (level * DIGIT)) as usize % DIGITS;
        let level = level as usize;
        let buckets = self.buckets.get_or_insert_with(|| {
            self.free = NONE;
            Box::new(Buckets { first: [[NONE; DIGITS]; LEVELS], filled: [0; LEVELS], levels: 0 })
        });
        let first = &mut buckets.first[level][digit];
        if let Some(chunk) = self.chunks.get_mut(*first as usize)
            && let Some(place) = chunk.entries.get_mut(chunk.len as usize)
        {
            *place = entry;
            chunk.len = chunk.len.wrapping_add(1);
            return;
        }
        buckets.filled[level] |= 1 << digit;
        buckets.levels |= 1 << level;
        let new = self.free;
        match self.chunks.get_mut(new as usize) {
            Some(chunk) => {
                self.free = chunk.next;
                (chunk.entries[0], chunk.len, chunk.next) = (entry, 1, *first);
                *first = new;
            }
            None => {
                let new = self.chunks.len() as u32;
                self.chunks.push(Chunk { entries: [entry; CHUNK], len: 1, next: *first });
                *first = new;
            }
        }
    }

    /// Removes the entries with the smallest ranks, unsorted. At most `CHUNK` of them are valid, as
    /// determined by `take`.
    pub(crate) fn take_first(&mut self, mut take: impl FnMut(&RankedFlow) -> bool) {
        let mut any_held = false;
        while let Some(buckets) = &mut self.buckets
            && buckets.levels != 0
            && !any_held
        {
            let level = buckets.levels.trailing_zeros();
            let filled = &mut buckets.filled[level as usize];
            let digit = filled.trailing_zeros();
            *filled &= filled.wrapping_sub(1);
            buckets.levels &= !(u32::from(*filled == 0) << level);
            let first = core::mem::replace(&mut buckets.first[level as usize][digit as usize], NONE);
            let is_small = self.chunks[first as usize].next == NONE;
            // At the lowest digit all ranks are equal: at most one entry is valid.
            if is_small || level == 0 {
                self.each_chunk(first, |_, entries| {
                    entries.iter().for_each(|entry| any_held |= take(entry));
                });
                continue;
            }
            let shift = level * DIGIT;
            let above = self.base.checked_shr(shift + DIGIT).unwrap_or(0) << DIGIT | u128::from(digit);
            self.base = above << shift;
            self.each_chunk(first, |ladder, entries| {
                ladder.len = ladder.len.wrapping_add(entries.len());
                entries.iter().for_each(|entry| ladder.put(*entry));
            });
        }
    }

    /// Lowers the base to a rank that no entry lies below. Entries that differ from the old base in
    /// lower digits only now differ from the new one in the highest digit that the two do not
    /// share: whole buckets go there.
    pub(crate) fn lower_base(&mut self, base: u128) {
        let level = ((self.base ^ base) | 1).ilog2() / DIGIT;
        let digit = (self.base >> (level * DIGIT)) as usize % DIGITS;
        self.base = base;
        let Some(buckets) = &mut self.buckets else { return };
        let lower = buckets.levels & ((1 << level) - 1);
        if lower == 0 {
            return;
        }
        let level = level as usize;
        for from in (0..level).filter(|from| lower >> from & 1 == 1) {
            buckets.filled[from] = 0;
            for nth in 0..DIGITS {
                let first = core::mem::replace(&mut buckets.first[from][nth], NONE);
                let mut last = first;
                while let Some(chunk) = self.chunks.get(last as usize)
                    && chunk.next != NONE
                {
                    last = chunk.next;
                }
                if let Some(chunk) = self.chunks.get_mut(last as usize) {
                    chunk.next = core::mem::replace(&mut buckets.first[level][digit], first);
                }
            }
        }
        buckets.filled[level] |= 1 << digit;
        buckets.levels = buckets.levels & !lower | 1 << level;
    }

    /// Passes each chunk of a bucket to `each`, and frees it.
    #[inline]
    fn each_chunk(&mut self, first: u32, mut each: impl FnMut(&mut RadixLadder, &[RankedFlow])) {
        let mut at = first;
        while let Some(chunk) = self.chunks.get_mut(at as usize) {
            // A copy, because `each` may refill the chunk.
            let Chunk { entries, len, next } = *chunk;
            chunk.next = core::mem::replace(&mut self.free, at);
            self.len = self.len.wrapping_sub(len as usize);
            each(self, &entries[..len as usize]);
            at = next;
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let buckets = self.buckets.as_ref().map_or(0, |_| size_of::<Buckets>());
        buckets + self.chunks.capacity() * size_of::<Chunk>()
    }
}
