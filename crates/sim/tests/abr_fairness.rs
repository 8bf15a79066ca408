//! ERICA's allocations against the max-min rates of its target: the generic fairness configuration,
//! and random networks with random delays.

mod common;
#[path = "common/long.rs"]
mod long;

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
    /// MCR of each VC in bit/s; without an entry, 0.
    minima: Vec<u64>,
}

impl Row {
    fn text(&self, control: &str, duration: &str) -> String {
        let mut text =
            format!("version = 1\nduration = \"{duration}\"\nport = {{ rate_control = {{ {control} }} }}\n");
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
            let mcr = self.minima.get(ix).copied().unwrap_or(0);
            let minimum = if mcr == 0 { String::new() } else { format!("mcr = \"{mcr}bit\", ") };
            text += &format!(
                "[[connection]]\nname = \"v{ix}\"\nfrom = \"a{ix}\"\nto = \"b{ix}\"\nsize = \"53B\"\n\
                 transport = {{ kind = \"abr\", {minimum}icr = \"{}bit\", rif = 1 }}\n",
                mcr.max(fastest / 20)
            );
        }
        text
    }

    /// Max-min rates of the target, in bit/s.
    fn optima(&self) -> Vec<f64> {
        let target = |rate: u64| Exact::new(u128::from(rate * TARGET_PERCENT), 100);
        let capacities: Vec<Exact> = self.links.iter().map(|(rate, _)| target(*rate)).collect();
        let demand = |(ix, (from, to, _)): (usize, &(usize, usize, u64))| Demand {
            minimum: Exact::from_integer(u128::from(self.minima.get(ix).copied().unwrap_or(0))),
            ..Demand::of(&(*from..*to).collect::<Vec<_>>())
        };
        let demands: Vec<Demand> = self.vcs.iter().enumerate().map(demand).collect();
        let rates = allocate(&capacities, &demands).unwrap();
        rates.into_iter().map(|rate| *rate.numer() as f64 / *rate.denom() as f64).collect()
    }

    /// Excess of the mean ACR of each VC over the last quarter above its max-min rate, as a share
    /// of it.
    fn off(&self, control: &str, duration: &str) -> Vec<f64> {
        self.off_with(control, duration, &[])
    }

    /// Like [`Self::off`], with scenario values overridden by `sets`.
    fn off_with(&self, control: &str, duration: &str, sets: &[(&str, &str)]) -> Vec<f64> {
        let text = self.text(control, duration);
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
    Row { links, vcs: (0..2 + rng.below(5)).map(|_| vc(&mut rng)).collect(), minima: Vec::new() }
}

/// The GFC of Kung 1997, at 60 Mbit/s for a link of 1: A 3 VCs S1→S4, B 3 S2→S5, C 3 S3→S4, D 6
/// S1→S2, E 6 S4→S5, F 2 S2→S3.
fn gfc() -> Row {
    let links = vec![(20_000_000, 1000), (60_000_000, 1000), (60_000_000, 1000), (40_000_000, 1000)];
    let groups = [(3, 0, 3), (3, 1, 4), (3, 2, 3), (6, 0, 1), (6, 3, 4), (2, 1, 2)];
    let vcs = groups.iter().flat_map(|(count, from, to)| vec![(*from, *to, 500); *count]).collect();
    Row { links, vcs, minima: Vec::new() }
}

/// Asserts that every VC is within 10 % of its max-min rate.
fn assert_near(off: &[f64], what: &str) {
    assert!(off.iter().all(|off| off.abs() < 0.1), "{what}: {off:?}");
}

#[test]
fn the_generic_fairness_configuration_gets_its_max_min_rates() {
    assert_near(&gfc().off("kind = \"erica\", interval = \"5ms\"", "600ms"), "GFC");
}

/// Random networks on which a VC is further than 10 % from its max-min rate after 1 s, of the first
/// 200.
const UNFAIR: [u64; 3] = [150, 161, 198];

/// Random networks that are looked at.
fn networks() -> u64 {
    if long::is_long() { 200 } else { 5 }
}

/// The long tier looks at 200 networks.
#[test]
fn random_networks_but_for_a_few_get_their_max_min_rates() {
    let mut shares = 0;
    for seed in (0..networks()).filter(|seed| !UNFAIR.contains(seed)) {
        let row = random(seed);
        assert_near(&row.off("kind = \"erica\", interval = \"5ms\"", "1s"), &format!("seed {seed}"));
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
        let off = random(seed).off("kind = \"erica\", interval = \"5ms\"", "1s");
        let worst = off.iter().fold(0.0_f64, |worst, off| worst.max(off.abs()));
        assert!(worst > 0.1 && worst < 0.44, "seed {seed}: {off:?}");
    }
    // Two VCs share the remainder of the last link, and one stays above the other. Their first
    // allocations differ, and both are above the equal share of all six.
    let row = random(UNFAIR[0]);
    let (basic, longer) = (
        row.off("kind = \"erica\", interval = \"5ms\"", "1s"),
        row.off("kind = \"erica\", interval = \"5ms\"", "4s"),
    );
    for (vc, off) in basic.iter().enumerate() {
        assert_eq!([1, 4].contains(&vc), off.abs() > 0.42, "VC {vc}: {basic:?}");
        assert!((longer[vc] - off).abs() < 0.01, "not a steady state: {basic:?}, {longer:?}");
    }
    assert_near(
        &row.off("kind = \"erica\", interval = \"5ms\", fairness_boost = 0.1", "4s"),
        "with the fairness boost",
    );
}

