//! Service curves: convex, piecewise linear, zero at the start.

use super::Exact;
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

/// A part of a curve: for `length` seconds it rises by `rate` bytes a second.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    length: Exact,
    rate: Exact,
}

/// A convex service curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCurve {
    /// In the order of their rates.
    pieces: Vec<Piece>,
    /// The rate behind all pieces; `None` for without limit, as behind a pure delay.
    last: Option<Exact>,
}

/// A straight line that rises at `rate` from zero at the time `from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) rate: Exact,
    pub(super) from: Exact,
}

impl Line {
    fn at(&self, time: &Exact) -> Exact {
        &self.rate * (time - &self.from)
    }
}

impl ServiceCurve {
    /// The curve of a server with a rate, after a latency.
    pub fn rate_latency(rate: Exact, latency: Exact) -> ServiceCurve {
        ServiceCurve::new(vec![Piece { length: latency, rate: Exact::zero() }], Some(rate))
    }

    /// The curve of a server in which no packet spends more than `delay`.
    pub fn delay(delay: Exact) -> ServiceCurve {
        ServiceCurve::new(vec![Piece { length: delay, rate: Exact::zero() }], None)
    }

    fn new(pieces: Vec<Piece>, last: Option<Exact>) -> ServiceCurve {
        let mut curve = ServiceCurve { pieces: Vec::new(), last };
        for piece in pieces {
            if piece.length.is_zero() || Some(&piece.rate) == curve.last.as_ref() {
                continue;
            }
            match curve.pieces.last_mut() {
                Some(before) if before.rate == piece.rate => before.length += piece.length,
                _ => curve.pieces.push(piece),
            }
        }
        curve
    }

    /// The greatest of zero and these lines, up to the time `wall`, behind which there is no limit.
    pub(super) fn greatest(lines: &[Line], wall: Option<Exact>) -> ServiceCurve {
        let mut pieces = Vec::new();
        let mut now = Line { rate: Exact::zero(), from: Exact::zero() };
        let mut at = Exact::zero();
        loop {
            // The next line to overtake; of several at one time, the steepest.
            let steeper = lines.iter().filter(|line| line.rate > now.rate);
            let meets = steeper.map(|line| {
                let gap = &line.rate * &line.from - &now.rate * &now.from;
                ((gap / (&line.rate - &now.rate)).max(at.clone()), line)
            });
            let first = meets
                .min_by(|(one, line), (other, than)| one.cmp(other).then_with(|| than.rate.cmp(&line.rate)));
            let until = match (first, &wall) {
                (Some((time, _)), Some(wall)) if time >= *wall => None,
                (first, _) => first,
            };
            match until {
                Some((time, line)) => {
                    pieces.push(Piece { length: &time - &at, rate: now.rate });
                    (now, at) = (line.clone(), time);
                }
                None => match wall {
                    Some(wall) => {
                        pieces.push(Piece { length: wall - at, rate: now.rate });
                        return ServiceCurve::new(pieces, None);
                    }
                    None => return ServiceCurve::new(pieces, Some(now.rate)),
                },
            }
        }
    }

    /// The lines of its pieces, those of the flat one aside, with the time at which each begins.
    pub(super) fn lines(&self) -> Vec<(Exact, Line)> {
        let (mut at, mut height) = (Exact::zero(), Exact::zero());
        let mut lines = Vec::new();
        let mut add = |at: &Exact, height: &Exact, rate: &Exact| {
            if !rate.is_zero() {
                lines.push((at.clone(), Line { rate: rate.clone(), from: at - height / rate }));
            }
        };
        for Piece { length, rate } in &self.pieces {
            add(&at, &height, rate);
            height += rate * length;
            at += length;
        }
        self.last.iter().for_each(|rate| add(&at, &height, rate));
        lines
    }

    /// The time behind which there is no limit.
    pub(super) fn wall(&self) -> Option<Exact> {
        let all = || self.pieces.iter().fold(Exact::zero(), |sum, piece| sum + &piece.length);
        self.last.is_none().then(all)
    }

