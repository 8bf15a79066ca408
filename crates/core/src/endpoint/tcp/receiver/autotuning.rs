//! The receiver's window as Linux tunes it (`tcp_moderate_rcvbuf`).
//!
//! The buffer follows what the application reads in a round trip, and each segment that arrives opens
//! the window further, until the window is half of the buffer: the other half is for what segments
//! take in memory beyond their data. Round trips are measured as a receiver can: by the time stamps
//! that come back (RFC 7323), and by the time in which a window of data arrives.

use crate::units::{Span, Time};

/// Linux's buffer of a new connection (`tcp_rmem`), in bytes.
const INITIAL_BUFFER: u64 = 131_072;
/// Linux's largest buffer (`tcp_rmem`), in bytes.
const MAX_BUFFER: u64 = 6 << 20;
/// Memory of a segment beyond its data, in bytes: 2,304 in all for 1,448 bytes.
const OVERHEAD: u64 = 856;
/// Bytes beyond its data for which the buffer is planned, at least, and the step in which they grow.
const PLANNED_OVERHEAD: u64 = 768;
const PLANNED_STEP: u64 = 128;
/// Unit of the window in a header: the scale of a window of up to `MAX_BUFFER` (RFC 7323, section 2.2).
const UNIT: u64 = 128;
/// Largest window without scaling, as in the segment that opens the connection.
const UNSCALED: u64 = 65_535;
/// Least data of a segment that opens the window, in bytes.
const LEAST_DATA: u64 = 128;
/// Segments of the first round trip (RFC 6928).
const FIRST_SEGMENTS: u64 = 10;
/// Segments by which the buffer exceeds twice what arrives in a round trip.
const MARGIN: u64 = 16;

/// Bytes of data for which a buffer has room.
fn room(buffer: u64) -> u64 {
    buffer / 2
}

/// The window of a new connection for segments of `mss` bytes, as the answer that opens it has it.
pub(in crate::endpoint::tcp) fn initial_window(mss: u64) -> u64 {
    let space = room(initial_buffer(mss));
    (space - space % mss).min(UNSCALED).max(mss)
}

/// A segment longer than Linux knows still has room.
fn initial_buffer(mss: u64) -> u64 {
    INITIAL_BUFFER.max(4 * mss)
}

/// The receiver's window and the buffer behind it.
#[derive(Debug)]
pub(super) struct TunedWindow {
    mss: u64,
    /// The greatest window.
    limit: u64,
    buffer: u64,
    /// Greatest window that the buffer allows.
    clamp: u64,
    /// The window that is offered, before it is rounded up.
    window: u64,
    /// The byte behind the offered window, which never moves back.
    edge: u64,
    round_trip: RoundTrip,
    /// Data read in the last round trip that counted, in bytes.
    last_read: u64,
    /// Start of the round trip under way: the byte read last before it, and its time.
    began: (u64, Option<Time>),
}

impl TunedWindow {
    pub(super) fn new(mss: u64, limit: u32) -> TunedWindow {
        let buffer = initial_buffer(mss);
        let clamp = (room(buffer) - mss).max(2 * mss);
        let window = initial_window(mss).min(clamp);
        TunedWindow {
            mss,
            limit: limit.into(),
            buffer,
            clamp,
            window,
            edge: initial_window(mss),
            round_trip: RoundTrip::default(),
            last_read: window.min(FIRST_SEGMENTS * mss),
            began: (0, None),
        }
    }

    /// The window to offer when `next` is the next byte expected and `waiting` bytes wait behind a gap.
    pub(super) fn offer(&mut self, next: u64, waiting: u64) -> u32 {
        let free = room(self.buffer.saturating_sub(self.memory(waiting)));
        let window = free.min(self.window).next_multiple_of(UNIT);
        self.edge = self.edge.max(next + window);
        u32::try_from((self.edge - next).min(self.limit)).unwrap_or(u32::MAX)
    }

