//! The filter of a contract (W, r, r̂): the packets that pass keep the contract, and no packet is
//! taken needlessly. The oracle is the definition: over every stretch of packets, and over every
//! set of packets that might pass.

mod common;

use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::meter::policer::{PolicerExcess, PolicerParams};
use tidegate_core::meter::{BuiltInMeter, MeterKind};
use tidegate_core::packet::{Colour, Leg};
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{BuiltInShaper, Excess, ShaperPlan, TokenBucketParams};
use tidegate_core::stats::Workahead;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

/// A contract in whole ticks, which is never rounded.
#[derive(Clone, Copy, Debug)]
struct ContractTerms {
    ticks_a_byte: u64,
    workahead: u32,
    /// Ticks a byte at the peak rate.
    peak: Option<u64>,
}

impl ContractTerms {
    fn drawn(rng: &mut Rng) -> ContractTerms {
        let ticks_a_byte = pick(rng, &[80_000, 800_000, 2_000_000]);
        let peak = pick(rng, &[None, Some(ticks_a_byte), Some(ticks_a_byte / 2), Some(ticks_a_byte / 20)]);
        ContractTerms { ticks_a_byte, workahead: pick(rng, &[1500, 2000, 6000]), peak }
    }

    fn contract(self) -> Contract {
        let of = |ticks| rate(8 * 100_000_000_000 / ticks);
        Contract {
            reserve: Some(of(self.ticks_a_byte)),
            workahead: Some(self.workahead),
            peak: self.peak.map(of),
            ..Contract::default()
        }
    }

    /// By definition: no stretch of the packets is more than W ahead of the rate, and each has its
    /// time at the peak rate.
    fn keeps(self, packets: &[(u64, u32)]) -> bool {
        let stretch = |first: usize| {
            let mut ahead = 0;
            packets[first..].iter().all(|(at, len)| {
                ahead += u64::from(*len) * self.ticks_a_byte;
                ahead <= u64::from(self.workahead) * self.ticks_a_byte + (at - packets[first].0)
            })
        };
        let apart =
            |pair: &[(u64, u32)]| pair[0].0 + u64::from(pair[0].1) * self.peak.unwrap_or(0) <= pair[1].0;
        (0..packets.len()).all(stretch) && packets.windows(2).all(apart)
    }

    /// Returns true if the contract still holds with one packet more, behind packets that keep it.
    fn keeps_with(self, packets: &mut Vec<(u64, u32)>, next: (u64, u32)) -> bool {
        packets.push(next);
        let keeps = self.keeps(packets);
        packets.pop();
        keeps
    }
}

/// Arrivals in ticks from the start, of packets that fill the bucket again and again.
fn arrivals(rng: &mut Rng, terms: ContractTerms, count: usize, sizes: &[u32]) -> Vec<(u64, u32)> {
    let mut at = 0;
    let mut next = || {
        let len = pick(rng, sizes);
        at += pick(rng, &[0, 0, 1, 3]) * rng.below(u64::from(len) * terms.ticks_a_byte);
        (at, len)
    };
    (0..count).map(|_| next()).collect()
}

/// Ways to filter a flow: the envelope's three and the meter's two.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Filter {
    Shaper(Excess),
    Meter(PolicerExcess),
}

/// A port with one flow, from whose contract the filter takes its values.
fn filtered(terms: ContractTerms, filter: Filter) -> (World, Leg) {
    let contract = terms.contract();
    let mut port = PortPlan::new(kind("fifo"));
    let mut plan = FlowPlan { contract, ..FlowPlan::default() };
    match filter {
        Filter::Shaper(excess) => {
            let params = TokenBucketParams {
                rate: None,
                burst: None,
                peak: None,
                queue: None,
                excess,
                calendar: None,
            };
            let shaper = BuiltInShaper::TokenBucket(params).build(&contract).unwrap();
            let Contract { peak, .. } = contract;
            let (rate, burst) = (contract.reserve.unwrap(), terms.workahead);
            assert_eq!(shaper, ShaperPlan { rate, burst, peak, queue: None, excess, calendar: None });
            plan.shaper = Some(shaper);
        }
        Filter::Meter(excess) => {
            port.meters = vec![MeterKind::BuiltIn(BuiltInMeter::Policer(PolicerParams { excess }))];
        }
    }
    let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
    let leg = world.open(0, &plan);
    (world, leg)
}

