//! A stage that does nothing changes nothing, whichever calls it asks for: links that go step by
//! step for it send what others send. A stage is called exactly where it asked for it.

mod common;

use common::{add, chain, poisson, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Packet;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_sim::network::{Network, StagePlan};
use tidegate_sim::stage::{Crossing, Interest, Passage, Site, Stage, StageCx, StageFactory};

/// A stage that does nothing.
#[derive(Clone, Copy, Debug)]
struct Idle(Interest);

impl StageFactory for Idle {
    fn make(&self, _: u32, _: Rng) -> Box<dyn Stage> {
        Box::new(*self)
    }
}

impl Stage for Idle {
    fn interest(&self, _: &Site) -> Interest {
        self.0
    }
}

/// Three servers in a row, each fully loaded by Poisson flows that reserve their shares, with a
/// short buffer.
fn loaded(scheduler: &str, delay: Span) -> Network {
    let mut network = chain(3, 1_000_000, delay, scheduler, Span::from_secs(5));
    for route in [0..3, 0..3, 0..1, 1..2, 2..3] {
        add(&mut network, route, Some(330_000), poisson(330_000, 125));
    }
    network.nodes.iter_mut().for_each(|node| node.buffer = Some(Limit::Bytes(3_000)));
    network
}

#[test]
fn idle_stages_change_no_outcome() {
    for scheduler in ["fifo", "virtual-clock", "scfq", "drr"] {
        for delay in [Span::ZERO, Span::from_micros(700)] {
            let network = loaded(scheduler, delay);
            let alone = run(&network, 1);
            assert!(alone.records().iter().any(|record| record.dropped > 0), "{scheduler}");
            let all = Interest::ENTER | Interest::RELEASED | Interest::LEAVE | Interest::DROPPED;
            for interest in [Interest::NONE, Interest::ENTER, Interest::LEAVE, all, all | Interest::FIRST] {
                let mut observed = network.clone();
                observed.stages = (0..3)
                    .map(|node| StagePlan {
                        name: format!("idle {node}"),
                        node,
                        factory: Arc::new(Idle(interest)),
                    })
                    .collect();
                let seen = run(&observed, 1);
                assert_eq!(seen.fingerprint(), alone.fingerprint(), "{scheduler}, {delay:?}, {interest:?}");
            }
        }
    }
}

/// Calls of a stage so far.
#[derive(Debug, Default)]
struct Calls {
    entered: AtomicU64,
    received: AtomicU64,
    left: AtomicU64,
    dropped: AtomicU64,
}

/// A stage that counts its calls for one flow.
#[derive(Clone, Debug)]
struct Counting {
    flow: u32,
    calls: Arc<Calls>,
}

impl StageFactory for Counting {
    fn make(&self, _: u32, _: Rng) -> Box<dyn Stage> {
        Box::new(self.clone())
    }
}

fn count(calls: &AtomicU64) {
    calls.fetch_add(1, Ordering::Relaxed);
}

impl Stage for Counting {
    fn interest(&self, site: &Site) -> Interest {
        match site.flow == self.flow {
            true => Interest::ENTER | Interest::LEAVE | Interest::DROPPED,
            false => Interest::NONE,
        }
    }

    fn enter(&mut self, _: &mut StageCx, at: &Crossing, _: &mut Packet, _: &mut Payload) -> Passage {
        assert_eq!(at.flow, self.flow);
        count(if at.to.is_some() { &self.calls.entered } else { &self.calls.received });
        Passage::Forward
    }

    fn leave(&mut self, _: &mut StageCx, flow: u32, _: u32, _: &mut Packet, _: &mut Payload) {
        assert_eq!(flow, self.flow);
        count(&self.calls.left);
    }

    fn dropped(&mut self, _: &mut StageCx, flow: u32, _: u32, _: &mut Packet) {
        assert_eq!(flow, self.flow);
        count(&self.calls.dropped);
    }
}

/// The second of three servers: what enters it has left it, was dropped or waits; and what its next
/// node does not see of another flow.
#[test]
fn a_stage_sees_its_flow_at_its_node() {
    let mut network = loaded("fifo", Span::ZERO);
    let [second, end] = [Arc::new(Calls::default()), Arc::new(Calls::default())];
    for (node, calls) in [(1, &second), (3, &end)] {
        let factory = Arc::new(Counting { flow: 0, calls: calls.clone() });
        network.stages.push(StagePlan { name: format!("counting {node}"), node, factory });
    }
    let world = run(&network, 2);
    let read = |calls: &AtomicU64| calls.load(Ordering::Relaxed);
    let record = &world.records()[0];
    let (entered, left, dropped) = (read(&second.entered), read(&second.left), read(&second.dropped));
    assert!(entered > 1000 && dropped > 0, "{entered} entered, {dropped} dropped");
    // At most the buffer waits.
    assert!((left + dropped..=left + dropped + 24).contains(&entered), "{entered} {left} {dropped}");
    assert_eq!(read(&second.received), 0);
    assert_eq!((read(&end.received), read(&end.entered)), (record.received.0, 0));
}
