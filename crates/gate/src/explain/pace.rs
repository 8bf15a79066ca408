//! The pace at which packets are looked at.

use tidegate_core::packet::FlowIx;
use tidegate_core::units::{Span, Time};

/// Longest time until another packet of a flow is due.
const MAX_SPACING: Span = Span::from_secs(16);
/// One of so many packets is looked at, beyond the least limit.
const SHARE: u32 = 20;
/// Least and greatest limit of packets in a second; until the spacing has grown, twice as many are
/// looked at.
const LIMITS: [u32; 2] = [60, 2000];
const SECOND: Span = Span::from_secs(1);

/// Decides which packets are looked at: some of every flow, however little it sends, and of all
/// packets a small share, so that explanations stay cheap on lines of every rate.
#[derive(Debug)]
pub(super) struct Pace {
    /// Shortest time between two packets of a flow that are looked at.
    least: Span,
    spacing: Span,
    /// The next time for each flow.
    next: Vec<Time>,
    /// Packets that came, and those that were looked at, of the second that ends at `until`.
    came: u32,
    count: u32,
    until: Time,
    /// Number of packets looked at in a second above which the spacing grows.
    limit: u32,
}

impl Pace {
    /// Returns a pace at which a flow alone has a packet looked at in each `least`.
    pub(super) fn new(least: Span) -> Pace {
        Pace {
            least,
            spacing: least,
            next: Vec::new(),
            came: 0,
            count: 0,
            until: Time::ORIGIN + SECOND,
            limit: LIMITS[0],
        }
    }

    /// Returns true if a packet of the flow that comes now is looked at.
    #[inline]
    pub(super) fn takes(&mut self, now: Time, flow: FlowIx) -> bool {
        self.came = self.came.saturating_add(1);
        if self.next.get(flow.ix()).is_some_and(|next| *next > now) {
            return false;
        }
        self.take(now, flow)
    }

    #[inline(never)]
    fn take(&mut self, now: Time, flow: FlowIx) -> bool {
        if now >= self.until {
            self.begin(now);
        }
        if self.next.len() <= flow.ix() {
            self.next.resize(flow.ix() + 1, Time::ORIGIN);
        }
        // A flow whose packet finds too many before it in this second remains due.
        let takes = self.count < 2 * self.limit;
        if takes {
            self.next[flow.ix()] = now + self.spacing;
            self.count += 1;
        }
        takes
    }

    /// Begins another second.
    fn begin(&mut self, now: Time) {
        self.limit = (self.came / SHARE).clamp(LIMITS[0], LIMITS[1]);
        if self.count > self.limit {
            self.spacing = (self.spacing + self.spacing).min(MAX_SPACING);
        } else if self.count < self.limit / 4 {
            self.spacing = Span::from_ticks(self.spacing.ticks() / 2).max(self.least);
        }
        (self.came, self.count, self.until) = (0, 0, now + SECOND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Span = Span::from_millis(50);

    /// The packets of `flows` flows that are looked at in each second, when each flow sends one in a
    /// hundredth of a second, and of one that sends a tenth of what the others do.
    fn run(pace: &mut Pace, flows: u32) -> (Vec<u32>, u32) {
        let (mut taken, mut of_one) = (Vec::new(), 0);
        for second in 0..20 {
            let mut count = 0;
            for step in 0..100_u64 {
                let now = Time::ORIGIN + Span::from_secs(second) + Span::from_millis(10 * step);
                for flow in 0..flows {
                    count += u32::from(pace.takes(now, FlowIx(flow)));
                }
                if step % 10 == 0 {
                    of_one += u32::from(pace.takes(now, FlowIx(flows)));
                }
            }
            taken.push(count);
        }
        (taken, of_one)
    }

    #[test]
    fn many_flows_are_looked_at_less_often() {
        let mut pace = Pace::new(LEAST);
        let (taken, of_one) = run(&mut pace, 1000);
        let [least, most] = LIMITS;
        assert!(taken[1..].iter().all(|count| *count <= 2 * most), "{taken:?}");
        let mean = taken[5..].iter().sum::<u32>() / 15;
        assert!((most / 4..=most).contains(&mean), "{taken:?}");
        assert!(of_one >= 10, "{of_one}");
        // Alone again, it is looked at often again.
        let alone = (2000..4000_u64)
            .filter(|step| pace.takes(Time::ORIGIN + Span::from_millis(10 * step), FlowIx(1000)));
        assert!(alone.count() > 200);
        assert!(taken[0] <= 2 * least, "{taken:?}");
    }

    /// Twenty thousand flows that send a packet a second in turn: each is looked at.
    #[test]
    fn no_flow_is_left_out() {
        const FLOWS: u32 = 20_000;
        let mut pace = Pace::new(LEAST);
        let mut taken = vec![0_u32; FLOWS as usize];
        for second in 0..100 {
            for flow in 0..FLOWS {
                let now = Time::ORIGIN + Span::from_secs(second) + Span::from_micros(50 * u64::from(flow));
                taken[flow as usize] += u32::from(pace.takes(now, FlowIx(flow)) && second >= 40);
            }
        }
        assert!(taken.iter().all(|count| *count >= 2), "{:?}", taken.iter().min());
    }

    /// Two flows of a hundred packets a second are looked at twenty times a second each; of a hundred
    /// flows one packet of twenty is looked at, at most.
    #[test]
    fn a_small_share_is_looked_at_beyond_some_packets() {
        let (few, _) = run(&mut Pace::new(LEAST), 2);
        assert!(few.iter().all(|count| *count == 40), "{few:?}");
        let (many, of_one) = run(&mut Pace::new(LEAST), 100);
        let mean = many[5..].iter().sum::<u32>() / 15;
        assert!((10_000 / SHARE / 4..=10_000 / SHARE).contains(&mean), "{many:?}");
        assert!(of_one >= 10, "{of_one}");
    }
}