/// Returns true for each packet that passes at once, in profile.
fn passed(terms: ContractTerms, filter: Filter, arrivals: &[(u64, u32)]) -> Vec<bool> {
    let (mut world, leg) = filtered(terms, filter);
    let pass = |(at, len): &(u64, u32)| {
        world.now = Time::ORIGIN + Span::from_ticks(*at);
        world.arrive(&[leg], *len);
        world.send(0).is_some_and(|packet| packet.mark.colour() == Colour::Green)
    };
    arrivals.iter().map(pass).collect()
}

/// Departure time of each packet from an envelope in which packets wait.
fn delayed(terms: ContractTerms, arrivals: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let (mut world, leg) = filtered(terms, Filter::Shaper(Excess::Wait));
    let mut left = Vec::new();
    let mut release = |world: &mut World, until: Time| {
        loop {
            while let Some(packet) = world.send(0) {
                left.push((world.now.since(Time::ORIGIN).ticks(), packet.len));
            }
            let next = world.wakes().into_iter().filter(|at| *at > world.now && *at <= until).min();
            let Some(at) = next else { break };
            world.now = at;
            world.timer(0);
        }
    };
    for (at, len) in arrivals {
        let at = Time::ORIGIN + Span::from_ticks(*at);
        release(&mut world, at);
        world.now = at;
        world.arrive(&[leg], *len);
    }
    release(&mut world, Time::NEVER);
    left
}

fn exact_w(rate: Rate, packets: &[(u64, u32)]) -> u64 {
    let mut ideal = Workahead::new(rate);
    for (at, len) in packets {
        ideal.see(Time::ORIGIN + Span::from_ticks(*at), *len);
    }
    ideal.max_backlog()
}

const DROPS: [Filter; 4] = [
    Filter::Shaper(Excess::Drop),
    Filter::Shaper(Excess::Mark),
    Filter::Meter(PolicerExcess::Drop),
    Filter::Meter(PolicerExcess::Mark),
];

#[test]
fn what_passes_keeps_the_contract_and_what_does_not_would_break_it() {
    let (mut let_through, mut taken) = (0, 0);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "filter");
        let terms = ContractTerms::drawn(&mut rng);
        let arrivals = arrivals(&mut rng, terms, 120, &[40, 576, 1500]);
        let mut kept = Vec::new();
        let mut expected = Vec::new();
        for packet in &arrivals {
            let keeps = terms.keeps_with(&mut kept, *packet);
            expected.push(keeps);
            if keeps {
                kept.push(*packet);
            }
        }
        for filter in DROPS {
            assert_eq!(passed(terms, filter, &arrivals), expected, "seed {seed}, {filter:?}, {terms:?}");
        }
        assert!(exact_w(terms.contract().reserve.unwrap(), &kept) <= terms.workahead.into());
        let_through += kept.len();
        taken += arrivals.len() - kept.len();
    }
    assert!(let_through > 1000 && taken > 1000, "{let_through} {taken}");
}

/// With packets of one size no other filter lets more packets pass: every set of them is tried.
#[test]
fn no_filter_lets_more_packets_pass() {
    let mut some_taken = 0;
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "most");
        let terms = ContractTerms::drawn(&mut rng);
        let arrivals = arrivals(&mut rng, terms, 11, &[1000]);
        let most = (0u32..1 << arrivals.len())
            .filter(|set| {
                let chosen = arrivals.iter().enumerate().filter(|(ix, _)| set >> ix & 1 == 1);
                terms.keeps(&chosen.map(|(_, packet)| *packet).collect::<Vec<_>>())
            })
            .map(u32::count_ones)
            .max()
            .unwrap();
        for filter in DROPS {
            let passed = passed(terms, filter, &arrivals).into_iter().filter(|passed| *passed).count();
            assert_eq!(passed as u32, most, "seed {seed}, {filter:?}, {terms:?}");
        }
        some_taken += usize::from((most as usize) < arrivals.len());
    }
    assert!(some_taken > 20, "{some_taken}");
}

