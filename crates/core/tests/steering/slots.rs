//! The indexes of flows that come and go.

use crate::common::headers::from_host;
use crate::common::{kind, rate, rounds};
use crate::{Bench, each_host};
use proptest::prelude::*;
use tidegate_core::classifier::matching::Match;
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::rng::Rng;
use tidegate_core::steering::{Beyond, Rule, Split};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

/// A host that comes, sends now and then, and goes; some hosts send far more than their
/// reservation.
struct Guest {
    host: u32,
    burst: u64,
    leaves: Time,
    /// Time of its latest packet.
    heard: Time,
    /// Time at which it is within its reservation.
    even: Time,
}

/// Plans that take turns, in one of which hosts are in a class: however often, the slots are those
/// of as many hosts as there are at once.
#[test]
fn plans_that_take_turns_leak_no_slot() {
    const HOSTS: u32 = 50;
    let port = |classes: Vec<ClassPlan>| PortPlan { classes, ..PortPlan::new(kind("virtual-clock")) };
    let class = ClassPlan { contract: Contract::default(), ..ClassPlan::new(kind("fifo")) };
    let plans = [vec![class], Vec::new()].map(|classes| SwitchPlan {
        ports: vec![port(classes)],
        buffer: None,
        ..SwitchPlan::default()
    });
    let mut bench = Bench::new(vec![each_host(Span::from_secs(1))], 10_000);
    let (mut highest, mut memory) = (0, Vec::new());
    for turn in 0..100 {
        let mut rule = each_host(Span::from_secs(1));
        rule.plan.class = (turn % 2 == 0).then_some(0);
        let now = bench.now;
        let mut out = Vec::new();
        let mut cx = Ctx { now, rng: &mut bench.rng, out: &mut out };
        // No new rule continues an old one: every flow is closed, and made anew.
        _ = bench.switch.reconfigure(&mut cx, &plans[turn % 2], &[]).unwrap_or_else(|_| {
            panic!("turn {turn} is refused");
        });
        bench.steering.replan(now, &mut bench.switch, vec![rule], &[None], FlowPlan::default(), 10_000);
        for host in 0..HOSTS {
            highest = highest.max(bench.pass(&from_host(host, 1), 100));
        }
        // Before the next plan takes the class away, its flows are closed and even.
        bench.steering.replan(bench.now, &mut bench.switch, Vec::new(), &[], FlowPlan::default(), 10_000);
        bench.wait(Span::from_secs(20));
        memory.push(bench.switch.memory());
    }
    assert!(highest <= 2 * HOSTS, "{highest} slots for {HOSTS} hosts at once");
    assert!(memory[99] <= memory[9], "{memory:?}");
}

/// Slots with hosts that stay for a while and get into debt: at every moment there are as many
/// flows as hosts that are not idle or not even, and never more slots than there were such hosts at
/// once.
#[test]
fn slots_are_as_many_as_hosts_that_count() {
    const IDLE: Span = Span::from_secs(2);
    const STEP: Span = Span::from_millis(50);
    let until = Time::ORIGIN + Span::from_secs(rounds(3600));
    let mut bench = Bench::new(vec![each_host(IDLE)], 10_000);
    let mut rng = Rng::named(1, "guests");
    let mut guests: Vec<Guest> = Vec::new();
    let (mut hosts, mut packets, mut most, mut highest, mut memory) = (0, 0, 0, 0, 0);
    while bench.now < until {
        let now = bench.now;
        if rng.chance(0.2) {
            hosts += 1;
            let burst = if rng.chance(0.1) { 20 } else { 1 };
            let leaves = now + Span::from_millis(rng.below(20_000));
            guests.push(Guest { host: hosts, burst, leaves, heard: now, even: now });
        }
        for guest in guests.iter_mut().filter(|guest| guest.leaves >= now) {
            if rng.chance(0.1) || guest.heard == now {
                for _ in 0..guest.burst {
                    highest = highest.max(bench.pass(&from_host(guest.host, 1), 1000));
                    packets += 1;
                    guest.even = guest.even.max(now) + rate(80_000).time_for(1000);
                }
                guest.heard = now;
            }
        }
        let counts = |guest: &Guest, at: Time| guest.even.max(guest.heard + IDLE) > at;
        guests.retain(|guest| guest.leaves >= now || counts(guest, now));
        bench.wait(STEP);
        let counting = guests.iter().filter(|guest| counts(guest, bench.now)).count();
        assert_eq!(bench.steering.flows(0), counting, "at {:?}", bench.now);
        // A slot that was left since the last step may be taken only in the next.
        most = most.max(guests.iter().filter(|guest| counts(guest, now)).count());
        if now.since(Time::ORIGIN) < Span::from_secs(900) {
            memory = bench.switch.memory();
        }
    }
    // The first two flows are for packets that no rule matches.
    assert!(
        hosts > 10_000 && highest as usize <= most + 1,
        "{hosts} hosts, index {highest} for {most} at once"
    );
    let now = bench.switch.memory();
    assert!(now <= 2 * memory, "{memory} bytes after a quarter of an hour, {now} at the end");
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, packets);
    assert_eq!(bench.steering.overflowed(), 0);
}

