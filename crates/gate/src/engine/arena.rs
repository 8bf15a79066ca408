//! Memory for frames: buffers of one size.

use super::arrival::Arrival;
use tidegate_core::packet::BodyId;
use tidegate_core::units::Time;

/// Number of buffers that are allocated at a time.
const CHUNK: usize = 1024;
/// The arrival of a buffer without a frame.
const NOT_COME: Arrival = Arrival { switch: Time::ORIGIN, kernel: Time::ORIGIN, read: Time::ORIGIN };

/// Buffers for frames. Their number can grow but not shrink.
pub(super) struct Arena {
    chunks: Vec<Box<[u8]>>,
    buffer_size: usize,
    lengths: Vec<u32>,
    /// The arrival of each frame.
    arrivals: Vec<Arrival>,
    /// The buffer that was freed last is used first: it is still in the cache.
    free: Vec<BodyId>,
}

impl Arena {
    /// An arena of at least `buffers` buffers of `buffer_size` bytes each. The system allocates a
    /// page when it is first used.
    pub(super) fn new(buffers: usize, buffer_size: usize) -> Arena {
        let mut arena = Arena {
            chunks: Vec::new(),
            buffer_size,
            lengths: Vec::new(),
            arrivals: Vec::new(),
            free: Vec::new(),
        };
        arena.grow_to(buffers);
        arena
    }

    /// Memory in bytes that [`new`](Self::new) takes.
    pub(super) fn memory(buffers: usize, buffer_size: usize) -> usize {
        let each = buffer_size + size_of::<u32>() + size_of::<Arrival>() + size_of::<BodyId>();
        buffers.next_multiple_of(CHUNK).saturating_mul(each)
    }

    /// Memory in bytes that [`grow_to`](Self::grow_to) takes. The lists of all buffers move.
    pub(super) fn memory_to_grow(&self, buffers: usize) -> usize {
        match buffers.checked_sub(self.lengths.len()) {
            None | Some(0) => 0,
            Some(more) => Arena::memory(more, self.buffer_size) + Arena::memory(self.lengths.len(), 0),
        }
    }

    /// Allocates buffers until there are `buffers`.
    pub(super) fn grow_to(&mut self, buffers: usize) {
        let before = self.lengths.len();
        while self.lengths.len() < buffers {
            self.chunks.push(vec![0; CHUNK * self.buffer_size].into_boxed_slice());
            self.lengths.resize(self.lengths.len() + CHUNK, 0);
            self.arrivals.resize(self.lengths.len(), NOT_COME);
        }
        let added = (before..self.lengths.len()).rev().map(|at| BodyId(at as u32));
        self.free.splice(0..0, added);
    }

    /// Stores a frame in a free buffer: `write` writes it there and returns its length in bytes.
    /// `None` when no buffer is free, or when `write` returns `None`, which frees the buffer again.
    pub(super) fn store(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<BodyId> {
        let body = self.free.pop()?;
        let at = body.0 as usize;
        match write(&mut self.chunks[at / CHUNK][at % CHUNK * self.buffer_size..][..self.buffer_size]) {
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

    /// Records the arrival of the frame in a buffer.
    pub(super) fn set_arrival(&mut self, body: BodyId, at: Arrival) {
        self.arrivals[body.0 as usize] = at;
    }

    /// The arrival of the frame in a buffer.
    pub(super) fn arrival(&self, body: BodyId) -> Arrival {
        self.arrivals[body.0 as usize]
    }

    /// The frame in a buffer.
    pub(super) fn frame(&self, body: BodyId) -> &[u8] {
        let at = body.0 as usize;
        &self.chunks[at / CHUNK][at % CHUNK * self.buffer_size..][..self.lengths[at] as usize]
    }

    /// Bytes of the frame in a buffer.
    pub(super) fn length(&self, body: BodyId) -> u32 {
        self.lengths[body.0 as usize]
    }

    /// The frame in a buffer, to be changed.
    pub(super) fn frame_mut(&mut self, body: BodyId) -> &mut [u8] {
        let at = body.0 as usize;
        &mut self.chunks[at / CHUNK][at % CHUNK * self.buffer_size..][..self.lengths[at] as usize]
    }

    /// Frees a buffer.
    pub(super) fn free(&mut self, body: BodyId) {
        self.free.push(body);
    }

    /// Returns true if no buffer is free.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// The size of a buffer, in bytes.
    pub(super) fn buffer_size(&self) -> usize {
        self.buffer_size
    }

    /// Buffers in use.
    #[cfg(any(test, fuzzing, feature = "bench"))]
    pub(super) fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}
