//! The pace at which packets are looked at.

use tidegate_core::packet::FlowIx;
use tidegate_core::units::{Span, Time};

/// Shortest and longest time between two packets of a flow that are looked at.
const SPACING: [Span; 2] = [Span::from_millis(50), Span::from_secs(2)];
/// Number of packets looked at in a second at which the spacing is doubled, and halved.
const BUSY: u32 = 2000;
const QUIET: u32 = 500;
const SECOND: Span = Span::from_secs(1);

/// Decides which packets are looked at: some of every flow, however little it sends, and no more
/// than a few thousand a second.
#[derive(Debug)]
pub(super) struct Pace {
    spacing: Span,
    /// The next time for each flow.
    next: Vec<Time>,
    /// Packets of the second that ends at `until`.
    count: u32,
    until: Time,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { spacing: SPACING[0], next: Vec::new(), count: 0, until: Time::ORIGIN + SECOND }
    }

    /// Returns true if a packet of the flow that arrives now is looked at.
    #[inline]
    pub(super) fn takes(&mut self, now: Time, flow: FlowIx) -> bool {
        if self.next.get(flow.ix()).is_some_and(|next| *next > now) {
            return false;
        }
        self.take(now, flow)
    }

    #[inline(never)]
    fn take(&mut self, now: Time, flow: FlowIx) -> bool {
        if now >= self.until {
            self.spacing = match self.count {
                BUSY.. => (self.spacing + self.spacing).min(SPACING[1]),
                0..QUIET => Span::from_ticks(self.spacing.ticks() / 2).max(SPACING[0]),
                QUIET..BUSY => self.spacing,
            };
            (self.count, self.until) = (0, now + SECOND);
        }
        if self.next.len() <= flow.ix() {
            self.next.resize(flow.ix() + 1, Time::ORIGIN);
        }
        self.next[flow.ix()] = now + self.spacing;
        let takes = self.count < 2 * BUSY;
        self.count += u32::from(takes);
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets of 100,000 flows that are looked at in each second, and of one that sends a tenth of
    /// what the others do.
    #[test]
    fn many_flows_are_looked_at_less_often() {
        let mut pace = Pace::new();
        let (mut taken, mut of_one) = (Vec::new(), 0);
        for second in 0..20 {
            let mut count = 0;
            for step in 0..100_u64 {
                let now = Time::ORIGIN + Span::from_secs(second) + Span::from_millis(10 * step);
                for flow in 0..1000 {
                    count += u32::from(pace.takes(now, FlowIx(flow)));
                }
                if step % 10 == 0 {
                    of_one += u32::from(pace.takes(now, FlowIx(1000)));
                }
            }
            taken.push(count);
        }
        assert!(taken[0] > BUSY && taken.iter().all(|count| *count <= 2 * BUSY + QUIET), "{taken:?}");
        let mean = taken[5..].iter().sum::<u32>() / 15;
        assert!((QUIET / 2..=BUSY).contains(&mean), "{taken:?}");
        assert!(of_one >= 10, "{of_one}");
        // Alone again, it is looked at often again.
        let alone = (2000..4000_u64)
            .filter(|step| pace.takes(Time::ORIGIN + Span::from_millis(10 * step), FlowIx(1000)));
        assert!(alone.count() > 200);
    }
}
