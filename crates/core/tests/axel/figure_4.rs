//! Figure 4 of the report, written out in whole numbers.

use crate::common::{kind, rate, rounds};
use crate::{Arrivals, LINK, Stamps, bursts, counting, play, some_contracts};
use tidegate_core::contract::Contract;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Figure 4 for one flow, at an ideal server of its reserved rate; in ticks.
#[derive(Default)]
struct Figure4 {
    vclock: i128,
    base_vc: i128,
    backlog_before: i128,
    /// True for the figure as printed: the smallest increment is at the average rate, and baseVC is
    /// made of vclock.
    as_printed: bool,
}

impl Figure4 {
    fn stamp(&mut self, now: Time, len: u32, contract: &Contract) -> Time {
        let ticks = |span: Span| i128::from(span.ticks());
        let now = i128::from(now.ticks());
        let reserve = contract.reserve.unwrap();
        let smallest = if self.as_printed { reserve } else { contract.peak.unwrap() };
        let most = ticks(reserve.time_for(contract.workahead.unwrap()));
        // Backlog at the ideal server, in the time that it takes there.
        let backlog = (self.base_vc - now).max(0);
        let before = std::mem::replace(&mut self.backlog_before, backlog);
        let delta = if before < backlog && backlog <= most {
            backlog - before
        } else if before < most && most < backlog {
            most - before
        } else {
            0
        };
        let tick = ticks(reserve.time_for(len));
        self.vclock = self.vclock.max(now);
        self.vclock = (self.vclock + ticks(smallest.time_for(len))).max(self.vclock + tick - delta);
        self.base_vc = match self.as_printed {
            true => self.vclock,
            false => self.base_vc.max(now) + tick,
        };
        self.vclock = self.vclock.max(self.base_vc - most);
        Time::from_ticks(u64::try_from(self.vclock).unwrap())
    }
}

/// The stamps of each flow by the figure.
fn by_figure_4(contracts: &[Contract], arrivals: &Arrivals, as_printed: bool) -> Vec<Vec<Time>> {
    let mut flows: Vec<Figure4> =
        contracts.iter().map(|_| Figure4 { as_printed, ..Figure4::default() }).collect();
    let mut stamps = vec![Vec::new(); contracts.len()];
    for (at, flow, len) in arrivals {
        stamps[*flow].push(flows[*flow].stamp(*at, *len, &contracts[*flow]));
    }
    stamps
}

/// The stamps of each flow, in its own order.
pub fn by_flow(sent: &Stamps, flows: usize) -> Vec<Vec<Time>> {
    let mut stamps = vec![Vec::new(); flows];
    sent.iter().for_each(|(flow, stamp)| stamps[*flow].push(*stamp));
    stamps
}

#[test]
fn axel_stamps_as_figure_4_does() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "figure 4");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let sent = play(kind("axel"), &contracts, &arrivals);
        assert_eq!(by_flow(&sent, 6), by_figure_4(&contracts, &arrivals, false), "seed {seed}");
    }
}

/// With the average rate in place of the peak rate nothing is accelerated.
#[test]
fn figure_4_as_it_is_printed_is_virtual_clock() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "misprint");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let sent = play(kind("virtual-clock"), &contracts, &arrivals);
        assert_eq!(by_flow(&sent, 6), by_figure_4(&contracts, &arrivals, true), "seed {seed}");
    }
}

/// Without a peak above the average, or without a workahead, Axel and PeakVC send what VirtualClock
/// sends, with its stamps.
#[test]
fn axel_and_peak_vc_at_the_average_rate_are_virtual_clock() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "equal");
        let mut contracts = some_contracts(&mut rng);
        contracts.iter_mut().for_each(|contract| contract.peak = contract.reserve);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let plain = play(kind("virtual-clock"), &contracts, &arrivals);
        for scheduler in ["axel", "axel-unbounded"] {
            assert_eq!(play(counting(scheduler, "ideal"), &contracts, &arrivals), plain, "{scheduler}");
            assert_eq!(play(counting(scheduler, "real"), &contracts, &arrivals), plain, "{scheduler}");
        }
        assert_eq!(play(kind("peak-vc"), &contracts, &arrivals), plain);
        let without = |contract: &Contract| Contract { peak: Some(rate(LINK)), workahead: None, ..*contract };
        let contracts: Vec<Contract> = contracts.iter().map(without).collect();
        for backlog in ["ideal", "real"] {
            assert_eq!(play(counting("axel", backlog), &contracts, &arrivals), plain, "without W");
        }
    }
}
