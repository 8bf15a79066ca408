//! Estimates of the round trip: RFC 6298, section 2, and as Linux departs from it.

use crate::units::Span;

/// A smoothed round trip, and the margin for variation that makes it a timeout; in ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimates {
    /// SRTT; `None` before the first round trip.
    srtt: Option<u64>,
    /// RTTVAR; in Linux four times that.
    variation: u64,
    /// In Linux, the least margin.
    floor: Option<u64>,
    /// In Linux, the margin is the greatest variation of the last round trips.
    margin: u64,
    /// The greatest variation in the current one.
    greatest: u64,
    /// The current one ends when the byte with this number is acknowledged.
    ends_at: u64,
}

impl Estimates {
    /// No estimates yet; in Linux with the least margin.
    pub(super) fn new(floor: Option<Span>) -> Estimates {
        Estimates { floor: floor.map(Span::ticks), ..Estimates::default() }
    }

    /// SRTT, once a round trip has been measured.
    pub(super) fn srtt(&self) -> Option<Span> {
        self.srtt.map(Span::from_ticks)
    }

    /// The margin for variation in the timeout.
    pub(super) fn margin(&self) -> Span {
        Span::from_ticks(if self.floor.is_some() { self.margin } else { 4 * self.variation })
    }

    /// Updates the estimates with a round trip, when the bytes before `una` are acknowledged and those
    /// before `max` were sent: rules 2.2 and 2.3, with α = 1/8 and β = 1/4. In Linux a shorter round trip
    /// that would add to the variation does so with β = 1/32, and the margin falls by a quarter of the way
    /// once in a round trip.
    pub(super) fn measured(&mut self, took: Span, una: u64, max: u64) {
        let took = took.ticks();
        let Some(srtt) = self.srtt else {
            self.srtt = Some(took);
            self.variation = if self.floor.is_some() { 2 * took } else { took / 2 };
            self.margin = self.variation.max(self.floor.unwrap_or(0));
            (self.greatest, self.ends_at) = (self.margin, max);
            return;
        };
        self.srtt = Some((7 * srtt + took) / 8);
        let apart = srtt.abs_diff(took);
        let Some(floor) = self.floor else {
            self.variation = (3 * self.variation + apart) / 4;
            return;
        };
        let is_shorter_and_adds = took < srtt && apart > self.variation / 4;
        self.variation = match is_shorter_and_adds {
            true => self.variation + (apart - self.variation / 4) / 8,
            false => self.variation - self.variation / 4 + apart,
        };
        self.greatest = self.greatest.max(self.variation);
        self.margin = self.margin.max(self.greatest);
        if una > self.ends_at {
            self.margin -= (self.margin - self.greatest) / 4;
            (self.greatest, self.ends_at) = (floor, max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Span {
        Span::from_millis(milliseconds)
    }

    /// By hand from tcp_rtt_estimator(): the first round trip has 100 ms.
    #[test]
    fn linux_forgets_variation_once_in_a_round_trip() {
        let mut estimates = Estimates::new(Some(ms(200)));
        let mut seen = Vec::new();
        for (took, una, max) in
            [(100, 0, 10), (300, 5, 12), (125, 8, 14), (50, 11, 20), (117, 15, 30), (117, 21, 40)]
        {
            estimates.measured(ms(took), una, max);
            let micro = |span: Span| span.ticks() / Span::from_micros(1).ticks();
            seen.push((micro(estimates.srtt().unwrap()), micro(estimates.margin())));
        }
        // The variation is 200, 350, 262.5, 263.7 (75 - 65.625, an eighth of it), 199.1 and 150.6 ms. The
        // round trip that ends last had none above 200 ms: the margin falls by a quarter of 150 ms.
        let expected = [
            (100_000, 200_000),
            (125_000, 350_000),
            (125_000, 350_000),
            (115_625, 350_000),
            (115_796, 350_000),
            (115_947, 312_500),
        ];
        assert_eq!(seen, expected);
    }
}
