//! ERICA's allocations against the max-min rates of its target: the generic fairness configuration,
//! and random networks with random delays.

mod common;

use common::run_with;
use std::path::Path;
use tidegate_core::maxmin::{Demand, Exact, allocate};
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::world::World;

/// Target utilisation of the links between switches, in per cent.
const TARGET_PERCENT: u64 = 90;

/// Switches in a row, and VCs from one of them to a later one.
struct Row {
    /// Rate in bit/s and delay in µs of each link between switches.
    links: Vec<(u64, u64)>,
    /// First and last switch of each VC, and the delay in µs of its access links.
    vcs: Vec<(usize, usize, u64)>,
}

impl Row {
    fn text(&self, erica: &str, duration: &str) -> String {
        let mut text = format!(
            "version = 1\nduration = \"{duration}\"\nport = {{ rate_control = {{ kind = \"erica\", {erica} }} }}\n"
        );
        for switch in 0..=self.links.len() {
            text += &format!("[[node]]\nname = \"s{switch}\"\n");
        }
        let fastest = self.links.iter().map(|(rate, _)| rate).max().unwrap();
        for (ix, (rate, delay)) in self.links.iter().enumerate() {
            text += &link(&format!("s{ix}"), &format!("s{}", ix + 1), *rate, *delay);
        }
        for (ix, (from, to, delay)) in self.vcs.iter().enumerate() {
            for (host, switch) in [(format!("a{ix}"), from), (format!("b{ix}"), to)] {
                text += &format!("[[node]]\nname = \"{host}\"\nkind = \"host\"\n");
                text += &link(&host, &format!("s{switch}"), *fastest, *delay);
            }
            text += &format!(
                "[[connection]]\nname = \"v{ix}\"\nfrom = \"a{ix}\"\nto = \"b{ix}\"\nsize = \"53B\"\n\
                 transport = {{ kind = \"abr\", icr = \"{}bit\", rif = 1 }}\n",
                fastest / 20
            );
        }
        text
    }

    /// Max-min rates of the target, in bit/s.
    fn optima(&self) -> Vec<f64> {
        let target = |rate: u64| Exact::new(u128::from(rate * TARGET_PERCENT), 100);
        let capacities: Vec<Exact> = self.links.iter().map(|(rate, _)| target(*rate)).collect();
        let demand = |(from, to, _): &(usize, usize, u64)| Demand::of(&(*from..*to).collect::<Vec<_>>());
        let rates = allocate(&capacities, &self.vcs.iter().map(demand).collect::<Vec<_>>()).unwrap();
        rates.into_iter().map(|rate| *rate.numer() as f64 / *rate.denom() as f64).collect()
    }

    /// Excess of the mean ACR of each VC over the last quarter above its max-min rate, as a share
    /// of it.
    fn off(&self, erica: &str, duration: &str) -> Vec<f64> {
        self.off_with(erica, duration, &[])
    }

    /// Like [`Self::off`], with scenario values overridden by `sets`.
    fn off_with(&self, erica: &str, duration: &str, sets: &[(&str, &str)]) -> Vec<f64> {
        let text = self.text(erica, duration);
        let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        let scenario = Scenario::parse(&text, "a.toml", Path::new(""), &sets);
        let network = assemble(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap();
        let probes = Probes { sample: Some(Span::from_millis(1)), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, 1, &probes);
        let mean = |vc: usize| {
            let flow = network.flows.iter().position(|flow| flow.name == format!("v{vc}")).unwrap();
            let acr = world.series().unwrap().values(Subject::Flow(flow as u32), "acr");
            let last = &acr[acr.len() * 3 / 4..];
            last.iter().sum::<f64>() / last.len() as f64
        };
        self.optima().into_iter().enumerate().map(|(vc, optimum)| mean(vc) / optimum - 1.0).collect()
    }
}

fn link(from: &str, to: &str, rate: u64, delay: u64) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}bit\"\ndelay = \"{delay}us\"\n")
}

fn random(seed: u64) -> Row {
    let mut rng = Rng::named(seed, "rows");
    let hops = 1 + rng.below(3) as usize;
    let links = (0..hops).map(|_| (10_000_000 + rng.below(20_000_000), 100 + rng.below(3000))).collect();
    let vc = |rng: &mut Rng| {
        let from = rng.below(hops as u64) as usize;
        let to = from + 1 + rng.below((hops - from) as u64) as usize;
        (from, to, 100 + rng.below(2000))
    };
    Row { links, vcs: (0..2 + rng.below(5)).map(|_| vc(&mut rng)).collect() }
}

