//! Deferred VirtualClock and Pulse, and the ends of the scale.

use crate::common::{kind, pick, rate, rounds};
use crate::figure_4::by_flow;
use crate::gains::gains;
use crate::{Arrivals, LINK, bursts, contract, counting, open, play, some_contracts};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::{Span, Time};

/// By either reading, the stamps of a flow never fall under Deferred; none is later than
/// VirtualClock's. A flow without backlog has VirtualClock's stamps, and so has every flow on a
/// link that is never busy when a packet comes.
#[test]
fn deferred_never_falls_and_is_virtual_clock_without_backlog() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "deferred");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        for backlog in ["ideal", "real"] {
            let stamps = by_flow(&play(counting("deferred", backlog), &contracts, &arrivals), 6);
            assert!(stamps.iter().all(|flow| flow.is_sorted()), "seed {seed}, {backlog}");
            let gains = gains(counting("deferred", backlog), &contracts, &arrivals);
            assert!(gains.iter().all(|(_, gain)| *gain >= 0), "seed {seed}, {backlog}");
        }
        // Each packet is sent, and its time at the reserved rate is over, before the next one
        // comes.
        let mut at = Time::ORIGIN;
        let mut apart = Arrivals::new();
        for _ in 0..500 {
            let (flow, len) = (rng.below(6) as usize, pick(&mut rng, &[48, 1500]));
            apart.push((at, flow, len));
            at += contracts[flow].reserve.unwrap().time_for(len) + Span::from_micros(rng.below(1000));
        }
        let plain = play(kind("virtual-clock"), &contracts, &apart);
        for backlog in ["ideal", "real"] {
            assert_eq!(play(counting("deferred", backlog), &contracts, &apart), plain, "{backlog}");
        }
    }
}

/// Pulse's clock after n bytes stands at n/r̂ and a large tick for each W that is full and passed,
/// from the first packet on and whatever the time is.
#[test]
fn pulse_ticks_large_once_every_workahead() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "pulse");
        let contracts = some_contracts(&mut rng);
        let arrivals = bursts(&mut rng, &contracts, 3);
        let stamps = by_flow(&play(kind("pulse"), &contracts, &arrivals), 6);
        for (flow, contract) in contracts.iter().enumerate() {
            let (most, peak) = (contract.workahead.unwrap(), contract.peak.unwrap());
            let large = contract.workahead_time() - peak.time_for(most);
            let own = arrivals.iter().filter(|(_, whose, _)| *whose == flow);
            let mut bytes = 0u64;
            let mut expected = own.clone().next().unwrap().0;
            for ((_, _, len), stamp) in own.zip(&stamps[flow]) {
                let passed = |bytes: u64| bytes.div_ceil(u64::from(most)).saturating_sub(1);
                let ticks = passed(bytes + u64::from(*len)) - passed(bytes);
                expected += peak.time_for(*len);
                (0..ticks).for_each(|_| expected += large);
                bytes += u64::from(*len);
                assert_eq!(*stamp, expected, "seed {seed}, flow {flow}, after {bytes} bytes");
            }
        }
    }
}

/// A flow sleeps for ten seconds and then sends as fast as it can for one; another keeps to its
/// half of the link. Returns the longest wait of the other's packets meanwhile.
fn wait_beside_a_sleeper(scheduler: SchedulerKind) -> Span {
    let contracts = [contract(4_000_000, LINK, 10_000), contract(4_000_000, 4_000_000, 10_000)];
    let mut arrivals = Arrivals::new();
    let awake = Time::ORIGIN + Span::from_secs(10);
    // One packet at the start: a clock begins with the first packet.
    arrivals.push((Time::ORIGIN, 0, 1_000));
    arrivals.extend((0..1_000).map(|nth| (awake + Span::from_millis(nth), 0, 1_000)));
    arrivals.extend((0..5_500).map(|nth| (Time::ORIGIN + Span::from_millis(2 * nth), 1, 1_000)));
    arrivals.sort_by_key(|(at, flow, _)| (*at, *flow));
    let (mut lines, legs) = open(scheduler, &contracts);
    for (at, flow, len) in &arrivals {
        lines.run(*at);
        lines.arrive(&[legs[*flow]], *len);
    }
    lines.drain();
    let other = lines.sent.iter().filter(|sent| sent.packet.flow == legs[1].flow);
    other.map(|sent| sent.at.since(sent.packet.arrived)).max().unwrap()
}

/// A sleeper's savings are worth nothing under VirtualClock and Axel beyond W / r; under Pulse they
/// let it pass for as long as it slept.
#[test]
fn pulse_alone_rewards_who_sleeps() {
    let packet = rate(LINK).time_for(1_000);
    for scheduler in [kind("virtual-clock"), kind("axel"), counting("axel", "real")] {
        let most = contract(4_000_000, LINK, 10_000).workahead_time() + packet + packet;
        let wait = wait_beside_a_sleeper(scheduler);
        assert!(wait <= most, "{wait:?} of {most:?}");
    }
    let wait = wait_beside_a_sleeper(kind("pulse"));
    assert!(wait > Span::from_millis(400), "{wait:?}");
}

/// Each packet of a flow alone at a link passes at once, whatever it is: one byte, 64 KiB, the
/// smallest and the largest rates, W of a packet.
#[test]
fn extremes_have_stamps() {
    for scheduler in ["axel", "axel-unbounded", "deferred", "pulse", "peak-vc"] {
        for (reserve, peak) in [(1, 1), (1, 10_000_000_000_000), (10_000_000_000_000, 10_000_000_000_000)] {
            let (mut lines, legs) = open(kind(scheduler), &[contract(reserve, peak, 1)]);
            for len in [1, 65_536, 1, 1, 65_536] {
                lines.arrive(&[legs[0]], len);
                lines.world.now += Span::from_micros(1);
            }
            lines.drain();
            assert_eq!(lines.sent.len(), 5, "{scheduler} {reserve} {peak}");
        }
    }
}