    /// The least rate at which it serves in the long run; `None` without limit.
    pub fn rate(&self) -> Option<&Exact> {
        self.last.as_ref()
    }

    /// The rate and the latency of the rate-latency curve with its rate in the long run that it never
    /// falls below; `None` without limit, or where it serves nothing in the long run.
    pub fn in_the_long_run(&self) -> Option<(Exact, Exact)> {
        let rate = self.last.as_ref().filter(|rate| !rate.is_zero())?;
        let lines = self.lines();
        let (_, line) = lines.last().filter(|(_, line)| line.rate == *rate)?;
        Some((line.rate.clone(), line.from.clone()))
    }

    /// The time up to which it may serve nothing.
    pub fn latency(&self) -> Exact {
        match self.pieces.first() {
            Some(piece) if piece.rate.is_zero() => piece.length.clone(),
            _ => Exact::zero(),
        }
    }

    /// Least bytes served by this time; `None` without limit.
    pub fn at(&self, time: &Exact) -> Option<Exact> {
        if self.wall().is_some_and(|wall| *time > wall) {
            return None;
        }
        let heights = self.lines().into_iter().map(|(_, line)| line.at(time));
        Some(heights.fold(Exact::zero(), Exact::max))
    }

    /// The rate just after this time; `None` without limit.
    pub(super) fn rate_after(&self, time: &Exact) -> Option<&Exact> {
        let mut at = Exact::zero();
        for Piece { length, rate } in &self.pieces {
            at += length;
            if at > *time {
                return Some(rate);
            }
        }
        self.last.as_ref()
    }

    /// Times at which its rate changes.
    pub(super) fn corners(&self) -> Vec<Exact> {
        let ends = self.pieces.iter().scan(Exact::zero(), |at, piece| {
            *at += &piece.length;
            Some(at.clone())
        });
        ends.collect()
    }

    /// Rates of its pieces up to this time with their lengths, in order.
    pub(super) fn pieces_until(&self, time: &Exact) -> Vec<(Exact, Exact)> {
        let mut left = time.clone();
        let mut until = Vec::new();
        for Piece { length, rate } in &self.pieces {
            let length = length.clone().min(left.clone());
            left -= &length;
            until.push((length, rate.clone()));
        }
        until.extend(self.last.clone().map(|rate| (left, rate)));
        until.retain(|(length, _)| !length.is_zero());
        until
    }

    /// The last time at which no more than `bytes` are sure to be served; `None` if more never are.
    pub fn time_for(&self, bytes: &Exact) -> Option<Exact> {
        let (mut at, mut left) = (Exact::zero(), bytes.clone());
        for Piece { length, rate } in &self.pieces {
            let height = rate * length;
            if left < height {
                return Some(at + left / rate);
            }
            at += length;
            left -= height;
        }
        match &self.last {
            None => Some(at),
            Some(rate) if rate.is_zero() => None,
            Some(rate) => Some(at + left / rate),
        }
    }

    /// The curve of both servers in a row, each with the traffic that leaves the one before: their
    /// min-plus convolution, which has the pieces of both in the order of their rates.
    #[must_use]
    pub fn then(&self, next: &ServiceCurve) -> ServiceCurve {
        let last = match (&self.last, &next.last) {
            (Some(one), Some(other)) => Some(one.min(other).clone()),
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let mut pieces: Vec<Piece> = self.pieces.iter().chain(&next.pieces).cloned().collect();
        pieces.retain(|piece| last.as_ref().is_none_or(|last| piece.rate < *last));
        pieces.sort_by(|one, other| one.rate.cmp(&other.rate));
        ServiceCurve::new(pieces, last)
    }

    /// The curve in whole packets of at most `largest` bytes: up to a packet may be on its way out
    /// (Le Boudec and Thiran 2001, theorem 1.7.1).
    #[must_use]
    pub fn in_packets(&self, largest: &Exact) -> ServiceCurve {
        let lines = self.lines().into_iter().map(|(_, line)| {
            let from = line.from + largest / &line.rate;
            Line { rate: line.rate, from }
        });
        ServiceCurve::greatest(&lines.collect::<Vec<_>>(), self.wall())
    }
}
