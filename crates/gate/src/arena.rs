//! Where frames wait: places of one size, made once.

use tidegate_core::packet::BodyId;

/// A fixed number of places for frames.
pub(crate) struct Arena {
    bytes: Box<[u8]>,
    place: usize,
    lengths: Box<[u32]>,
    /// The place that was left last is used first: it is still in the cache.
    free: Vec<BodyId>,
}

impl Arena {
    /// An arena of `places` places of `place` bytes each. The system gives the memory when it is used.
    pub(crate) fn new(places: usize, place: usize) -> Arena {
        Arena {
            bytes: vec![0; places * place].into_boxed_slice(),
            place,
            lengths: vec![0; places].into_boxed_slice(),
            free: (0..places as u32).rev().map(BodyId).collect(),
        }
    }

    /// Takes a place, which `write` fills; it says how many bytes it wrote. `None` when no place is
    /// left; a place that `write` does not fill is free again.
    pub(crate) fn take(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<BodyId> {
        let body = self.free.pop()?;
        let at = body.0 as usize;
        match write(&mut self.bytes[at * self.place..][..self.place]) {
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
        &self.bytes[at * self.place..][..self.lengths[at] as usize]
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
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}
