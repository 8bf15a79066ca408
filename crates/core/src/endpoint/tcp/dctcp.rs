//! DCTCP (RFC 8257, section 3.3): the share of data that were marked, in each window of data.

/// The weight of a new window in the average: 2⁻⁴, g of the RFC.
const SHIFT: u32 = 4;
/// A share of one, in the whole numbers of the average.
const ONE: u64 = 1024;

/// State of a sender.
#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    /// DCTCP.Alpha, of [`ONE`].
    alpha: u64,
    /// The window of data ends when the bytes before this one are acknowledged (DCTCP.WindowEnd).
    end: u64,
    /// Segments that have arrived since the window began, and those reported with a mark.
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    /// The share is one before anything is known.
    pub(super) fn new() -> Dctcp {
        Dctcp { alpha: ONE, end: 0, delivered: 0, marked: 0 }
    }

    /// Processes an acknowledgement of the bytes before `una`, by which `delivered` segments have
    /// arrived and `marked` were marked; the bytes before `max` were sent.
    pub(super) fn acknowledged(&mut self, una: u64, max: u64, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked;
        if una < self.end {
            return;
        }
        let forgotten = self.alpha >> SHIFT;
        self.alpha -= if forgotten == 0 { self.alpha } else { forgotten };
        if self.marked > 0 {
            let share = (self.marked << (ONE.ilog2() - SHIFT)) / self.delivered.max(1);
            self.alpha = (self.alpha + share).min(ONE);
        }
        (self.end, self.delivered, self.marked) = (max, 0, 0);
    }

    /// Returns what a mark leaves of a window of `cwnd`.
    pub(super) fn left(&self, cwnd: u64) -> u64 {
        cwnd - cwnd * self.alpha / (2 * ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The average of windows of which a quarter is marked comes to a quarter, and a mark takes an
    /// eighth. It comes to zero without marks. Whole numbers round the average up by less than 16.
    #[test]
    fn the_average_follows_the_share_of_marks() {
        let mut dctcp = Dctcp::new();
        assert_eq!(dctcp.left(100), 50);
        let window = |dctcp: &mut Dctcp, round: u64, marks: u64| {
            (1..=100).for_each(|nth| {
                dctcp.acknowledged(100 * round + nth, 100 * round + 100 + nth, 1, u64::from(nth <= marks));
            });
        };
        (0..100).for_each(|round| window(&mut dctcp, round, 25));
        assert!((256..272).contains(&dctcp.alpha), "{}", dctcp.alpha);
        assert_eq!(dctcp.left(1000), 1000 - 1000 * dctcp.alpha / 2048);
        (100..300).for_each(|round| window(&mut dctcp, round, 0));
        assert_eq!((dctcp.alpha, dctcp.left(1000)), (0, 1000));
    }
}
