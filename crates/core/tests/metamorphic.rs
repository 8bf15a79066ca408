//! Transformations that must not change the order of service, for every built-in scheduler, alone
//! and in a tree: the start of the clock, the speed of everything, the size of the units, the
//! numbering of the flows, and a call through `dyn`.

mod common;

use common::{World, every_scaled_scheduler, every_scheduler, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::meter::flow_monitor::MonitorExcess;
use tidegate_core::packet::Leg;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{Participation, RECORDS, SchedulerKind};
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const FLOWS: usize = 6;
/// Every time in a script is a multiple of this many ticks, so that it can be divided.
const GRAIN: u64 = 50_000_000;
/// Whole numbers of ticks a byte, also five thousand times faster.
const RATES: &[u64] = &[80_000, 160_000, 320_000, 800_000];

#[derive(Clone, Copy)]
enum Event {
    /// Arrival of a packet: flow, and length in hundreds of bytes.
    Arrive(usize, u32),
    Send,
    Wait(u64),
    TakePart(usize, Participation),
}

struct Script {
    contracts: Vec<(Option<u64>, u8)>,
    events: Vec<Event>,
}

impl Script {
    fn new(seed: u64) -> Script {
        let mut rng = Rng::named(seed, "script");
        let contracts = (0..FLOWS)
            .map(|_| (rng.chance(0.8).then(|| pick(&mut rng, RATES)), rng.below(3) as u8))
            .collect();
        let events = (0..500)
            .map(|_| {
                let flow = rng.below(FLOWS as u64) as usize;
                match rng.below(20) {
                    0..10 => Event::Arrive(flow, pick(&mut rng, &[1, 2, 5, 5, 10])),
                    10..16 => Event::Send,
                    16..19 => Event::Wait(rng.below(8)),
                    _ => Event::TakePart(
                        flow,
                        pick(
                            &mut rng,
                            &[
                                Participation::Active,
                                Participation::Active,
                                Participation::Held,
                                Participation::Absent,
                            ],
                        ),
                    ),
                }
            })
            .collect();
        Script { contracts, events }
    }
}

/// Setting of a run of the script.
#[derive(Clone)]
struct How {
    start: Time,
    faster: u64,
    larger: u32,
    numbers: [usize; FLOWS],
    scheduler: SchedulerKind,
    /// The scheduler of the classes.
    within: SchedulerKind,
    in_tree: bool,
    buffer: u64,
}

impl How {
    fn plainly(scheduler: SchedulerKind, in_tree: bool, buffer: u64) -> How {
        How {
            start: Time::ORIGIN,
            faster: 1,
            larger: 1,
            numbers: [0, 1, 2, 3, 4, 5],
            within: scheduler.clone(),
            scheduler,
            in_tree,
            buffer,
        }
    }

    /// Makes packets `larger` times as large and everything `faster` times as fast, including the
    /// setting of the scheduler with this index.
    fn scale(&mut self, ix: usize, larger: u32, faster: u64) {
        (self.larger, self.faster) = (larger, faster);
        self.scheduler = every_scaled_scheduler(u64::from(larger), faster).swap_remove(ix);
        self.within =
            if self.scheduler.record().is_slotted() { kind("fifo") } else { self.scheduler.clone() };
    }

    /// A span of this many grains of time.
    fn span(&self, grains: u64) -> Span {
        Span::from_ticks(grains * GRAIN / self.faster)
    }

    fn rate(&self, bits: u64) -> tidegate_core::units::Rate {
        rate(bits * self.faster * u64::from(self.larger))
    }

    /// The bodies sent, and those pushed out.
    fn run(&self, script: &Script) -> (Vec<u32>, Vec<u32>) {
        let class = |ix: u64| ClassPlan {
            contract: Contract { reserve: Some(self.rate(320_000 * (ix + 1))), ..Contract::default() },
            ..ClassPlan::new(self.within.clone())
        };
        let classes = if self.in_tree { vec![class(0), class(1)] } else { Vec::new() };
        let meters = vec![common::plans::monitor(MonitorExcess::Drop)];
        let rate = Some(self.rate(16_000_000));
        let port = PortPlan { classes, meters, rate, ..PortPlan::new(self.scheduler.clone()) };
        let buffer = Some(Limit::Packets(self.buffer));
        let mut world =
            World::starting(self.start, &SwitchPlan { ports: vec![port], buffer, ..SwitchPlan::default() });
        let mut legs: Vec<Option<Leg>> = vec![None; FLOWS];
        for flow in self.numbers {
            let (reserve, level) = script.contracts[flow];
            let contract = Contract {
                reserve: reserve.map(|bits| self.rate(bits)),
                // Some flows are monitored and policed, some have a head start.
                interval: flow.is_multiple_of(2).then(|| self.span(40 * (flow as u64 + 1))),
                head_start: self.span(7 * (flow as u64 % 3)),
                priority: level,
                workahead: (flow % 3 == 1).then_some(9_000 * (flow as u32 + 1) * self.larger),
                peak: reserve.filter(|_| flow % 3 > 0).map(|bits| self.rate(4 * bits)),
                deadline: (flow % 4 < 3).then(|| self.span(30 * (flow as u64 + 1))),
                ..Contract::default()
            };
            let class = self.in_tree.then_some(flow as u16 % 2);
            legs[flow] = Some(world.open(0, &FlowPlan { class, contract, ..FlowPlan::default() }));
        }
        let leg = |flow: usize| legs[flow].unwrap();
        let mut sent = Vec::new();
        for event in &script.events {
            match *event {
                Event::Arrive(flow, hundreds) => _ = world.arrive(&[leg(flow)], hundreds * 100 * self.larger),
                Event::Send => sent.extend(send(&mut world)),
                Event::Wait(grains) => world.wait(self.span(grains)),
                Event::TakePart(flow, gate) => world.take_part(leg(flow), gate),
            }
        }
        (0..FLOWS).for_each(|flow| world.take_part(leg(flow), Participation::Active));
        sent.extend(std::iter::from_fn(|| send(&mut world)));
        let dropped = world.dropped().into_iter().map(|(body, ..)| body).collect();
        (sent, dropped)
    }
}

/// The body that is sent next.
fn send(world: &mut World) -> Option<u32> {
    Some(world.send_next(0)?.body.0)
}

/// Every scheduler, flat and in a tree, with and without push-out: the changed run is the plain
/// one.
fn changes_nothing(change: impl Fn(&mut How, usize, &mut Rng)) {
    let mut policed = 0;
    for (ix, scheduler) in every_scheduler().into_iter().enumerate() {
        for (in_tree, buffer) in [(false, 1000), (false, 12), (true, 1000), (true, 12)] {
            for seed in 0..rounds(8) {
                let script = Script::new(seed);
                let mut plain = How::plainly(scheduler.clone(), in_tree, buffer);
                if scheduler.record().is_slotted() {
                    // Slots within slots are refused.
                    plain.within = kind("fifo");
                }
                let mut changed = plain.clone();
                change(&mut changed, ix, &mut Rng::named(seed, "change"));
                let (plain, changed) = (plain.run(&script), changed.run(&script));
                assert!(buffer == 1000 || !plain.1.is_empty());
                policed += u64::from(buffer == 1000 && !plain.1.is_empty());
                assert_eq!(plain, changed, "{:?}, in a tree: {in_tree}, seed {seed}", RECORDS[ix].name);
            }
        }
    }
    assert!(policed > 20, "{policed}");
}

#[test]
fn starting_later_changes_no_order() {
    changes_nothing(|how, _, rng| {
        how.start = Time::ORIGIN + Span::from_ticks(rng.below(1 << 40));
    });
    changes_nothing(|how, _, _| how.start = Time::ORIGIN + Span::from_secs(9 * 86_400));
    changes_nothing(|how, _, _| how.start = Time::ORIGIN + Span::from_secs(5 * 365 * 86_400));
}

#[test]
fn a_thousand_times_faster_changes_no_order() {
    changes_nothing(|how, ix, _| {
        // Virtual time of WFQ's fluid server is rounded to a tick, which decides between packets
        // whose tags would be equal, and a tick is not scaled.
        if RECORDS[ix].name != "wfq" {
            how.scale(ix, 1, 1000);
        }
    });
}

#[test]
fn larger_packets_at_higher_rates_change_no_order() {
    changes_nothing(|how, ix, _| how.scale(ix, 5, 1));
}

#[test]
fn renaming_flows_changes_no_order() {
    // Slots are laid out in the order in which flows are set up.
    changes_nothing(|how, _, _| {
        if !how.scheduler.record().is_slotted() {
            how.numbers.reverse();
        }
    });
    changes_nothing(|how, _, rng| {
        for ix in (1..FLOWS).rev() {
            if !how.scheduler.record().is_slotted() {
                how.numbers.swap(ix, rng.below(ix as u64 + 1) as usize);
            }
        }
    });
}

#[test]
fn calling_through_dyn_changes_no_order() {
    changes_nothing(|how, _, _| {
        let built_in = how.scheduler.clone();
        let built_in_slots = built_in.record().is_slotted();
        how.scheduler = how.scheduler.made_by(move || Box::new(built_in.build().unwrap()));
        how.within = if built_in_slots { kind("fifo") } else { how.scheduler.clone() };
    });
}

/// The scripts have ties: packets with equal stamps, of different flows.
#[test]
fn scripts_have_ties() {
    let mut ties = 0;
    for seed in 0..4 {
        let script = Script::new(seed);
        let mut clocks = [Time::ORIGIN; FLOWS];
        let (mut now, mut stamps) = (Time::ORIGIN, Vec::new());
        for event in &script.events {
            match *event {
                Event::Arrive(flow, hundreds) => {
                    if let Some(bits) = script.contracts[flow].0 {
                        clocks[flow] = clocks[flow].max(now) + rate(bits).time_for(hundreds * 100);
                        stamps.push(clocks[flow]);
                    }
                }
                Event::Wait(grains) => now += Span::from_ticks(grains * GRAIN),
                _ => {}
            }
        }
        let all = stamps.len();
        stamps.sort();
        stamps.dedup();
        ties += all - stamps.len();
    }
    assert!(ties > 50, "{ties}");
}