    /// Segments for which acknowledgements in a row tell of the window: half of those in it.
    pub(super) fn quick(&self, next: u64) -> u32 {
        let segments = (self.edge - next) / (2 * self.mss);
        if segments == 0 { 2 } else { segments as u32 }
    }

    /// The round trip, once it is measured.
    pub(super) fn round_trip(&self) -> Option<Span> {
        self.round_trip.get().map(Span::from_micros)
    }

    /// Records the time stamp that a segment with `length` bytes of data brought back.
    pub(super) fn stamped(&mut self, now: Time, stamp: u16, length: u32) {
        self.round_trip.stamped(now, stamp, u64::from(length) >= self.mss);
    }

    /// Records a segment in order, behind which `next` is expected. Returns true if it opens the window.
    pub(super) fn arrived(&mut self, now: Time, next: u64, length: u32, waiting: u64) -> bool {
        if self.began.1.is_none() {
            self.began.1 = Some(now);
        }
        self.round_trip.arrived(now, next, self.edge - next.min(self.edge));
        u64::from(length) >= LEAST_DATA && self.open(length.into(), waiting + u64::from(length))
    }

    /// Records a segment behind a gap. Returns true if it opens the window.
    pub(super) fn arrived_beyond(&mut self, length: u32, waiting: u64) -> bool {
        self.open(length.into(), waiting)
    }

    /// Opens the window by two segments, as far as the buffer has room.
    fn open(&mut self, length: u64, waiting: u64) -> bool {
        let free = room(self.buffer.saturating_sub(self.memory(waiting)));
        let left = self.clamp.min(free).saturating_sub(self.window);
        let by = self.increment(length).min(left);
        self.window += by;
        by > 0
    }

    /// Bytes by which a segment opens the window: none if it takes much more memory than it has data,
    /// unless the window is small yet.
    fn increment(&self, length: u64) -> u64 {
        let cost = room(length + OVERHEAD);
        let most = 2 * self.mss.max(length);
        if cost <= length {
            return most;
        }
        let (mut cost, mut window) = (cost / 2, room(MAX_BUFFER) / 2);
        while self.window <= window {
            if cost <= length {
                return most;
            }
            (cost, window) = (cost / 2, window / 2);
        }
        0
    }

    /// Memory of `data` bytes in full segments.
    fn memory(&self, data: u64) -> u64 {
        data + data.div_ceil(self.mss) * OVERHEAD
    }

    /// Records that the application has read all before the byte `read`: after a round trip the
    /// buffer is made for twice what came in it, and for more if more came than in the one before.
    pub(super) fn read(&mut self, now: Time, read: u64) {
        let (Some(began), Some(round_trip)) = (self.began.1, self.round_trip.get()) else { return };
        if micros(now.since(began)) < round_trip {
            return;
        }
        let copied = read - self.began.0;
        if copied > self.last_read {
            let window = 2 * copied + MARGIN * self.mss;
            let growth = u128::from(window) * u128::from(copied - self.last_read);
            let growth = u64::try_from(growth / u128::from(self.last_read.max(1))).unwrap_or(u64::MAX / 4);
            let segments = window.saturating_add(2 * growth) / self.mss;
            let buffer = segments.saturating_mul(self.planned()).min(MAX_BUFFER);
            if buffer > self.buffer {
                (self.buffer, self.clamp) = (buffer, room(buffer));
            }
            self.last_read = copied;
        }
        self.began = (read, Some(now));
    }

    /// Memory for which the buffer is planned, for each segment.
    fn planned(&self) -> u64 {
        let least = self.mss + PLANNED_OVERHEAD;
        let short = (2 * self.mss).saturating_sub(least);
        least + short.div_ceil(PLANNED_STEP) * PLANNED_STEP
    }
}

