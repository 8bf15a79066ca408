//! The flow monitor and its synchronisation with the scheduler, by the paper's rule and by the
//! default, against an oracle that is the paper's text (Zhang 1991, section 3.1) with "real time −
//! P" for "real time", in whole ticks.

mod common;

use common::plans::monitor;
use common::{World, kind, pick, rate, rounds};
use std::collections::BTreeMap;
use tidegate_core::context::{Effect, Finding};
use tidegate_core::contract::Contract;
use tidegate_core::meter::flow_monitor::{FlowMonitorParams, MonitorExcess, Occasion};
use tidegate_core::meter::{BuiltInMeter, MeterKind};
use tidegate_core::packet::Leg;
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::virtual_clock::{Synchronise, VirtualClockParams};
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};

/// Whole numbers of ticks a byte.
const RATES: &[u64] = &[1_000_000, 2_000_000, 500_000, 4_000_000];
const NEVER: i128 = i128::MAX;

fn contract(rng: &mut Rng) -> Contract {
    let reserve = rng.chance(0.85).then(|| rate(pick(rng, RATES)));
    let interval = rng.chance(0.9).then(|| Span::from_millis(1 + rng.below(60)));
    let head_start = if rng.chance(0.3) { Span::from_millis(rng.below(40)) } else { Span::ZERO };
    Contract { reserve, interval, head_start, ..Contract::default() }
}

/// A flow as the paper has it.
struct Flow {
    contract: Contract,
    virtual_clock: i128,
    aux_vc: i128,
    received: u64,
    seen: bool,
    refused: bool,
    checks: u64,
    warnings: u64,
    /// VirtualClock after a check that has not yet set auxVC back, and the number of times that the
    /// queue had been empty by then.
    unsynchronised: Option<(i128, u64)>,
}

#[derive(Default)]
struct Oracle {
    flows: Vec<Flow>,
    /// By stamp, then by arrival: the flow and the body.
    queue: BTreeMap<(i128, u64), (usize, u32)>,
    /// The stamp of the packet on the link.
    sending: Option<i128>,
    arrivals: u64,
    polices: bool,
    synchronised: u64,
    /// True if clocks are set back as in the text, rather than once no stamp waits.
    by_text: bool,
    /// Number of times that the queue has become empty, or a datagram was sent.
    emptied: u64,
}

impl Oracle {
    /// Returns true if the packet is admitted, and the lead of which its flow is warned.
    fn arrive(&mut self, now: Time, ix: usize, len: u32, body: u32) -> (bool, Option<i128>) {
        self.arrivals += 1;
        let flow = &mut self.flows[ix];
        let Contract { reserve, interval, head_start, .. } = flow.contract;
        let real = i128::from(now.ticks()) - i128::from(head_start.ticks());
        let mut stamp = NEVER;
        let (mut admitted, mut warned) = (true, None);
        if let Some(reserve) = reserve {
            let vtick = i128::from(reserve.time_for(len).ticks());
            if !flow.seen {
                (flow.virtual_clock, flow.aux_vc, flow.seen) = (real, real, true);
            }
            if let Some(interval) = interval {
                let threshold = i128::from(interval.ticks());
                let air = ((reserve.bits_per_second() * interval.as_secs_f64() / 8.0).round() as u64).max(1);
                admitted = !self.polices || flow.virtual_clock + vtick - real <= threshold;
                let vtick = if admitted { vtick } else { 0 };
                flow.virtual_clock += vtick;
                flow.received += u64::from(len);
                flow.refused |= !admitted;
                if flow.received >= air {
                    flow.received %= air;
                    flow.checks += 1;
                    let lead = flow.virtual_clock - real;
                    if lead > threshold || flow.refused {
                        warned = Some(lead.max(0));
                        flow.warnings += 1;
                    }
                    flow.refused = false;
                    flow.virtual_clock = flow.virtual_clock.max(real);
                    if !self.by_text && !self.queue.is_empty() {
                        flow.unsynchronised = Some((flow.virtual_clock - vtick, self.emptied));
                    } else if !self.by_text || self.sending.is_none_or(|sending| sending > flow.aux_vc) {
                        flow.unsynchronised = None;
                        let queued = self.queue.iter().filter(|(_, (of, _))| *of == ix);
                        let last = queued.map(|((stamp, _), _)| *stamp).max().unwrap_or(0);
                        let before = flow.aux_vc;
                        flow.aux_vc = (flow.virtual_clock - vtick).max(last);
                        self.synchronised += u64::from(before.max(real) > flow.aux_vc.max(real));
                    }
                }
            }
            if admitted {
                if let Some((virtual_clock, emptied)) = &mut flow.unsynchronised {
                    if *emptied == self.emptied {
                        *virtual_clock += vtick;
                    } else {
                        self.synchronised += u64::from(flow.aux_vc.max(real) > (*virtual_clock).max(real));
                        flow.aux_vc = *virtual_clock;
                        flow.unsynchronised = None;
                    }
                }
                flow.aux_vc = real.max(flow.aux_vc) + vtick;
                stamp = flow.aux_vc;
            }
        }
        if admitted {
            self.queue.insert((stamp, self.arrivals), (ix, body));
        }
        (admitted, warned)
    }

