//! Segments with PSH (RFC 9293, section 3.9.1): Linux sets it at the end of what the application has
//! written, and whenever more than half of the receiver's largest window was written since
//! (`forced_push`).

/// The segments with PSH.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pushes {
    /// The largest window that the receiver has offered.
    largest: u64,
    /// Half of it when the application last wrote.
    half: u64,
    /// End of the last segment with PSH.
    last: u64,
}

impl Pushes {
    pub(super) fn new(window: u64) -> Pushes {
        Pushes { largest: window, half: window / 2, last: 0 }
    }

    /// Records a window that the receiver offers.
    pub(super) fn offered(&mut self, window: u64) {
        self.largest = self.largest.max(window);
    }

    /// Records that the application has written.
    pub(super) fn written(&mut self) {
        self.half = self.largest / 2;
    }

    /// Records new data before the byte `end`. Returns true if they have PSH: they end what was
    /// written, or half a window.
    pub(super) fn sent(&mut self, end: u64, ends_all: bool) -> bool {
        let pushes = ends_all || end - self.last > self.half;
        if pushes {
            self.last = end;
        }
        pushes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1 with a window of 65,160 bytes: each 23rd segment of 1,448 bytes in a long write.
    #[test]
    fn half_a_window_has_a_push() {
        let mut pushes = Pushes::new(65_160);
        let with_push: Vec<u64> = (1..=100).filter(|segment| pushes.sent(segment * 1448, false)).collect();
        assert_eq!(with_push, [23, 46, 69, 92]);
        assert!(pushes.sent(101 * 1448, true), "the end of a write");
        pushes.offered(2 * 65_160);
        pushes.offered(65_160);
        pushes.written();
        let with_push: Vec<u64> = (102..=200).filter(|segment| pushes.sent(segment * 1448, false)).collect();
        assert_eq!(with_push, [101 + 46, 101 + 92]);
    }
}
