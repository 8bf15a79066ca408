//! On-off data: an application that alternates between writing at a constant rate and silence.
//!
//! In an on period of length T it writes rate · T bytes, rounded down: each piece as soon as it is
//! complete, and the remainder at the end of the period. It does not wait for acknowledgements:
//! data that the connection cannot carry wait at the sender, which has room for them.

use super::period::Period;
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};

/// On-off data of one connection.
#[derive(Clone, Copy, Debug)]
pub struct OnOff {
    /// Rate at which data are written in an on period, without headers.
    pub rate: Rate,
    /// Duration of an on period.
    pub on: Period,
    /// Duration of an off period.
    pub off: Period,
}

/// An application that writes on-off data. The first on period begins with the connection.
#[derive(Debug)]
pub struct Writer {
    data: OnOff,
    /// Size of a piece in bytes.
    piece: u32,
    rng: Rng,
    /// Begin and end of the current or next on period.
    on: (Time, Time),
    /// Bytes written in this on period.
    written: u64,
    /// Time of the next write.
    next_at: Time,
}

impl Writer {
    /// An application that begins at `start` and writes pieces of `piece` bytes, at least one.
    pub fn new(data: OnOff, piece: u32, start: Time, rng: Rng) -> Writer {
        let mut writer =
            Writer { data, piece: piece.max(1), rng, on: (start, start), written: 0, next_at: start };
        writer.begin(start);
        writer
    }

    /// Begins the next on period at `at`, which is now or in the future.
    fn begin(&mut self, at: Time) {
        (self.on, self.written) = ((at, at + self.data.on.draw(&mut self.rng)), 0);
        self.set_next(at);
    }

    /// Schedules the next write: one piece's time after the previous one, or the remainder at the
    /// end of the on period.
    fn set_next(&mut self, before: Time) {
        let whole = before + self.data.rate.time_for(self.piece).max(Span::TICK);
        self.next_at = whole.min(self.on.1);
    }

    /// Time of the next write.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Writes the data that are due. Returns their size in bytes.
    pub fn write(&mut self, now: Time) -> Option<u64> {
        if now < self.next_at {
            return None;
        }
        let (at, (begun, ends)) = (self.next_at, self.on);
        if at < ends {
            self.written += u64::from(self.piece);
            self.set_next(at);
            return Some(u64::from(self.piece));
        }
        let rest = self.data.rate.bytes_in(ends.since(begun)).saturating_sub(self.written);
        let silent = self.data.off.draw(&mut self.rng);
        self.begin(ends + silent);
        (rest > 0).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(bits: u64, on: Period, off: Period, piece: u32) -> Writer {
        let rate = Rate::from_bits_per_second(bits).unwrap();
        Writer::new(OnOff { rate, on, off }, piece, Time::ORIGIN, Rng::named(1, "on-off"))
    }

    /// All data written until a time, with the times, each when it was asked for.
    fn written(writer: &mut Writer, until: Time) -> Vec<(Time, u64)> {
        let mut pieces = Vec::new();
        while writer.next_at() <= until {
            let at = writer.next_at();
            assert_eq!(writer.write(at.before(Span::TICK)), None);
            pieces.extend(writer.write(at).map(|bytes| (at, bytes)));
        }
        pieces
    }

    /// 1 MB/s for 10 ms is 10 000 bytes: six pieces of 1500, one each 1.5 ms, and 1000 at the end;
    /// then 5 ms of silence.
    #[test]
    fn pieces_come_at_the_rate_and_the_rest_at_the_end() {
        let ms = |micros: u64| Time::ORIGIN + Span::from_micros(micros);
        let (on, off) = (Period::Fixed(Span::from_millis(10)), Period::Fixed(Span::from_millis(5)));
        let mut writer = writer(8_000_000, on, off, 1500);
        let period = |from: u64| {
            let pieces = (1..=6).map(move |nth| (ms(from + 1500 * nth), 1500));
            pieces.chain([(ms(from + 10_000), 1000)])
        };
        let expected: Vec<_> = (0..3).flat_map(|nth| period(15_000 * nth)).collect();
        assert_eq!(written(&mut writer, ms(44_000)), expected);
    }

    /// Whatever the times and the pieces, on times hold rate · T bytes, and in the long run the
    /// share of the on time is written: on / (on + off) of the rate.
    #[test]
    fn the_mean_rate_is_the_share_of_the_on_time() {
        let seconds = 2_000;
        for (on, off, piece) in [(20, 80, 1460), (20, 80, 100_000), (1, 3, 1460), (500, 100, 536)] {
            let mean = |millis| Period::Exponential(Span::from_millis(millis));
            let mut writer = writer(1_000_000, mean(on), mean(off), piece);
            let pieces = written(&mut writer, Time::ORIGIN + Span::from_secs(seconds));
            assert!(pieces.iter().all(|(_, bytes)| *bytes <= u64::from(piece)));
            assert!(pieces.windows(2).all(|two| two[0].0 <= two[1].0));
            let bytes: u64 = pieces.iter().map(|(_, bytes)| bytes).sum();
            let share = on as f64 / (on + off) as f64;
            let measured = bytes as f64 * 8.0 / seconds as f64 / 1e6;
            // The share of n cycles has a relative deviation of below √(2 / n): 3.3 of them are
            // 99.9 %. Each on time loses up to a byte.
            let cycles = seconds as f64 * 1e3 / (on + off) as f64;
            let lost = 8.0 / (on as f64 * 1e3);
            let off_by = measured / share - 1.0;
            assert!(off_by.abs() < 3.3 * (2.0 / cycles).sqrt() + lost, "{on} {off}: {measured} of {share}");
        }
    }
}