    fn start(&mut self) -> Option<u32> {
        let ((stamp, _), (_, body)) = self.queue.pop_first()?;
        self.sending = Some(stamp);
        self.emptied += u64::from(self.queue.is_empty() || stamp == NEVER);
        Some(body)
    }
}

struct Twins {
    world: World,
    oracle: Oracle,
    legs: Vec<Leg>,
    link: Rate,
    free_at: Option<Time>,
    served: Vec<u32>,
}

impl Twins {
    fn new(polices: bool, by_text: bool, link: u64) -> Twins {
        let meters = vec![monitor(if polices { MonitorExcess::Drop } else { MonitorExcess::Warn })];
        let synchronise = if by_text { Synchronise::LaterStamp } else { Synchronise::EmptyQueue };
        let params = VirtualClockParams { synchronise, ..VirtualClockParams::example() };
        let scheduler = SchedulerKind::BuiltIn(BuiltInScheduler::VirtualClock(params));
        let port = PortPlan { meters, ..PortPlan::new(scheduler) };
        let world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
        let oracle = Oracle { polices, by_text, ..Oracle::default() };
        Twins { world, oracle, legs: Vec::new(), link: rate(link), free_at: None, served: Vec::new() }
    }

    fn open(&mut self, contract: Contract) {
        self.legs.push(self.world.open(0, &FlowPlan { contract, ..FlowPlan::default() }));
        self.oracle.flows.push(Flow {
            contract,
            virtual_clock: 0,
            aux_vc: 0,
            received: 0,
            seen: false,
            refused: false,
            checks: 0,
            warnings: 0,
            unsynchronised: None,
        });
    }

    /// Runs the link until `until`.
    fn run(&mut self, until: Time) {
        loop {
            match self.free_at {
                Some(at) if at <= until => {
                    self.world.now = at;
                    self.world.finish(0);
                    (self.free_at, self.oracle.sending) = (None, None);
                    self.start();
                }
                _ => break,
            }
        }
        self.world.now = until;
    }

    fn start(&mut self) {
        if self.free_at.is_some() {
            return;
        }
        let packet = self.world.start(0);
        assert_eq!(packet.map(|packet| packet.body.0), self.oracle.start());
        if let Some(packet) = packet {
            self.free_at = Some(self.world.now + self.link.time_for(packet.len));
            self.served.push(packet.body.0);
        }
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        let body = self.world.arrive(&[self.legs[flow]], len);
        let (admitted, warned) = self.oracle.arrive(self.world.now, flow, len, body);
        let mut seen = (true, None);
        for effect in self.world.out.drain(..) {
            match effect {
                Effect::Dropped { packet, .. } => {
                    assert_eq!(packet.body.0, body);
                    seen.0 = false;
                }
                Effect::Finding { flow: of, body: at, finding: Finding::Ahead(lead), .. } => {
                    assert_eq!((of, at.0), (self.legs[flow].flow, body));
                    seen.1 = Some(i128::from(lead.ticks()));
                }
                _ => {}
            }
        }
        assert_eq!(seen, (admitted, warned));
        self.start();
    }

    fn check(&self) {
        for (leg, flow) in self.legs.iter().zip(&self.oracle.flows) {
            let monitored = flow.contract.reserve.is_some() && flow.contract.interval.is_some();
            let metered = self.world.switch.metered(*leg);
            assert_eq!(metered.is_some(), monitored);
            if let Some(metered) = metered {
                assert_eq!((metered.checks, metered.warnings), (flow.checks, flow.warnings));
            }
        }
    }
}

/// Long random workloads, from idle to overloaded, with bursts, silences, priorities and datagrams.
#[test]
fn order_warnings_and_refusals_are_those_of_the_text() {
    for by_text in [true, false] {
        compare(by_text);
    }
}

