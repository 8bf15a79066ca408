//! Where frames wait: places of one size.

use tidegate_core::packet::BodyId;

/// Places are made so many at a time.
const CHUNK: usize = 1024;

/// Places for frames. There can be more of them, but not fewer.
pub(crate) struct Arena {
    chunks: Vec<Box<[u8]>>,
    place: usize,
    lengths: Vec<u32>,
    /// The place that was left last is used first: it is still in the cache.
    free: Vec<BodyId>,
}

impl Arena {
    /// An arena of at least `places` places of `place` bytes each. The system gives the memory when it is
    /// used.
    pub(crate) fn new(places: usize, place: usize) -> Arena {
        let mut arena = Arena { chunks: Vec::new(), place, lengths: Vec::new(), free: Vec::new() };
        arena.reach(places);
        arena
    }

    /// Makes places until there are `places`.
    pub(crate) fn reach(&mut self, places: usize) {
        let before = self.lengths.len();
        while self.lengths.len() < places {
            self.chunks.push(vec![0; CHUNK * self.place].into_boxed_slice());
            self.lengths.resize(self.lengths.len() + CHUNK, 0);
        }
        let made = (before..self.lengths.len()).rev().map(|at| BodyId(at as u32));
        self.free.splice(0..0, made);
    }

    /// Takes a place, which `write` fills; it says how many bytes it wrote. `None` when no place is
    /// left; a place that `write` does not fill is free again.
    pub(crate) fn take(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<BodyId> {
        let body = self.free.pop()?;
        let at = body.0 as usize;
        match write(&mut self.chunks[at / CHUNK][at % CHUNK * self.place..][..self.place]) {
            Some(length) => {
                self.lengths[at] = length as u32;
                Some(body)
            }
            None => {
                self.free.push(body);
                None
            }
        }
    }

    /// The frame at a place.
    pub(crate) fn frame(&self, body: BodyId) -> &[u8] {
        let at = body.0 as usize;
        &self.chunks[at / CHUNK][at % CHUNK * self.place..][..self.lengths[at] as usize]
    }

    /// The same, to be written on.
    pub(crate) fn frame_mut(&mut self, body: BodyId) -> &mut [u8] {
        let at = body.0 as usize;
        &mut self.chunks[at / CHUNK][at % CHUNK * self.place..][..self.lengths[at] as usize]
    }

    /// Gives a place back.
    pub(crate) fn free(&mut self, body: BodyId) {
        self.free.push(body);
    }

    /// Whether every place is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// The size of a place, in bytes.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Places that are taken.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}
