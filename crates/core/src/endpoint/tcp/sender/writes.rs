//! Segments with PSH (RFC 9293, section 3.9.1): in Linux the last one of each write of the application,
//! and the one with which more than half of the receiver's largest window was written since
//! (`forced_push`). The application writes all that the memory for sending has room for, and goes on
//! when a third of it is free; the memory follows the window (`tcp_sndbuf_expand`).

use alloc::collections::VecDeque;

/// Linux's largest memory for sending (`tcp_wmem`), in bytes.
const MAX_MEMORY: u64 = 4 << 20;
/// Least number of segments for which there is memory, twice.
const LEAST_SEGMENTS: u64 = 10;
/// Memory of a segment beyond its data, in bytes: 2,216 in all for 1,448 bytes.
const OVERHEAD: u64 = 768;
/// Memory for which Linux plans beyond a segment's data: its header and its books, before it is
/// rounded up to a power of two, and the rest.
const PLANNED_WITHIN: u64 = 524;
const PLANNED_BEYOND: u64 = 256;

/// The writes of the application that are not sent yet.
#[derive(Debug)]
pub(super) struct Writes {
    mss: u64,
    /// Memory for sending, in bytes.
    memory: u64,
    /// The first byte that is not acknowledged, and the end of all that was written.
    una: u64,
    written: u64,
    /// The largest window that the receiver has offered.
    largest_window: u64,
    /// Ends of segments with PSH that are not sent yet, and the last of all.
    ends: VecDeque<u64>,
    last: u64,
}

impl Writes {
    pub(super) fn new(mss: u64, window: u64) -> Writes {
        let memory = memory(mss, LEAST_SEGMENTS);
        Writes { mss, memory, una: 0, written: 0, largest_window: window, ends: VecDeque::new(), last: 0 }
    }

    /// Writes the data before the byte `offered` as far as there is room.
    fn write(&mut self, offered: u64) {
        let room = self.memory.saturating_sub(self.used()).div_ceil(self.mss + OVERHEAD);
        let end = offered.min(self.written.saturating_add(room * self.mss));
        let step = (self.largest_window / 2 / self.mss + 1) * self.mss;
        while end - self.last > self.largest_window / 2 && self.last + step < end {
            self.last += step;
            self.ends.push_back(self.last);
        }
        if end > self.written {
            (self.written, self.last) = (end, end);
            self.ends.push_back(end);
        }
    }

    /// Memory of what is written and not acknowledged.
    fn used(&self) -> u64 {
        (self.written - self.una).div_ceil(self.mss) * (self.mss + OVERHEAD)
    }

    /// Records data that the application wants to write, up to the byte `offered`. It wrote all before
    /// up to `before`, or waits.
    pub(super) fn offered(&mut self, before: u64, offered: u64) {
        if self.written >= before {
            self.write(offered);
        }
    }

    /// Records that all before the byte `una` is acknowledged, with a congestion window of `cwnd`
    /// bytes, of data that are offered before `offered`.
    pub(super) fn acknowledged(&mut self, una: u64, cwnd: u64, offered: u64) {
        self.una = una;
        self.memory = self.memory.max(memory(self.mss, cwnd / self.mss));
        if self.written < offered && self.used() + self.used() / 2 <= self.memory {
            self.write(offered);
        }
    }

    /// Records a window that the receiver offers.
    pub(super) fn window(&mut self, window: u64) {
        self.largest_window = self.largest_window.max(window);
    }

    /// Records new data before the byte `end`. Returns true if they have PSH.
    pub(super) fn sent(&mut self, end: u64) -> bool {
        self.written = self.written.max(end);
        let before = self.ends.len();
        while self.ends.front().is_some_and(|push| *push <= end) {
            self.ends.pop_front();
        }
        self.ends.len() < before
    }
}

/// Memory for a window of `segments` segments and as many that wait.
fn memory(mss: u64, segments: u64) -> u64 {
    let each = (mss + PLANNED_WITHIN).next_power_of_two() + PLANNED_BEYOND;
    (2 * segments.max(LEAST_SEGMENTS)).saturating_mul(each).min(MAX_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Linux 6.1 behind 20 Mbit/s with a round trip of 40 ms, from `TCP_INFO` and `SO_MEMINFO` when the
    /// application was woken: segments acknowledged, the window, memory for sending, its use, and
    /// the segments written before and after, up to the first loss: then the kernel joins SACKed
    /// segments, which frees memory.
    const KERNEL: [(u64, u64, u64, u64, u64, u64); 8] = [
        (3, 13, 59_904, 39_888, 21, 31),
        (8, 18, 82_944, 50_968, 31, 46),
        (14, 24, 110_592, 70_912, 46, 64),
        (23, 33, 152_064, 90_856, 64, 92),
        (33, 43, 198_144, 130_744, 92, 123),
        (46, 56, 258_048, 170_632, 123, 163),
        (63, 73, 336_384, 221_600, 163, 215),
        (85, 95, 437_760, 288_080, 215, 283),
    ];

    #[test]
    fn writes_are_those_of_the_kernel() {
        let mut writes = Writes::new(MSS, 65_160);
        writes.offered(0, u64::MAX);
        assert_eq!((writes.memory, writes.used(), writes.written), (46_080, 46_536, 21 * MSS));
        let mut kernel = KERNEL.iter();
        let mut next = kernel.next();
        // Slow start: the window has a segment more for each that is acknowledged. From 23 on two
        // were acknowledged at a time.
        for acknowledged in (1..=20).chain([21, 23, 25, 27, 29]).chain(31..=99) {
            let before = writes.written;
            let Writes { una, .. } = writes;
            writes.acknowledged(acknowledged * MSS, (10 + acknowledged) * MSS, u64::MAX);
            if writes.written > before {
                let used = (before - acknowledged * MSS) / MSS * (MSS + OVERHEAD);
                let found = (
                    acknowledged,
                    10 + acknowledged,
                    writes.memory,
                    used,
                    before / MSS,
                    writes.written / MSS,
                );
                assert_eq!(Some(&found), next, "{una}");
                next = kernel.next();
            }
        }
        assert_eq!(next, None);
        // The segments with PSH that the same connection has sent.
        writes.window(1 << 20);
        let pushes: Vec<u64> = (1..=300).filter(|segment| writes.sent(segment * MSS)).collect();
        assert_eq!(pushes, [21, 31, 46, 64, 87, 92, 115, 123, 146, 163, 186, 209, 215, 238, 261, 283]);
    }

    /// With room for all, Linux sets PSH on each 23rd segment of 1,448 bytes for a window of 65,160.
    #[test]
    fn half_a_window_has_a_push() {
        let mut writes = Writes { memory: MAX_MEMORY, ..Writes::new(MSS, 65_160) };
        writes.offered(0, 100 * MSS + 1);
        let pushes: Vec<u64> = (1..=101).filter(|n| writes.sent((n * MSS).min(100 * MSS + 1))).collect();
        assert_eq!(pushes, [23, 46, 69, 92, 101], "the last one ends the write");
        writes.window(2 * 65_160);
        writes.window(65_160);
        writes.acknowledged(100 * MSS + 1, 10 * MSS, 100 * MSS + 1);
        writes.offered(100 * MSS + 1, 300 * MSS + 1);
        let pushes: Vec<u64> = (101..=300).filter(|n| writes.sent(n * MSS + 1)).collect();
        assert_eq!(pushes, [146, 192, 238, 284, 300]);
    }
}
