//! Flows that packets open, and that are closed when they are idle.

#[path = "../common/mod.rs"]
mod common;

mod circuits;
mod hosts;
mod slots;

use common::{kind, rate};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::headers::Headers;
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::{Rule, Split, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const PORT: PortIx = PortIx(0);

/// A switch with one port and its steering, and a clock.
struct Bench {
    now: Time,
    switch: Switch,
    steering: Steering,
    rng: Rng,
}

fn plan() -> SwitchPlan {
    let ports = vec![PortPlan::new(kind("virtual-clock"))];
    SwitchPlan { ports, buffer: None, ..SwitchPlan::default() }
}

impl Bench {
    fn new(rules: Vec<Rule>, most: usize) -> Bench {
        let now = Time::ORIGIN;
        let mut switch = Switch::new(now, &plan()).unwrap();
        let steering =
            Steering::new(now, &mut switch, PORT, Direction::Up, rules, FlowPlan::default(), most).unwrap();
        Bench { now, switch, steering, rng: Rng::named(1, "steering") }
    }

    /// A packet comes and leaves at once; returns the flow's index.
    fn pass(&mut self, headers: &Headers, len: u32) -> u32 {
        let leg = self.steering.steer(self.now, &mut self.switch, headers);
        let mut out = Vec::new();
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut out };
        _ = self.switch.arrive(&mut cx, &[leg], Packet::new(BodyId(0), len));
        self.switch.start(&mut cx, PORT).unwrap();
        self.switch.finish(&mut cx, PORT).unwrap();
        leg.flow.0
    }

    /// Replaces the rules, the first of which continues the first.
    fn replan(&mut self, rules: Vec<Rule>, most: usize) {
        let mut plan = plan();
        let (from, rest) = ([Some(0)], FlowPlan::default());
        let changes = self.steering.changes(&rules, &from, rest, &mut plan.ports[0].classes);
        let mut out = Vec::new();
        let mut cx = Ctx { now: self.now, rng: &mut self.rng, out: &mut out };
        _ = self.switch.reconfigure(&mut cx, &plan, &changes).unwrap();
        self.steering.replan(self.now, &mut self.switch, rules, &from, rest, most);
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.steering.close_idle(self.now, &mut self.switch);
    }
}

fn each_host(idle: Span) -> Rule {
    let contract = Contract { reserve: Some(rate(80_000)), ..Contract::default() };
    let plan = FlowPlan { contract, ..FlowPlan::default() };
    let matching = Match { protocol: vec![17], ..Match::default() };
    Rule::new(matching, Split::Each(Each::Host), plan, idle)
}