fn compare(by_text: bool) {
    let (mut warnings, mut refusals, mut synchronised) = (0, 0, 0);
    for polices in [false, true] {
        for seed in 0..rounds(20) {
            let mut rng = Rng::named(seed, "flow monitor");
            let mut twins =
                Twins::new(polices, by_text, pick(&mut rng, &[4_000_000, 10_000_000, 40_000_000]));
            for _ in 0..2 + rng.below(8) {
                twins.open(contract(&mut rng));
            }
            let sizes: &[u32] = pick(&mut rng, &[&[250], &[40, 250, 1500]]);
            for _ in 0..800 {
                let flow = rng.below(twins.legs.len() as u64) as usize;
                let most = pick(&mut rng, &[1, 1, 12]);
                for _ in 0..=rng.below(most) {
                    twins.arrive(flow, pick(&mut rng, sizes));
                }
                let gap = pick(&mut rng, &[0, 100, 500, 500, 3000, 30_000]);
                let until = twins.world.now + Span::from_micros(rng.below(gap + 1));
                twins.run(until);
            }
            twins.run(twins.world.now + Span::from_secs(100));
            twins.check();
            warnings += twins.oracle.flows.iter().map(|flow| flow.warnings).sum::<u64>();
            refusals += twins.oracle.arrivals - twins.served.len() as u64;
            synchronised += twins.oracle.synchronised;
        }
    }
    // The workloads exercise the test's cases.
    assert!(warnings > 1000 && refusals > 1000 && synchronised > 200, "{warnings} {refusals} {synchronised}");
}

fn with(params: FlowMonitorParams) -> MeterKind {
    MeterKind::BuiltIn(BuiltInMeter::FlowMonitor(params))
}

/// Times of the warnings of a flow of constant rate, at `times` times its reservation, under a
/// meter; the reservation is 12 packets of 250 bytes in 1.2 seconds.
fn warned_at(meter: MeterKind, times: u64, packets: u32) -> Vec<Time> {
    let port = PortPlan { meters: vec![meter], ..PortPlan::new(kind("virtual-clock")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    world.audited = false;
    let contract = Contract {
        reserve: Some(rate(20_000)),
        interval: Some(Span::from_millis(1200)),
        ..Contract::default()
    };
    let leg = world.open(0, &FlowPlan { contract, ..FlowPlan::default() });
    let mut warned = Vec::new();
    for _ in 0..packets {
        world.arrive(&[leg], 250);
        world.send(0);
        let now = world.now;
        warned.extend(
            world.out.drain(..).filter(|effect| matches!(effect, Effect::Finding { .. })).map(|_| now),
        );
        world.wait(Span::from_micros(100_000 / times));
    }
    warned
}

/// Section 3.2.3: counting data notices a fast sender sooner than waiting for an interval's end,
/// and in proportion to its speed.
#[test]
fn checks_by_data_notice_a_fast_sender_sooner_than_checks_by_time() {
    let since_start = |at: &Time| at.since(Time::ORIGIN).as_secs_f64();
    let by_data = warned_at(monitor(MonitorExcess::Warn), 5, 200);
    let by_time =
        warned_at(with(FlowMonitorParams { check: Occasion::Time, ..FlowMonitorParams::example() }), 5, 200);
    // By data: the 24th packet is the first at a check with a lead of 24 ticks less 23 fifths.
    assert_eq!(since_start(&by_data[0]), 23.0 * 0.02);
    // By time: the first packet after 1.2 s.
    assert!((1.2..1.23).contains(&since_start(&by_time[0])), "{:?}", by_time[0]);
    // From then on, every twelve packets against every interval.
    assert_eq!(by_data.len(), 200 / 12 - 1);
    assert_eq!(by_time.len(), 3);
    assert!(
        warned_at(monitor(MonitorExcess::Warn), 1, 2000).is_empty(),
        "a flow that keeps its rate is not warned"
    );
}

#[test]
fn the_threshold_can_be_set() {
    let beyond =
        |threshold| with(FlowMonitorParams { threshold: Some(threshold), ..FlowMonitorParams::example() });
    assert_eq!(warned_at(beyond(Span::from_millis(100)), 5, 24).len(), 2);
    assert!(warned_at(beyond(Span::from_secs(1000)), 5, 1000).is_empty());
}

/// A closed flow's index goes to another one only when its clock has come back, and then as new.
#[test]
fn a_newcomer_inherits_nothing() {
    let port =
        PortPlan { meters: vec![monitor(MonitorExcess::Warn)], ..PortPlan::new(kind("virtual-clock")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], buffer: None, ..SwitchPlan::default() });
    let contract = Contract {
        reserve: Some(rate(20_000)),
        interval: Some(Span::from_millis(1200)),
        ..Contract::default()
    };
    let plan = FlowPlan { contract, ..FlowPlan::default() };
    let first = world.open(0, &plan);
    for _ in 0..30 {
        world.arrive(&[first], 250);
        world.send(0);
    }
    world.close(first);
    world.wait(Span::from_millis(2999));
    assert_ne!(world.open(0, &plan), first, "3 s ahead");
    world.wait(Span::from_millis(1));
    let again = world.open(0, &plan);
    assert_eq!(again, first);
    let metered = world.switch.metered(again).unwrap();
    assert_eq!((metered.checks, metered.warnings, metered.virtual_clock.ticks()), (0, 0, 0));
}
