//! What the fuzz targets share: how an input's bytes become what a target wants.

/// An input, taken from its start. Behind its end everything is zero.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `count` bytes, or what is left of them.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.take(N);
        std::array::from_fn(|at| taken.get(at).copied().unwrap_or(0))
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    /// Two bytes.
    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    /// A number below `count`, which is at most 256 and not zero.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
