//! Time never runs backwards at a node, whatever happens in a random tree.

mod common;

use common::lines::Lines;
use common::{World, pick, plans, rate, rounds};
use std::cell::Cell;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::Limit;
use tidegate_core::queues::{Queued, Queues};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{AnyScheduler, Participation, Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::stats::Count;
use tidegate_core::units::{Rate, Span, Time};

/// A scheduler that looks at the clock.
struct Watched {
    inner: AnyScheduler,
    latest: Cell<Time>,
}

impl Watched {
    fn at(&self, now: Time) {
        assert!(now >= self.latest.replace(now), "time runs backwards");
    }
}

impl Scheduler for Watched {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.at(now);
        self.inner.set_rate(now, rate);
    }
    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        terms: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        self.at(now);
        self.inner.set_flow(now, flow, terms, queues)
    }
    fn forgettable_at(&self, now: Time, flow: FlowIx, queues: &Queues) -> Time {
        self.inner.forgettable_at(now, flow, queues)
    }
    fn lead(&self, now: Time, flow: FlowIx) -> Span {
        self.inner.lead(now, flow)
    }
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.at(cx.now);
        assert!(packet.arrived <= cx.now);
        self.inner.enqueue(cx, packet, queues);
    }
    fn advance(&mut self, now: Time, queues: &Queues) {
        self.at(now);
        self.inner.advance(now, queues);
    }
    fn select(&self, now: Time, queues: &Queues) -> Select {
        self.at(now);
        self.inner.select(now, queues)
    }
    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.at(cx.now);
        self.inner.dequeued(cx, packet, queues);
    }
    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        self.at(cx.now);
        self.inner.removed(cx, packet, queues, why);
    }
    fn rank_to_lose(&self, flow: FlowIx, last: &Queued, behind: Count) -> u64 {
        self.inner.rank_to_lose(flow, last, behind)
    }
    fn take_part(&mut self, now: Time, flow: FlowIx, before: Participation, queues: &Queues) {
        self.at(now);
        self.inner.take_part(now, flow, before, queues);
    }
    fn release(&mut self, flow: FlowIx) {
        self.inner.release(flow);
    }
    fn memory(&self) -> usize {
        self.inner.memory()
    }
}

fn watched(kind: SchedulerKind) -> SchedulerKind {
    let inner = kind.clone();
    kind.made_by(move || {
        Box::new(Watched { inner: inner.build().unwrap(), latest: Cell::new(Time::from_ticks(0)) })
    })
}

#[test]
fn time_never_runs_backwards_at_a_node() {
    let every: Vec<_> = plans::schedulers().into_iter().map(watched).collect();
    for seed in 0..rounds(30) {
        let mut rng = Rng::named(seed, "clock");
        let mut plan = plans::switch(&mut rng, 1, &every);
        plan.buffer = Some(Limit::Packets(5 + rng.below(40)));
        let mut lines = Lines::new(World::new(&plan), &[rate(10_000_000)]);
        let mut legs = Vec::new();
        while legs.len() < 5 {
            legs.extend(lines.world.try_open(0, &plans::flow(&mut rng, &plan.ports[0])));
        }
        for _ in 0..400 {
            let leg = pick(&mut rng, &legs);
            match rng.below(10) {
                0..5 => _ = lines.arrive(&[leg], pick(&mut rng, &[40, 576, 1500])),
                5..9 => {
                    let until = lines.world.now + Span::from_micros(rng.below(4000));
                    lines.run(until);
                }
                _ => {
                    let hows = [Participation::Active, Participation::Held, Participation::Absent];
                    lines.world.take_part(leg, pick(&mut rng, &hows));
                    lines.kick();
                }
            }
        }
        legs.iter().for_each(|leg| lines.world.take_part(*leg, Participation::Active));
        lines.drain();
        assert_eq!(lines.world.switch.pool().packets, 0);
    }
}
