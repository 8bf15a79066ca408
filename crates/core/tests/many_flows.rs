//! Every scheduler with a million flows (in the long tier; else with some ten thousand): each
//! packet leaves once, in its flow's order.

mod common;

use common::{World, every_scheduler, rate, reserved, rounds};
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::{PortPlan, SwitchPlan};

const PACKETS_EACH: u32 = 2;

#[test]
fn every_scheduler_serves_a_million_flows() {
    let flows = if rounds(1) > 1 { 1_000_000 } else { 10_000 };
    for scheduler in every_scheduler() {
        let port = PortPlan { rate: Some(rate(10_000_000_000)), ..PortPlan::new(scheduler.clone()) };
        let plan = SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() };
        let mut world = World::new(&plan);
        // The audit looks at every flow.
        world.audited = false;
        let mut legs: Vec<Leg> = Vec::new();
        for _ in 0..flows {
            match world.try_open(0, &reserved(1_000)) {
                Ok(leg) => legs.push(leg),
                // A frame of slots is full.
                Err(refused) => {
                    assert!(scheduler.record().divides, "{scheduler:?}: {refused}");
                    break;
                }
            }
        }
        assert!(!legs.is_empty(), "{scheduler:?}");
        let mut rng = Rng::named(1, "flows");
        let mut waiting = Vec::new();
        (0..PACKETS_EACH).for_each(|_| waiting.extend(&legs));
        // In any order.
        for left in (1..waiting.len()).rev() {
            waiting.swap(left, rng.below(left as u64 + 1) as usize);
        }
        let mut latest = vec![None; legs.len()];
        let mut sent = 0;
        let mut send = |world: &mut World| {
            let Some(packet) = world.send_next(0) else { return false };
            let latest = &mut latest[packet.flow.ix()];
            assert!(latest.is_none_or(|before| before < packet.body.0), "{scheduler:?}");
            *latest = Some(packet.body.0);
            sent += 1;
            true
        };
        // A quarter is sent while the others come.
        for (nth, leg) in waiting.iter().enumerate() {
            world.arrive(&[*leg], 64 + rng.below(1437) as u32);
            if nth % 4 == 3 {
                assert!(send(&mut world), "{scheduler:?}");
            }
        }
        while send(&mut world) {}
        assert_eq!(sent, legs.len() * PACKETS_EACH as usize, "{scheduler:?}");
    }
}