proptest! {
    /// A sender that remembers its last flow steers every packet as one that does not, with equal
    /// counts.
    #[test]
    fn remembering_changes_nothing(steps in prop::collection::vec((0u32..8, 0u64..3_000), 1..300)) {
        let tcp = Match { protocol: vec![6], ..Match::default() };
        let other = Rule::new(tcp, Split::Together, FlowPlan::default(), Span::ZERO);
        let rules = vec![other, each_host(Span::from_secs(1))];
        let (mut one, mut other) = (Bench::new(rules.clone(), 4), Bench::new(rules, 4));
        let mut memory = [None; 8];
        for (host, millis) in steps {
            let mut headers = from_host(host, 1);
            if let Some(ip) = headers.ip.as_mut().filter(|_| host < 2) {
                ip.protocol = [6, 1][host as usize];
            }
            let again = other.steering.steer_again(other.now, &mut other.switch, &headers, &mut memory[host as usize]);
            prop_assert_eq!(one.steering.steer(one.now, &mut one.switch, &headers), again);
            prop_assert_eq!(one.steering.overflowed(), other.steering.overflowed());
            prop_assert_eq!(one.steering.flows(1), other.steering.flows(1));
            one.wait(Span::from_millis(millis));
            other.wait(Span::from_millis(millis));
        }
    }
}

/// The flow that hosts share beyond the limit continues with its rule, under the new rule's terms,
/// and ends with it.
#[test]
fn the_shared_flow_follows_its_rule() {
    let limited = |bits: u64, most: usize| {
        let contract = Contract { reserve: Some(rate(bits)), ..Contract::default() };
        let plan = FlowPlan { contract, ..FlowPlan::default() };
        Rule { plan, beyond: Beyond { most, plan }, ..each_host(Span::from_secs(1)) }
    };
    let mut bench = Bench::new(vec![limited(80_000, 1)], 100);
    let own = bench.pass(&from_host(1, 1), 100);
    let shared = bench.pass(&from_host(2, 1), 100);
    assert!(own != shared && bench.pass(&from_host(3, 1), 100) == shared);
    let wanted = vec![limited(160_000, 2)];
    let changes = bench.steering.changes(&wanted, &[Some(0)], FlowPlan::default(), &mut Vec::new());
    let changed: Vec<_> = changes.iter().map(|(leg, plan)| (leg.flow.0, plan.contract.reserve)).collect();
    assert_eq!(changed, [(shared, Some(rate(160_000))), (own, Some(rate(160_000)))]);
    bench.steering.replan(bench.now, &mut bench.switch, wanted, &[Some(0)], FlowPlan::default(), 100);
    let second = bench.pass(&from_host(2, 1), 100);
    assert!(second != shared && second != own);
    assert_eq!(bench.pass(&from_host(3, 1), 100), shared);
    assert_eq!(bench.steering.counters(&bench.switch, 0).sent.packets, 5);
    bench.steering.replan(bench.now, &mut bench.switch, Vec::new(), &[], FlowPlan::default(), 100);
    bench.wait(Span::from_secs(5));
    assert_eq!(bench.pass(&from_host(3, 1), 100), bench.steering.rest().flow.0);
    bench.switch.audit(bench.now).unwrap();
}