/// Packets that wait leave as early as the contract allows, in their order.
#[test]
fn what_waits_leaves_as_early_as_the_contract_allows() {
    let mut waited = 0;
    for seed in 0..rounds(30) {
        let mut rng = Rng::named(seed, "wait");
        let terms = ContractTerms::drawn(&mut rng);
        let arrivals = arrivals(&mut rng, terms, 60, &[40, 576, 1500]);
        let left = delayed(terms, &arrivals);
        assert_eq!(left.len(), arrivals.len());
        assert!(terms.keeps(&left), "seed {seed}, {terms:?}");
        assert!(exact_w(terms.contract().reserve.unwrap(), &left) <= terms.workahead.into());
        let mut before = Vec::new();
        for ((came, len), (at, same)) in arrivals.iter().zip(&left) {
            assert_eq!(len, same);
            let last = before.last().map_or(0, |(at, _)| *at);
            assert!(at >= came && *at >= last);
            if *at > (*came).max(last) {
                assert!(!terms.keeps_with(&mut before, (at - 1, *len)), "seed {seed}: {at} is late");
                waited += 1;
            }
            before.push((*at, *len));
        }
    }
    assert!(waited > 300, "{waited}");
}

/// At any rate half a tick a packet is rounded, so W is exceeded by less than a byte.
#[test]
fn at_any_rate_what_passes_keeps_w_to_the_byte() {
    for seed in 0..rounds(100) {
        let mut rng = Rng::named(seed, "any rate");
        let bits = 1_000 + rng.below(100_000_000);
        let reserve = rate(bits);
        let burst = 1500 + rng.below(20_000) as u32;
        let contract = Contract { reserve: Some(reserve), workahead: Some(burst), ..Contract::default() };
        let meter = MeterKind::BuiltIn(BuiltInMeter::Policer(PolicerParams { excess: PolicerExcess::Drop }));
        let port = PortPlan { meters: vec![meter], ..PortPlan::new(kind("fifo")) };
        let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
        let leg = world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
        let mut ideal = Workahead::new(reserve);
        for _ in 0..400 {
            let len = 40 + rng.below(1460) as u32;
            world.wait(Span::from_ticks(rng.below(2 * reserve.time_for(len).ticks())));
            world.arrive(&[leg], len);
            if world.send(0).is_some() {
                ideal.see(world.now, len);
            }
        }
        assert!(ideal.max_backlog() <= u64::from(burst) + 1, "{} of {burst}", ideal.max_backlog());
    }
}

