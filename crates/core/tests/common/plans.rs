//! Plans drawn at random: trees at most three deep, with everything that a plan can hold.

use super::{every_scheduler, pick, rate};
use tidegate_core::contract::Contract;
use tidegate_core::dropper::drop_tail::DropTailParams;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::meter::flow_monitor::{FlowMonitorParams, MonitorExcess};
use tidegate_core::meter::policer::{PolicerExcess, PolicerParams};
use tidegate_core::meter::{BuiltInMeter, MeterKind};
use tidegate_core::params::{Limit, NamedPolicy, PolicyParams};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{
    ClassPlan, DropperPlan, FlowPlan, MAX_METERS, PacketSizes, PortPlan, Scope, SwitchPlan,
};
use tidegate_core::units::{Rate, Span, Time};

fn any_rate(rng: &mut Rng) -> Rate {
    rate(pick(rng, &[64_000, 1_000_000, 333_333, 4_000_000, 20_000_000]))
}

fn scheduler(rng: &mut Rng, of: &[SchedulerKind]) -> SchedulerKind {
    of[rng.below(of.len() as u64) as usize].clone()
}

fn contract(rng: &mut Rng) -> Contract {
    let reserve = rng.chance(0.8).then(|| any_rate(rng));
    let contract = Contract {
        reserve,
        interval: rng.chance(0.5).then(|| Span::from_millis(1 + rng.below(200))),
        head_start: Span::from_millis(rng.below(3) * 50),
        priority: rng.below(8) as u8,
        workahead: rng.chance(0.5).then(|| 1_500 * (1 + rng.below(64) as u32)),
        peak: reserve.filter(|_| rng.chance(0.5)).map(|reserve| reserve.max(any_rate(rng))),
        deadline: rng.chance(0.5).then(|| Span::from_millis(1 + rng.below(100))),
        excess_burst: rng.chance(0.5).then(|| 1_500 * (1 + rng.below(64) as u32)),
        peak_burst: rng.chance(0.5).then(|| 1_500 * (1 + rng.below(64) as u32)),
        host: None,
        peer: None,
    };
    Contract { host: contract.priority.checked_sub(4).map(|host| u32::from(host / 2)), ..contract }
}

/// The flow monitor, which may also refuse packets.
pub fn monitor(excess: MonitorExcess) -> MeterKind {
    let params = FlowMonitorParams { excess, ..FlowMonitorParams::example() };
    MeterKind::BuiltIn(BuiltInMeter::FlowMonitor(params))
}

fn ceiling(rng: &mut Rng) -> Option<Rate> {
    rng.chance(0.3).then(|| any_rate(rng))
}

pub fn drop_tail(limit: Limit) -> DropperKind {
    DropperKind::BuiltIn(BuiltInDropper::DropTail(DropTailParams { limit, marked: None }))
}

const LIMITS: [Limit; 3] = [Limit::Packets(5), Limit::Packets(30), Limit::Bytes(9000)];

/// Droppers without memory of the past.
pub fn drop_tails() -> Vec<DropperKind> {
    LIMITS.into_iter().map(drop_tail).collect()
}

fn dropper(rng: &mut Rng) -> Option<DropperPlan> {
    let limit = pick(rng, &LIMITS);
    let scope = pick(rng, &[Scope::Node, Scope::Node, Scope::Flow]);
    rng.chance(0.3).then(|| DropperPlan { kind: drop_tail(limit), scope, detector: None })
}

/// Every built-in dropper.
pub fn droppers() -> Vec<DropperKind> {
    DropperKind::examples()
}

/// The plan with these droppers wherever it has one.
pub fn with_droppers(rng: &mut Rng, mut plan: SwitchPlan, of: &[DropperKind]) -> SwitchPlan {
    for port in &mut plan.ports {
        let classes = port.classes.iter_mut().map(|class| &mut class.dropper);
        for dropper in classes.chain([&mut port.dropper]).flatten() {
            dropper.kind = of[rng.below(of.len() as u64) as usize].clone();
        }
    }
    plan
}

