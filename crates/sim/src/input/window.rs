//! A sliding window of a stream: whole records, bounded memory.

use std::io::{self, Read};

pub(super) struct Window<R> {
    from: R,
    buffer: Vec<u8>,
    /// Bounds of the bytes held: `buffer[start..end]`.
    start: usize,
    end: usize,
    offset: u64,
}

impl<R: Read> Window<R> {
    const SIZE: usize = 1 << 18;

    pub(super) fn new(from: R) -> Window<R> {
        Window { from, buffer: vec![0; Self::SIZE], start: 0, end: 0, offset: 0 }
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the position of the window in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads on until `count` bytes are held; returns false when the stream ends before. The caller
    /// bounds `count`, and so the memory.
    pub(super) fn have(&mut self, count: usize) -> io::Result<bool> {
        if self.end - self.start >= count {
            return Ok(true);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.end < count {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Skips `count` bytes that are held.
    pub(super) fn pass(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }
}