/// A change of the contract takes effect at once; tokens that were owed are still owed.
#[test]
fn a_policer_goes_on_with_what_is_owed() {
    let meter = MeterKind::BuiltIn(BuiltInMeter::Policer(PolicerParams { excess: PolicerExcess::Drop }));
    let port = PortPlan { meters: vec![meter], ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
    let terms = ContractTerms { ticks_a_byte: 800_000, workahead: 4000, peak: None };
    let plan = |workahead| FlowPlan {
        contract: Contract { workahead: Some(workahead), ..terms.contract() },
        ..FlowPlan::default()
    };
    let leg = world.open(0, &plan(4000));
    let passes = |world: &mut World, len| {
        world.arrive(&[leg], len);
        world.send(0).is_some()
    };
    assert!(passes(&mut world, 1500) && passes(&mut world, 1500) && !passes(&mut world, 1500));
    // 3000 bytes are ahead of the rate: under a W of 6000 as many may come, and no byte more.
    _ = world.switch.change(world.now, leg, &plan(6000)).unwrap();
    assert!(!passes(&mut world, 3001) && passes(&mut world, 3000) && !passes(&mut world, 1));
    // Under a smaller W nothing may come until they are served down to it.
    _ = world.switch.change(world.now, leg, &plan(1500)).unwrap();
    world.wait(Span::from_ticks(800_000 * 5999));
    assert!(!passes(&mut world, 1500));
    world.wait(Span::from_ticks(800_000));
    assert!(passes(&mut world, 1500));
}

/// Terms that are not promised are not policed; an envelope without values takes those of its flow,
/// and names the missing ones.
#[test]
fn what_no_contract_states_is_not_policed_and_no_envelope_can_take() {
    let stated = ContractTerms { ticks_a_byte: 800_000, workahead: 1500, peak: None }.contract();
    let interval = Some(Span::from_millis(100));
    let of_interval = Contract { workahead: None, interval, ..stated };
    let unpoliced = [
        Contract { reserve: None, ..stated },
        Contract { workahead: None, ..stated },
        Contract { workahead: None, reserve: None, interval, ..stated },
    ];
    let burst = |contract| {
        let meter = MeterKind::BuiltIn(BuiltInMeter::Policer(PolicerParams { excess: PolicerExcess::Drop }));
        let port = PortPlan { meters: vec![meter], ..PortPlan::new(kind("fifo")) };
        let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
        let leg = world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
        (0..50).for_each(|_| _ = world.arrive(&[leg], 1500));
        50 - world.dropped().len()
    };
    assert_eq!(unpoliced.map(burst), [50; 3]);
    // 1 Mbit/s for 100 ms are 12,500 bytes.
    assert_eq!((burst(stated), burst(of_interval)), (1, 8));
    let build = |rate: Option<Rate>, bytes: Option<u32>, contract: &Contract| {
        let excess = Excess::Drop;
        let params =
            TokenBucketParams { rate, burst: bytes, peak: None, queue: None, excess, calendar: None };
        BuiltInShaper::TokenBucket(params).build(contract)
    };
    for contract in unpoliced {
        assert!(build(None, None, &contract).is_err());
    }
    let fast = Contract { peak: Some(rate(9_000_000)), ..stated };
    assert_eq!(build(None, None, &of_interval).unwrap().burst, 12_500);
    assert_eq!(build(None, Some(7000), &fast).unwrap().peak, fast.peak);
    // A bucket of its own rate has a peak rate of its own, or none.
    assert_eq!(build(Some(rate(2_000_000)), None, &fast).unwrap().peak, None);
}

/// Shares of a contract are its rates and bursts in proportion, in whole bits a second and bytes,
/// rounded down and at least 1; all other terms stay.
#[test]
fn shares_are_parts_in_whole_bits_and_bytes() {
    for seed in 0..rounds(200) {
        let mut rng = Rng::named(seed, "shares");
        let weights: Vec<u64> = (0..1 + rng.below(6)).map(|_| 1 + rng.below(1_000_000)).collect();
        let sum: u64 = weights.iter().sum();
        let [bits, peak] = [1_000_000 + rng.below(1_000_000_000), 1_000_000_000 + rng.below(1_000_000_000)];
        let bursts = [(); 3].map(|()| 1_000_000 + rng.below(4_000_000_000) as u32 / 2);
        let whole = Contract {
            reserve: Some(rate(bits)),
            peak: Some(rate(peak)),
            workahead: Some(bursts[0]),
            excess_burst: Some(bursts[1]),
            peak_burst: Some(bursts[2]),
            interval: Some(Span::from_millis(7)),
            priority: 3,
            ..Contract::default()
        };
        let part = |whole: u64, weight: u64| {
            (u128::from(whole) * u128::from(weight) / u128::from(sum)).max(1) as u64
        };
        for weight in &weights {
            let share = whole.share(*weight, sum);
            let burst = |whole: u32| Some(part(u64::from(whole), *weight) as u32);
            let expected = Contract {
                reserve: Some(rate(part(bits, *weight))),
                peak: Some(rate(part(peak, *weight))),
                workahead: burst(bursts[0]),
                excess_burst: burst(bursts[1]),
                peak_burst: burst(bursts[2]),
                ..whole
            };
            assert_eq!(share, expected, "{weights:?}");
        }
        assert_eq!(whole.share(sum, sum), whole);
    }
    assert_eq!(Contract::default().share(1, 3), Contract::default());
}