/// The GFC of Kung 1997, at 60 Mbit/s for a link of 1: A 3 VCs S1→S4, B 3 S2→S5, C 3 S3→S4, D 6
/// S1→S2, E 6 S4→S5, F 2 S2→S3.
fn gfc() -> Row {
    let links = vec![(20_000_000, 1000), (60_000_000, 1000), (60_000_000, 1000), (40_000_000, 1000)];
    let groups = [(3, 0, 3), (3, 1, 4), (3, 2, 3), (6, 0, 1), (6, 3, 4), (2, 1, 2)];
    Row { links, vcs: groups.iter().flat_map(|(count, from, to)| vec![(*from, *to, 500); *count]).collect() }
}

/// Asserts that every VC is within 10 % of its max-min rate.
fn assert_near(off: &[f64], what: &str) {
    assert!(off.iter().all(|off| off.abs() < 0.1), "{what}: {off:?}");
}

#[test]
fn the_generic_fairness_configuration_gets_its_max_min_rates() {
    assert_near(&gfc().off("interval = \"5ms\"", "600ms"), "GFC");
}

/// Random networks on which a VC is further than 10 % from its max-min rate after 1 s, of the first
/// 200.
const UNFAIR: [u64; 3] = [150, 161, 198];

/// The long tier looks at 200 networks.
#[test]
fn random_networks_but_for_a_few_get_their_max_min_rates() {
    let networks = if std::env::var_os("TIDEGATE_VERIFY").is_some_and(|set| set == "1") { 200 } else { 5 };
    let mut shares = 0;
    for seed in (0..networks).filter(|seed| !UNFAIR.contains(seed)) {
        let row = random(seed);
        assert_near(&row.off("interval = \"5ms\"", "1s"), &format!("seed {seed}"));
        let mut optima = row.optima();
        optima.sort_by(f64::total_cmp);
        optima.dedup();
        shares += u32::from(optima.len() > 1);
    }
    assert!(shares > 0, "in no network did rates differ");
}

/// All VCs start together, and yet basic ERICA is further than 10 % from max-min on these.
#[test]
fn a_common_start_is_no_guarantee_of_max_min_rates_under_basic_erica() {
    for seed in UNFAIR {
        let off = random(seed).off("interval = \"5ms\"", "1s");
        let worst = off.iter().fold(0.0_f64, |worst, off| worst.max(off.abs()));
        assert!(worst > 0.1 && worst < 0.44, "seed {seed}: {off:?}");
    }
    // Two VCs share the remainder of the last link, and one stays above the other. Their first
    // allocations differ, and both are above the equal share of all six.
    let row = random(UNFAIR[0]);
    let (basic, longer) = (row.off("interval = \"5ms\"", "1s"), row.off("interval = \"5ms\"", "4s"));
    for (vc, off) in basic.iter().enumerate() {
        assert_eq!([1, 4].contains(&vc), off.abs() > 0.42, "VC {vc}: {basic:?}");
        assert!((longer[vc] - off).abs() < 0.01, "not a steady state: {basic:?}, {longer:?}");
    }
    assert_near(&row.off("interval = \"5ms\", fairness_boost = 0.1", "4s"), "with the fairness boost");
}

/// A steady state of basic ERICA that is not fair. Three VCs of 3 Mbit/s are held back upstream,
/// and two share the remainder of a target of 27 Mbit/s. The equal share counts all five: 5.4
/// Mbit/s, above which an overload of 1 changes nothing. The VC that comes later gets the equal
/// share, and the one that has 18 Mbit/s then keeps the rest; their max-min rate is 9. The fairness
/// boost gives both the greatest allocation while the overload is near 1, and so takes them there.
#[test]
fn basic_erica_keeps_rates_unequal_and_the_fairness_boost_does_not() {
    let vcs = vec![(0, 2, 500), (0, 2, 500), (0, 2, 500), (1, 2, 500), (1, 2, 500)];
    let row = Row { links: vec![(10_000_000, 1000), (30_000_000, 1000)], vcs };
    let later = [("connection.v4.start", "300ms")];
    let basic = row.off_with("interval = \"5ms\"", "1s", &later);
    assert_near(&basic[..3], "held back");
    assert!((basic[3] - 0.4).abs() < 0.05 && (basic[4] + 0.4).abs() < 0.05, "{basic:?}");
    let boosted = row.off_with("interval = \"5ms\", fairness_boost = 0.1", "1s", &later);
    assert_near(&boosted, "with the fairness boost");
    assert_near(&row.off("interval = \"5ms\"", "1s"), "all from the start");
}