/// Any meter, also one that refuses packets.
fn meters(rng: &mut Rng) -> Vec<MeterKind> {
    let policer = |excess| BuiltInMeter::Policer(PolicerParams { excess });
    let mut kinds = BuiltInMeter::examples();
    kinds.push(policer(PolicerExcess::Mark));
    let mut every: Vec<MeterKind> = kinds.into_iter().map(MeterKind::BuiltIn).collect();
    every.push(monitor(MonitorExcess::Drop));
    let drawn = every.swap_remove(rng.below(every.len() as u64) as usize);
    rng.chance(0.3).then_some(drawn).into_iter().collect()
}

/// Every built-in scheduler, for plans drawn at random: a frame of slots divides more than the link
/// has, so that some slots are left to flows without a reservation.
pub fn schedulers() -> Vec<SchedulerKind> {
    let mut every = every_scheduler();
    for kind in &mut every {
        if let SchedulerKind::BuiltIn(BuiltInScheduler::Tdm(params)) = kind {
            (params.rate, params.slots) = (Some(rate(10_100_000)), 512);
        }
    }
    every
}

fn port(rng: &mut Rng, of: &[SchedulerKind]) -> PortPlan {
    let root = scheduler(rng, of);
    let mut classes: Vec<ClassPlan> = Vec::new();
    for ix in 0..rng.below(6) {
        // A parent must be a class below the root: three schedulers on the way at most.
        let parent = rng.below(ix + 1).checked_sub(1).map(|parent| parent as u16);
        let parent = parent.filter(|parent| classes[usize::from(*parent)].parent.is_none());
        let (mut own, contract, ceiling) = (scheduler(rng, of), contract(rng), ceiling(rng));
        let above = parent.map_or(&root, |parent| &classes[usize::from(parent)].scheduler);
        while own.record().is_slotted() && (above.record().is_slotted() || root.record().is_slotted()) {
            own = scheduler(rng, of);
        }
        let (meters, dropper) = (meters(rng), dropper(rng));
        classes.push(ClassPlan { parent, contract, ceiling, meters, dropper, ..ClassPlan::new(own) });
    }
    let (dropper, meters) = (dropper(rng), meters(rng));
    let profiles = (0..rng.below(3)).map(|_| contract(rng)).collect();
    let rate = Some(rate(10_000_000));
    PortPlan { scheduler: root, classes, meters, profiles, dropper, ceiling: ceiling(rng), rate }
}

/// A plan whose classes get their promises, with these schedulers.
pub fn switch(rng: &mut Rng, ports: usize, of: &[SchedulerKind]) -> SwitchPlan {
    loop {
        let buffer = match rng.below(3) {
            0 => None,
            1 => Some(Limit::Packets(1 + rng.below(60))),
            _ => Some(Limit::Bytes(2000 + rng.below(60_000))),
        };
        let plan = SwitchPlan {
            ports: (0..ports).map(|_| port(rng, of)).collect(),
            buffer,
            ..SwitchPlan::default()
        };
        if Switch::new(Time::ORIGIN, &plan).is_ok() {
            return plan;
        }
    }
}

fn sizes(rng: &mut Rng) -> PacketSizes {
    let smallest = 40 + rng.below(1_000) as u32;
    PacketSizes { smallest, largest: smallest + rng.below(500) as u32 }
}

/// A flow in one of the port's classes, or at its root.
pub fn flow(rng: &mut Rng, port: &PortPlan) -> FlowPlan {
    let class = rng.below(port.classes.len() as u64 + 1).checked_sub(1).map(|class| class as u16);
    let queue = pick(rng, &[None, Some(Limit::Packets(4))]);
    let shaper = ShaperPlan {
        rate: any_rate(rng),
        burst: pick(rng, &[500, 1500, 6000]),
        peak: rng.chance(0.3).then_some(rate(40_000_000)),
        queue,
        excess: pick(rng, &[Excess::Wait, Excess::Drop, Excess::Mark]),
        calendar: None,
    };
    let shaper = rng.chance(0.3).then_some(shaper);
    let shared = |rng: &mut Rng| rng.below(port.profiles.len() as u64 + 1).checked_sub(1).map(|ix| ix as u16);
    let mut profiles = [None; MAX_METERS];
    profiles[0] = shared(rng);
    FlowPlan {
        class,
        contract: contract(rng),
        sizes: rng.chance(0.7).then(|| sizes(rng)),
        ceiling: ceiling(rng),
        shaper,
        profiles,
        transient: rng.chance(0.2),
        spared: None,
    }
}