/// A steady state of basic ERICA that is not fair. Three VCs of 3 Mbit/s are held back upstream,
/// and two share the remainder of a target of 27 Mbit/s. The equal share counts all five: 5.4
/// Mbit/s, above which an overload of 1 changes nothing. The VC that comes later gets the equal
/// share, and the one that has 18 Mbit/s then keeps the rest; their max-min rate is 9. The fairness
/// boost gives both the greatest allocation while the overload is near 1, and so takes them there.
#[test]
fn basic_erica_keeps_rates_unequal_and_the_fairness_boost_does_not() {
    let vcs = vec![(0, 2, 500), (0, 2, 500), (0, 2, 500), (1, 2, 500), (1, 2, 500)];
    let row = Row { links: vec![(10_000_000, 1000), (30_000_000, 1000)], vcs, minima: Vec::new() };
    let later = [("connection.v4.start", "300ms")];
    let basic = row.off_with("kind = \"erica\", interval = \"5ms\"", "1s", &later);
    assert_near(&basic[..3], "held back");
    assert!((basic[3] - 0.4).abs() < 0.05 && (basic[4] + 0.4).abs() < 0.05, "{basic:?}");
    let boosted = row.off_with("kind = \"erica\", interval = \"5ms\", fairness_boost = 0.1", "1s", &later);
    assert_near(&boosted, "with the fairness boost");
    assert_near(&row.off("kind = \"erica\", interval = \"5ms\"", "1s"), "all from the start");
}

/// With minima, each VC gets its own and a max-min share of the rest: on the generic fairness
/// configuration, and on random networks. The boost leaves all rates up to its 5 % above.
#[test]
fn minima_are_added_to_equal_shares() {
    let control = "kind = \"erica\", interval = \"5ms\", fairness = \"mcr-plus\", fairness_boost = 0.05";
    let mut row = gfc();
    row.minima = (0..row.vcs.len() as u64).map(|vc| vc % 4 * 300_000).collect();
    assert_near(&row.off(control, "1s"), "GFC");
    for seed in 0..networks() {
        let mut row = random(seed);
        let mut rng = Rng::named(seed, "minima");
        let part = row.links.iter().map(|(rate, _)| rate * 9 / 10).min().unwrap() / row.vcs.len() as u64;
        row.minima = row.vcs.iter().map(|_| rng.below(part)).collect();
        assert_near(&row.off(control, "1s"), &format!("seed {seed}"));
    }
}

/// UCSC knows which VCs are held back: it has no unfair steady state.
#[test]
fn ucsc_gets_max_min_rates_on_all_networks() {
    let control = "kind = \"ucsc\", interval = \"5ms\"";
    assert_near(&gfc().off(control, "600ms"), "GFC");
    for seed in (0..networks()).chain(UNFAIR) {
        assert_near(&random(seed).off(control, "1s"), &format!("seed {seed}"));
    }
}

/// Greedy VCs of one bottleneck come to f · C / (1 + n · f) each.
#[test]
fn phantom_leaves_the_phantom_its_part() {
    for (vcs, factor) in [(1usize, 5.0), (2, 5.0), (3, 2.0), (5, 1.0)] {
        let row = Row { links: vec![(20_000_000, 1000)], vcs: vec![(0, 1, 500); vcs], minima: Vec::new() };
        let control = format!("kind = \"phantom\", factor = {factor}");
        let part = factor / (1.0 + vcs as f64 * factor);
        for off in row.off(&control, "1s") {
            let rate = (1.0 + off) * TARGET_PERCENT as f64 / 100.0 / vcs as f64;
            assert!((rate / part - 1.0).abs() < 0.02, "{vcs} VCs, factor {factor}: {rate} {part}");
        }
    }
}

/// APRC gives VCs that meet at one link equal rates, wherever they come from, and fills it.
#[test]
fn aprc_comes_to_equal_rates() {
    let links = vec![(20_000_000, 1000), (20_000_000, 1000)];
    let row = Row { links, vcs: vec![(0, 2, 500), (0, 2, 1500), (1, 2, 500)], minima: Vec::new() };
    let steps: Vec<_> = (0..3)
        .flat_map(|vc| [("rif", "0.015625"), ("rdf", "0.0625")].map(|(key, to)| (vc, key, to)))
        .map(|(vc, key, to)| (format!("connection.v{vc}.transport.{key}"), to))
        .collect();
    let steps: Vec<(&str, &str)> = steps.iter().map(|(path, to)| (path.as_str(), *to)).collect();
    let off = row.off_with("kind = \"aprc\"", "2s", &steps);
    let mean = off.iter().sum::<f64>() / 3.0;
    assert!(off.iter().all(|off| (off - mean).abs() < 0.05), "{off:?}");
    // The whole link is 11 % more than the target of the others.
    assert!(mean > -0.05 && mean < 0.12, "{off:?}");
}