/// Round trips as a receiver measures them, in microseconds.
#[derive(Debug, Default)]
struct RoundTrip {
    /// Eight times the estimate; 0 for none.
    eightfold: u64,
    /// The time stamp that came back last.
    stamp: Option<u16>,
    /// The byte behind the window that was offered at a time, with this time.
    window: Option<(u64, Time)>,
}

impl RoundTrip {
    fn get(&self) -> Option<u64> {
        (self.eightfold > 0).then_some(self.eightfold / 8)
    }

    /// Measures by a time stamp that comes back for the first time, with a full segment.
    fn stamped(&mut self, now: Time, stamp: u16, is_full: bool) {
        if self.stamp.replace(stamp) != Some(stamp) && is_full {
            let passed = milliseconds(now).wrapping_sub(stamp).max(1);
            self.sampled(1000 * u64::from(passed), true);
        }
    }

    /// Measures by the arrival of a window of data.
    fn arrived(&mut self, now: Time, next: u64, offered: u64) {
        if let Some((edge, began)) = self.window {
            if next < edge {
                return;
            }
            self.sampled(micros(now.since(began)).max(1), false);
        }
        self.window = Some((next + offered, now));
    }

    /// Takes a sample: a lesser one at once, and a greater one, which only a time stamp can show, by
    /// an eighth.
    fn sampled(&mut self, sample: u64, smooths: bool) {
        let least = 8 * sample;
        if self.eightfold == 0 || least < self.eightfold {
            self.eightfold = least;
        } else if smooths {
            self.eightfold = self.eightfold - self.eightfold / 8 + sample;
        }
    }
}

/// A time stamp: milliseconds of the run, modulo 2^16 (RFC 7323, section 4.1, has more bits).
pub(super) fn milliseconds(now: Time) -> u16 {
    (now.since(Time::ORIGIN).ticks() / Span::from_millis(1).ticks()) as u16
}

