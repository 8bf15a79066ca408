//! A scheduler that does its own work: WF²Q+, whose eligible set moves with time.

use crate::common::lines::Lines;
use crate::common::{World, kind, pick, rate, rounds};
use crate::toy::toy;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{Role, Service};
use tidegate_core::queues::Queues;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

/// WF²Q+ (Bennett and Zhang 1997): among the packets that would have started in the fluid system,
/// the one that would end first. Reservations are weights.
#[derive(Default)]
pub struct Wf2qPlus {
    rate: Option<Rate>,
    virtual_time: u64,
    as_of: Option<Time>,
    weights: Vec<u64>,
    /// Virtual start and finish of each flow's first packet.
    spans: Vec<(u64, u64)>,
}
impl Wf2qPlus {
    fn time_for(&self, flow: FlowIx, queues: &Queues) -> u64 {
        let len = queues.first(flow).map_or(0, |first| first.packet.len);
        self.rate.unwrap().time_for(len).ticks() * self.weights.iter().sum::<u64>() / self.weights[flow.ix()]
    }
    fn backlogged(queues: &Queues) -> impl Iterator<Item = FlowIx> {
        (0..queues.flows()).map(FlowIx).filter(|flow| queues.takes_part(*flow) && queues.len(*flow) > 0)
    }
}
impl Scheduler for Wf2qPlus {
    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.rate = rate;
    }
    fn set_flow(&mut self, _: Time, flow: FlowIx, terms: &Contract, _: &Queues) -> Result<(), Refused> {
        let size = self.weights.len().max(flow.ix() + 1);
        self.weights.resize(size, 1);
        self.spans.resize(size, (0, 0));
        self.weights[flow.ix()] = terms.reserve.map_or(1, |rate| rate.bits_per_second().round() as u64);
        Ok(())
    }
    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }
    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.advance(cx.now, queues);
        if queues.len(packet.flow) == 0 {
            let start = self.virtual_time.max(self.spans[packet.flow.ix()].1);
            let weights = self.weights.iter().sum::<u64>();
            let time = self.rate.unwrap().time_for(packet.len).ticks() * weights;
            self.spans[packet.flow.ix()] = (start, start + time / self.weights[packet.flow.ix()]);
        }
    }
    fn advance(&mut self, now: Time, queues: &Queues) {
        self.virtual_time += now.since(self.as_of.replace(now).unwrap_or(now)).ticks();
        let least = Wf2qPlus::backlogged(queues).map(|flow| self.spans[flow.ix()].0).min();
        self.virtual_time = self.virtual_time.max(least.unwrap_or(0));
    }
    fn select(&self, _: Time, queues: &Queues) -> Select {
        let eligible = |flow: &FlowIx| self.spans[flow.ix()].0 <= self.virtual_time;
        let flows = Wf2qPlus::backlogged(queues).filter(eligible);
        flows.min_by_key(|flow| self.spans[flow.ix()].1).map_or(Select::Idle, Select::Flow)
    }
    fn dequeued(&mut self, _: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        if queues.len(packet.flow) > 0 {
            let start = self.spans[packet.flow.ix()].1;
            self.spans[packet.flow.ix()] = (start, start + self.time_for(packet.flow, queues));
        }
    }
    fn removed(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Queues, _: Removal) {}
    fn take_part(&mut self, _: Time, _: FlowIx, _: Participation, _: &Queues) {}
    fn memory(&self) -> usize {
        0
    }
}

toy!(Wf2qPlusParams makes Wf2qPlus: "toy-wf2q-plus", Role::Scheduler { service: Service::WorkConserving });

/// Worst-case fairness (Bennett and Zhang 1997, theorem 4): while a class has packets it is never
/// more than a packet behind its share of the link by weight. Where all classes begin at once, that
/// share is the fluid system's, and none is more than a packet ahead of it either. So it is for one
/// written outside the crate, and for the one inside.
#[test]
fn wf2q_plus_above_classes_is_worst_case_fair() {
    worst_case_fair_above_classes(&SchedulerKind::outside(Wf2qPlusParams {}));
    worst_case_fair_above_classes(&kind("wf2q-plus"));
}

fn worst_case_fair_above_classes(scheduler: &SchedulerKind) {
    const LEN: u32 = 1500;
    let link = rate(12_000_000);
    for seed in 0..rounds(6) {
        let mut rng = Rng::named(seed, "wf2q+");
        // One class with half of the link, and ten that share the rest; each begins at a random
        // time.
        let weights: Vec<u64> = (0..11).map(|ix| if ix == 0 { 10_000 } else { 1_000 }).collect();
        let later: &[u64] = if seed % 2 == 0 { &[0] } else { &[0, 0, 3, 20] };
        let begins: Vec<u64> = weights.iter().map(|_| pick(&mut rng, later)).collect();
        let class = |weight: &u64| ClassPlan {
            contract: Contract { reserve: Some(rate(*weight)), ..Contract::default() },
            ..ClassPlan::new(kind("fifo"))
        };
        let classes = weights.iter().map(class).collect();
        let port = PortPlan { classes, rate: Some(link), ..PortPlan::new(scheduler.clone()) };
        let mut lines = Lines::new(
            World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() }),
            &[link],
        );
        lines.world.audited = false;
        let in_class = |class: usize| FlowPlan { class: Some(class as u16), ..FlowPlan::default() };
        let legs: Vec<_> = (0..11).map(|class| lines.world.open(0, &in_class(class))).collect();
        let (sum, mut share, mut had) = (weights.iter().sum::<u64>() as f64, vec![0.0; 11], vec![0.0; 11]);
        for milli in 0..200 {
            for class in (0..11).filter(|class| begins[*class] == milli) {
                (0..400).for_each(|_| _ = lines.world.arrive(&[legs[class]], LEN));
            }
            for class in (0..11).filter(|class| begins[*class] <= milli) {
                share[class] += f64::from(LEN) * weights[class] as f64 / sum;
            }
            let until = Time::ORIGIN + Span::from_millis(milli + 1);
            lines.run(Time::from_ticks(until.ticks() - 1));
            had.fill(0.0);
            lines.sent.iter().for_each(|sent| had[sent.packet.flow.ix()] += f64::from(LEN));
            for class in 0..11 {
                let ahead = (had[class] - share[class]) / f64::from(LEN);
                assert!(ahead >= -1.0 - 1e-9, "seed {seed}, {milli} ms, class {class}: {ahead}");
                assert!(
                    seed % 2 == 1 || ahead <= 1.0 + 1e-9,
                    "seed {seed}, {milli} ms, class {class}: {ahead}"
                );
            }
        }
    }
}
