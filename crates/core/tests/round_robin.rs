//! Packet round robin: the order of turns, and the service of a backlogged flow.

mod common;

use common::lines::Lines;
use common::twins::{Line, Model, Twins, Waiting};
use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Time;

/// A list of flows, each with the round of its next turn.
#[derive(Default)]
struct RoundRobin {
    line: Line,
    turns: Vec<(usize, u64)>,
    next_round: u64,
}

impl Model for RoundRobin {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn arrived(&mut self, waiting: Waiting) {
        let active = self.line.flows[waiting.flow].1 == Participation::Active;
        if active && self.turns.iter().all(|(flow, _)| *flow != waiting.flow) {
            self.turns.push((waiting.flow, self.next_round));
        }
    }
    fn takes_part(&mut self, _: Time, flow: usize, _: Participation) {
        self.turns.retain(|(other, _)| *other != flow);
        let head = self.line.of(flow).next().copied();
        head.into_iter().for_each(|head| self.arrived(head));
    }
    fn start(&mut self, _: Time) -> Option<Waiting> {
        let (flow, round) = *self.turns.first()?;
        self.turns.remove(0);
        let head = *self.line.of(flow).next().unwrap();
        let sent = self.line.remove(head.body);
        if self.line.of(flow).next().is_some() {
            self.next_round = round + 1;
            self.turns.push((flow, round + 1));
        }
        Some(sent)
    }
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        let (_, round) = *self.turns.iter().find(|(flow, _)| *flow == last.flow).unwrap();
        round + self.line.of(last.flow).count() as u64
    }
    fn removed(&mut self, gone: Waiting) {
        self.turns.retain(|(flow, _)| *flow != gone.flow || self.line.of(*flow).next().is_some());
    }
}

fn any_contract(rng: &mut Rng) -> Contract {
    Contract { reserve: rng.chance(0.5).then(|| rate(1 + rng.below(9_000_000))), ..Contract::default() }
}

#[test]
fn turns_are_those_of_a_list() {
    let mut pushed_out = 0;
    for seed in 0..rounds(20) {
        for (most, gated) in [(None, true), (Some(12), false), (Some(40), false)] {
            let mut rng = Rng::named(seed, "turns");
            let mut twins = Twins::new(kind("round-robin"), rate(8_000_000), most, RoundRobin::default());
            let flows = 1 + rng.below(9);
            twins.storm(&mut rng, flows, gated, any_contract, |_| 0);
            pushed_out += twins.pushed_out;
        }
    }
    assert!(pushed_out > 500, "{pushed_out}");
}

/// Over any time in which two flows have packets, their numbers of packets differ by one at most,
/// whatever they reserve, however long their packets are, and whatever others do.
#[test]
fn backlogged_flows_send_as_many_packets() {
    for seed in 0..rounds(10) {
        let mut rng = Rng::named(seed, "as many");
        let mut world = World::with(kind("round-robin"));
        world.audited = false;
        let all: Vec<Leg> = (0..8).map(|flow| world.open(0, &reserved(1_000 << (2 * flow)))).collect();
        let [greedy @ .., _, _, _] = &all[..] else { unreachable!() };
        // Packets ahead of the first greedy flow, at its worst and its best so far.
        let mut ahead = vec![(0i64, 0i64, 0i64); greedy.len()];
        for (nth, leg) in greedy.iter().enumerate() {
            (0..3).for_each(|_| _ = world.arrive(&[*leg], 1 + 9000 * (nth as u32 % 2)));
        }
        for _ in 0..4000 {
            while rng.chance(0.5) {
                world.arrive(&[pick(&mut rng, &all[greedy.len()..])], 40);
            }
            let sent = world.send(0).unwrap();
            let Some(nth) = greedy.iter().position(|leg| leg.flow == sent.flow) else { continue };
            world.arrive(&[greedy[nth]], sent.len);
            for (other, (now, least, most)) in ahead.iter_mut().enumerate() {
                *now += i64::from(nth == other) - i64::from(nth == 0);
                (*least, *most) = ((*least).min(*now), (*most).max(*now));
                assert!(*most - *least <= 1, "seed {seed}: flow {other}, {least} to {most}");
            }
        }
        assert!(ahead[1..].iter().all(|(_, least, most)| most - least == 1));
    }
}

/// A flood takes the place of its own packets in a full pool.
#[test]
fn a_flood_loses_its_own_packets() {
    use tidegate_core::params::Limit;
    use tidegate_core::switch::plan::{PortPlan, SwitchPlan};
    let plan = SwitchPlan {
        ports: vec![PortPlan::new(kind("round-robin"))],
        buffer: Some(Limit::Packets(20)),
        ..SwitchPlan::default()
    };
    let mut world = World::new(&plan);
    let [flood, calm] = [0; 2].map(|_| world.open(0, &FlowPlan::default()));
    for _ in 0..500 {
        (0..5).for_each(|_| _ = world.arrive(&[flood], 1000));
        world.arrive(&[calm], 1000);
        (0..2).for_each(|_| _ = world.send(0));
    }
    assert_eq!(world.switch.counters(calm).dropped.packets, 0);
    assert!(world.switch.counters(flood).dropped.packets > 1000);
}

/// In the first two rounds, too, push-out takes the packet whose turn comes last.
#[test]
fn a_second_packet_goes_before_the_first_of_a_flow_that_came_later() {
    let port = PortPlan::new(kind("round-robin"));
    let plan = SwitchPlan { ports: vec![port], buffer: Some(Limit::Packets(4)), ..SwitchPlan::default() };
    let mut lines = Lines::new(World::new(&plan), &[rate(400_000)]);
    let [sending, twice, once] = [0; 3].map(|_| lines.world.open(0, &FlowPlan::default()));
    // The first is in service.
    let bodies = [sending, twice, twice, once, sending].map(|leg| lines.arrive(&[leg], 250));
    let dropped: Vec<u32> = lines.dropped.iter().map(|(_, packet, _)| packet.body.0).collect();
    assert_eq!(dropped, [bodies[2]]);
}
