//! Figure 4 of the report, written out in whole numbers.

use crate::common::{kind, rate, rounds};
use crate::{Arrivals, LINK, Stamps, bursts, contract, counting, play, some_contracts};
use tidegate_core::contract::Contract;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::{Span, Time};

/// Figure 4 for one flow, at an ideal server of its reserved rate; in ticks.
#[derive(Clone, Default)]
struct Figure4 {
    vclock: i128,
    base_vc: i128,
    backlog_before: i128,
    /// Time in place of W / r.
    length: Option<Span>,
    /// True if δ is zero in its second case.
    simplified: bool,
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
        let most = ticks(self.length.unwrap_or_else(|| reserve.time_for(contract.workahead.unwrap())));
        // Backlog at the ideal server, in the time that it takes there.
        let backlog = (self.base_vc - now).max(0);
        let before = std::mem::replace(&mut self.backlog_before, backlog);
        let delta = if before < backlog && backlog <= most {
            backlog - before
        } else if before < most && most < backlog && !self.simplified {
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

/// The stamps of each flow by this form of the figure.
fn by_figure_4(contracts: &[Contract], arrivals: &Arrivals, form: Figure4) -> Vec<Vec<Time>> {
    let mut flows = vec![form; contracts.len()];
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
        assert_eq!(by_flow(&sent, 6), by_figure_4(&contracts, &arrivals, Figure4::default()), "seed {seed}");
    }
}

/// A length of acceleration of its own takes the place of W / r, in δ and in the bound on the gain,
/// and δ is zero where a backlog passes it. The simple δ never gains a flow anything.
#[test]
fn the_settings_of_axel_are_forms_of_the_figure() {
    let (mut differing, mut accelerated_for_less) = (0, 0);
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "settings");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let length = Span::from_micros(1 + rng.below(200_000));
        let mut stamps = Vec::new();
        for (simplified, length) in [(false, None), (true, None), (false, Some(length)), (true, Some(length))]
        {
            let sent = by_flow(&play(axel(simplified, length), &contracts, &arrivals), 6);
            let form = Figure4 { simplified, length, ..Figure4::default() };
            assert_eq!(sent, by_figure_4(&contracts, &arrivals, form), "seed {seed} {simplified} {length:?}");
            stamps.push(sent);
        }
        for (exact, simplified) in stamps[0].iter().flatten().zip(stamps[1].iter().flatten()) {
            assert!(simplified >= exact, "seed {seed}");
            differing += usize::from(simplified > exact);
        }
        accelerated_for_less += u64::from(stamps[0] != stamps[2]);
    }
    assert!(differing > 100, "{differing}");
    assert!(accelerated_for_less > rounds(10) * 8 / 10, "{accelerated_for_less}");
}

/// A length of W / r is no length at all.
#[test]
fn acceleration_for_w_over_r_is_axel() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "its own length");
        let contracts = vec![contract(737_280, 7_372_800, 9_600); 6];
        let arrivals = bursts(&mut rng, &contracts, 3);
        let own = Some(contracts[0].workahead_time());
        let plain = play(kind("axel"), &contracts, &arrivals);
        assert_eq!(play(axel(false, own), &contracts, &arrivals), plain, "seed {seed}");
        let longer = own.map(|own| own + own);
        assert_ne!(play(axel(false, longer), &contracts, &arrivals), plain, "seed {seed}");
    }
}

/// Axel with these settings.
fn axel(simplified: bool, acceleration: Option<Span>) -> SchedulerKind {
    let delta = if simplified { "simplified" } else { "exact" };
    let mut settings = vec![("delta", Value::Text(delta.to_owned()))];
    settings.extend(acceleration.map(|length| ("acceleration", Value::Time(length))));
    SchedulerKind::BuiltIn(BuiltInScheduler::read("axel", &settings).unwrap().unwrap())
}

/// With the average rate in place of the peak rate nothing is accelerated.
#[test]
fn figure_4_as_it_is_printed_is_virtual_clock() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "misprint");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let sent = play(kind("virtual-clock"), &contracts, &arrivals);
        let printed = Figure4 { as_printed: true, ..Figure4::default() };
        assert_eq!(by_flow(&sent, 6), by_figure_4(&contracts, &arrivals, printed), "seed {seed}");
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
