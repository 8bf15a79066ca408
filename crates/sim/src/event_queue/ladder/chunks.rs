//! Buckets: first-in first-out lists of chunks, over one memory.

use super::Entry;

/// Entries in a chunk of a bucket.
pub(super) const CHUNK: u32 = 32;
/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// A first-in first-out list of chunks, all full but the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The first chunk, when the bucket is not empty.
    pub(super) head: u32,
    /// The place after the last entry: a multiple of `CHUNK` when there is no room.
    pub(super) tail: u32,
}

impl Bucket {
    pub(super) const EMPTY: Bucket = Bucket { head: NONE, tail: 0 };

    /// The last chunk, when the bucket is not empty.
    #[inline]
    pub(super) fn last(self) -> u32 {
        (self.tail - 1) / CHUNK
    }
}

/// The memory of all buckets.
#[derive(Clone, Debug)]
pub(super) struct Chunks<E> {
    /// Chunk `c` is `entries[c * CHUNK..][..CHUNK]`.
    pub(super) entries: Vec<Entry<E>>,
    /// The chunk after each chunk in its bucket or in the list of free chunks.
    pub(super) next: Vec<u32>,
    pub(super) free: u32,
}

impl<E: Copy> Chunks<E> {
    /// A chunk for use; `filler` fills new memory.
    #[inline]
    pub(super) fn take(&mut self, filler: Entry<E>) -> u32 {
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
    pub(super) fn extend(&mut self, filler: Entry<E>) -> u32 {
        let chunk = self.next.len();
        let places = (chunk + 1) * CHUNK as usize;
        assert!(places < NONE as usize, "more pending events than the queue can number");
        self.next.push(NONE);
        self.entries.resize(places, filler);
        chunk as u32
    }

    /// Frees a chunk and returns the one after it.
    #[inline]
    pub(super) fn give_back(&mut self, chunk: u32) -> u32 {
        let free = std::mem::replace(&mut self.free, chunk);
        std::mem::replace(&mut self.next[chunk as usize], free)
    }
}
