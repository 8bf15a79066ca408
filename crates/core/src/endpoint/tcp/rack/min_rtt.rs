//! RACK.min_RTT (RFC 8985, section 6.2, step 1): the least round trip of the last minutes.

use crate::units::{Span, Time};

/// Half of the window of time: five minutes in all, as with Linux's `tcp_min_rtt_wlen`.
const HALF: Span = Span::from_secs(150);

/// The least round trip of two halves of a window of time: of the last 150 s to 300 s.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    began: Option<Time>,
    earlier: Option<Span>,
    current: Option<Span>,
}

impl MinRtt {
    /// Records a measured round trip.
    pub(super) fn measured(&mut self, rtt: Span, now: Time) {
        let began = self.began.get_or_insert(now);
        let halves = now.since(*began).ticks() / HALF.ticks();
        if halves > 0 {
            self.earlier = self.current.take().filter(|_| halves == 1);
            *began += Span::from_ticks(halves * HALF.ticks());
        }
        self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
    }

    pub(super) fn get(&self) -> Option<Span> {
        self.earlier.into_iter().chain(self.current).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The minimum is of at least the last 150 s and at most the last 300 s.
    #[test]
    fn the_minimum_is_of_the_last_minutes() {
        let mut rng = Rng::named(1, "min_rtt");
        let (mut filter, mut all, mut now) = (MinRtt::default(), Vec::new(), Time::ORIGIN);
        let (mut forgot, mut kept) = (0, 0);
        for _ in 0..20_000 {
            let most = if rng.chance(0.01) { 400_000 } else { 20_000 };
            now += Span::from_millis(1 + rng.below(most));
            let rtt = Span::from_micros(1000 + rng.below(1_000_000));
            all.push((now, rtt));
            filter.measured(rtt, now);
            let least = |span: Span| {
                let recent = all.iter().rev().take_while(|(at, _)| now.since(*at) < span);
                recent.map(|(_, rtt)| *rtt).min().unwrap()
            };
            let (most, fewest) = (least(HALF + HALF), least(HALF));
            let found = filter.get().unwrap();
            assert!(most <= found && found <= fewest, "{most:?} {found:?} {fewest:?}");
            forgot += u32::from(found > most);
            kept += u32::from(found < fewest);
        }
        assert!(forgot > 100 && kept > 100, "{forgot} {kept}");
    }
}
