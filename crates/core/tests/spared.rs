//! Memory that push-out leaves a flow by its plan.

mod common;

use common::{World, every_scheduler, kind, pick, rate, reserved, rounds};
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

/// For every scheduler, and in classes within classes: a flow loses a packet to push-out only when
/// it has more than its planned memory, or when no other flow has anything to lose.
#[test]
fn push_out_leaves_a_flow_what_is_planned() {
    let (mut lost, mut all_were_spared) = (0, 0);
    for seed in 0..rounds(60) {
        let rng = &mut Rng::named(seed, "spared");
        for scheduler in every_scheduler() {
            let class = |parent| ClassPlan {
                parent,
                contract: reserved(100_000).contract,
                ..ClassPlan::new(kind(pick(rng, &["fifo", "wf2q-plus", "virtual-clock", "drr"])))
            };
            let classes = [None, Some(0), None].map(class).to_vec();
            let port = PortPlan { classes, rate: Some(rate(1_000_000)), ..PortPlan::new(scheduler) };
            let plan =
                SwitchPlan { ports: vec![port], buffer: Some(Limit::Packets(12)), ..SwitchPlan::default() };
            let mut world = World::new(&plan);
            let spare = |rng: &mut Rng| match rng.below(3) {
                0 => Some(Limit::Packets(1 + rng.below(4))),
                1 => Some(Limit::Bytes(200 + rng.below(2_000))),
                _ => None,
            };
            let flows: Vec<(Leg, Option<Limit>)> = (0..6)
                .filter_map(|_| {
                    let (class, spared) = (pick(rng, &[None, Some(1), Some(2)]), spare(rng));
                    let plan = FlowPlan { class, spared, ..reserved(10_000) };
                    Some((world.try_open(0, &plan).ok()?, spared))
                })
                .collect();
            if flows.is_empty() {
                continue;
            }
            for _ in 0..80 {
                let queued = |world: &World, leg: Leg| {
                    let waiting = world.switch.waiting(PortIx(0)).filter(|(flow, _)| *flow == leg.flow);
                    waiting.fold(Count::default(), |mut sum, (_, packet)| {
                        sum.add(packet.len);
                        sum
                    })
                };
                let before: Vec<_> = flows.iter().map(|(leg, _)| queued(&world, *leg)).collect();
                let at = rng.below(flows.len() as u64) as usize;
                let len = 60 + rng.below(600) as u32;
                world.arrive(&[flows[at].0], len);
                let within = |ix: usize, extra: u64, bytes: u64| {
                    let count = before[ix];
                    let limit = flows[ix].1;
                    limit.is_some_and(|limit| limit.admits(count.packets + extra, count.bytes + bytes))
                };
                let is_within = |ix: usize| match ix == at {
                    true => within(ix, 1, len.into()),
                    false => within(ix, 0, 0),
                };
                let losers = world.dropped();
                if !losers.is_empty() {
                    lost += 1;
                    let loser = (0..flows.len()).find(|ix| {
                        let arrived = u64::from(*ix == at);
                        queued(&world, flows[*ix].0).packets + 1 == before[*ix].packets + arrived
                    });
                    let loser = loser.unwrap();
                    let has = |ix: &usize| before[*ix].packets + u64::from(*ix == at) > 0;
                    let others = (0..flows.len()).filter(has).any(|ix| !is_within(ix));
                    assert!(
                        !is_within(loser) || !others,
                        "seed {seed}: {loser} of {flows:?} with {before:?}"
                    );
                    all_were_spared += u32::from(!others);
                }
                if rng.chance(0.4) && world.start(0).is_some() {
                    world.finish(0);
                    world.now += Span::from_micros(rng.below(3_000));
                }
            }
        }
    }
    assert!(lost > 10_000 && all_were_spared > 20, "{lost}, {all_were_spared}");
}
