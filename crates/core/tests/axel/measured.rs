//! Axel by measured delays, at one hop: the values that packets bring from upstream.

use crate::common::{kind, rounds};
use crate::figure_4::by_flow;
use crate::{bursts, contract, open, play, some_contracts};
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::units::{Span, Time};

fn measured(upstream: &str) -> SchedulerKind {
    let upstream = [("upstream", Value::Text(upstream.to_owned()))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("axel-measured", &upstream).unwrap().unwrap())
}

/// At a first hop nothing has been measured: beside the backlog that changes nothing, and in its
/// place it leaves VirtualClock.
#[test]
fn at_a_first_hop_it_is_axel_or_virtual_clock() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "first hop");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let sent = |scheduler| by_flow(&play(scheduler, &contracts, &arrivals), 6);
        assert_eq!(sent(measured("supplement")), sent(kind("axel")), "seed {seed}");
        assert_eq!(sent(measured("replace")), sent(kind("virtual-clock")), "seed {seed}");
    }
}

/// A burst that was spread upstream to its average rate has no backlog here: Axel alone does not
/// accelerate it. By what its packets carry it advances at its peak rate until W / r of lag is
/// spent, and as VirtualClock from then on.
#[test]
fn a_burst_that_was_spread_is_accelerated_again() {
    let own = contract(1_000_000, 4_000_000, 10_000);
    let tick = own.reserve.unwrap().time_for(1_000);
    // The packets left their source 2 ms apart, and come 8 ms apart.
    let spread = Span::from_millis(6).ticks() as i64;
    let gain = |scheduler: SchedulerKind| -> Vec<i64> {
        let (mut lines, legs) = open(scheduler, &[own]);
        let mut plain = Time::ORIGIN;
        let mut stamps = Vec::new();
        for nth in 0..40 {
            lines.run(plain);
            lines.world.carry = nth * spread;
            lines.arrive(&[legs[0]], 1_000);
            plain += tick;
            stamps.push(plain);
        }
        lines.drain();
        let own = lines.sent.iter().map(|sent| sent.packet.tag as i64);
        own.zip(stamps).map(|(own, plain)| plain.ticks() as i64 - own).collect()
    };
    assert_eq!(gain(kind("axel")), [0; 40]);
    for upstream in ["supplement", "replace"] {
        // W / r is 80 ms: 13 times 6 ms, and 2 ms.
        let expected = |nth| match nth {
            1..=13 => spread,
            14 => spread / 3,
            _ => 0,
        };
        assert_eq!(gain(measured(upstream)), (0..40).map(expected).collect::<Vec<_>>(), "{upstream}");
    }
}

/// Whatever packets carry, no stamp is more than W / r before VirtualClock's, and none later.
#[test]
fn no_carried_value_gains_more_than_the_workahead() {
    let mut most_gained = 0.0f64;
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "carried");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 2);
        let carried: Vec<i64> = arrivals.iter().map(|_| rng.below(1 << 36) as i64 - (1 << 35)).collect();
        let stamps = |scheduler: SchedulerKind| {
            let (mut lines, legs) = open(scheduler, &contracts);
            for ((at, flow, len), carry) in arrivals.iter().zip(&carried) {
                lines.run(*at);
                lines.world.carry = *carry;
                lines.arrive(&[legs[*flow]], *len);
            }
            lines.drain();
            let place = |flow| legs.iter().position(|leg| leg.flow == flow).unwrap();
            let sent = lines.sent.iter();
            let sent = sent.map(|sent| (place(sent.packet.flow), Time::from_ticks(sent.packet.tag)));
            by_flow(&sent.collect(), contracts.len())
        };
        let plain = stamps(kind("virtual-clock"));
        for upstream in ["supplement", "replace"] {
            for ((own, plain), contract) in stamps(measured(upstream)).iter().zip(&plain).zip(&contracts) {
                let most = contract.workahead_time();
                for (own, plain) in own.iter().zip(plain) {
                    assert!(own <= plain && plain.since(*own) <= most, "seed {seed}, {upstream}");
                    let share = plain.since(*own).as_secs_f64() / most.as_secs_f64();
                    most_gained = most_gained.max(share);
                }
            }
        }
    }
    assert!(most_gained > 0.9, "{most_gained}");
}