fn micros(span: Span) -> u64 {
    span.ticks() / Span::from_micros(1).ticks()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1 behind 20 Mbit/s with a round trip of 40 ms, from `TCP_INFO` and `SO_MEMINFO` once
    /// each segment of 1,448 bytes is read: segments so far, window (`tcpi_rcv_ssthresh`), buffer
    /// (`sk_rcvbuf`) and round trip (`tcpi_rcv_rtt`), where one of the last two changes.
    const KERNEL: [(u64, u64, u64, u64); 26] = [
        (1, 64_088, 131_072, 40_000),
        (11, 64_088, 134_280, 40_125),
        (13, 65_988, 134_280, 40_234),
        (17, 65_988, 134_280, 40_580),
        (19, 65_988, 134_280, 40_882),
        (23, 65_988, 134_280, 41_272),
        (27, 65_988, 134_280, 41_863),
        (29, 65_988, 134_280, 42_380),
        (31, 65_988, 134_280, 41_000),
        (32, 65_988, 486_392, 41_000),
        (35, 74_676, 486_392, 41_125),
        (37, 80_468, 486_392, 41_234),
        (41, 92_052, 486_392, 41_580),
        (43, 97_844, 486_392, 41_882),
        (47, 109_428, 486_392, 42_272),
        (51, 121_012, 486_392, 42_863),
        (53, 126_804, 486_392, 43_380),
        (57, 138_388, 486_392, 43_958),
        (61, 149_972, 486_392, 44_588),
        (65, 161_556, 486_392, 45_264),
        (69, 173_140, 677_368, 40_000),
        (73, 184_724, 677_368, 40_250),
        (79, 202_100, 677_368, 40_718),
        (81, 207_892, 677_368, 41_129),
        (85, 219_476, 677_368, 41_737),
        (89, 231_060, 677_368, 42_395),
    ];
    /// First segments of each round trip, and the times of their arrivals in milliseconds.
    const ROUND_TRIPS: [(u64, f64); 4] = [(1, 60.712), (11, 101.373), (31, 142.034), (69, 182.695)];
    const SPACING: f64 = 0.6056;
    const MSS: u64 = 1448;

    fn arrival(segment: u64) -> Time {
        let (first, time) = ROUND_TRIPS.iter().rev().find(|(first, _)| *first <= segment).unwrap();
        Time::ORIGIN + Span::from_secs_f64((time + (segment - first) as f64 * SPACING) / 1e3)
    }

    /// The segment whose acknowledgement let another one leave, two for each: the first 16 were
    /// acknowledged by themselves, then every second one, the 21st at once (PSH), and each again from
    /// the 33rd on.
    fn released_by(segment: u64) -> u64 {
        let by = (segment - 9) / 2;
        match by {
            17..=20 => by.next_multiple_of(2),
            22..=32 => by | 1,
            _ => by,
        }
    }

    #[test]
    fn window_and_buffer_are_the_kernels() {
        let mut tuning = TunedWindow::new(MSS, u32::MAX);
        let mut expected = KERNEL.iter();
        let mut last = (0, 0);
        for segment in 1..=90 {
            let (now, end) = (arrival(segment), segment * MSS);
            let stamp = if segment < 11 { 20 } else { milliseconds(arrival(released_by(segment))) };
            tuning.stamped(now, stamp, MSS as u32);
            let before = tuning.window;
            let opens = tuning.arrived(now, end, MSS as u32, 0);
            assert_eq!(opens, tuning.window > before);
            let offered = u64::from(tuning.offer(end, 0));
            assert!((tuning.window..tuning.window + UNIT).contains(&offered), "{segment}: {offered}");
            tuning.read(now, end);
            let round_trip = tuning.round_trip.get().unwrap();
            if (tuning.buffer, round_trip) != last {
                let found = (segment, tuning.window, tuning.buffer, round_trip);
                assert_eq!(Some(&found), expected.next());
                last = (tuning.buffer, round_trip);
            }
        }
        assert_eq!(expected.next(), None);
    }

    /// A window that was offered stays, however much waits behind a gap, and the buffer has its limit.
    #[test]
    fn the_window_never_moves_back() {
        let mut tuning = TunedWindow::new(MSS, u32::MAX);
        let offered = tuning.offer(0, 0);
        assert_eq!(u64::from(offered), initial_window(MSS));
        assert_eq!(tuning.offer(0, 60_000), offered);
        assert_eq!(tuning.offer(MSS, 60_000), offered - MSS as u32);
        let (mut now, mut end) = (Time::ORIGIN, 0);
        for round_trip in 0..40_u64 {
            for _ in 0..(10 << round_trip.min(12)) {
                end += MSS;
                tuning.stamped(now, (40 * round_trip) as u16, MSS as u32);
                tuning.arrived(now, end, MSS as u32, 0);
                tuning.offer(end, 0);
                tuning.read(now, end);
            }
            now += Span::from_millis(40);
        }
        assert_eq!((tuning.buffer, tuning.clamp), (MAX_BUFFER, MAX_BUFFER / 2));
        assert!(tuning.window > MAX_BUFFER / 2 - 4 * MSS, "{}", tuning.window);
        let limited = TunedWindow { limit: 70_000, ..tuning }.offer(end, 0);
        assert_eq!(limited, 70_000);
    }

    /// A segment of any length has room in the first window.
    #[test]
    fn long_segments_fit() {
        for mss in [1, 536, 1448, 8948, 40_000, 65_535, 65_536, 1 << 20, 1 << 30] {
            assert!(initial_window(mss) >= mss, "{mss}");
            let mut tuning = TunedWindow::new(mss, u32::MAX);
            assert!(u64::from(tuning.offer(0, 0)) >= mss.min(u32::MAX.into()), "{mss}");
            tuning.arrived(Time::ORIGIN, mss, mss as u32, 0);
            tuning.read(Time::ORIGIN, mss);
            assert!(u64::from(tuning.offer(mss, 0)) >= mss, "{mss}");
        }
    }
}
