//! A detector that refuses packets: every flow may lose a few, and is then shut out for a while.

use crate::common::{World, kind};
use crate::toy::toy;
use tidegate_core::context::{Ctx, Effect, Finding, Reason, Verdict};
use tidegate_core::detector::{Detector, DetectorKind};
use tidegate_core::dropper::drop_tail::DropTailParams;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::packet::{FlowIx, Packet, PortIx};
use tidegate_core::params::{Limit, Role};
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const MAX_LOST: u32 = 3;
const PENALTY: Span = Span::from_secs(1);

/// Losses of each flow, and the time until which it is shut out.
#[derive(Default)]
pub struct Penalty(Vec<(u32, Option<Time>)>);
impl Penalty {
    fn flow(&mut self, flow: FlowIx) -> &mut (u32, Option<Time>) {
        self.0.resize(self.0.len().max(flow.ix() + 1), (0, None));
        &mut self.0[flow.ix()]
    }
}

impl Detector for Penalty {
    fn forget(&mut self, flow: FlowIx) {
        *self.flow(flow) = (0, None);
    }
    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        let &Packet { flow, body, .. } = packet;
        let (lost, until) = self.flow(flow);
        *lost += 1;
        if *lost == MAX_LOST {
            *until = Some(cx.now + PENALTY);
            cx.out.push(Effect::Finding { port, flow, body, finding: Finding::NonResponsive });
        }
    }
    fn sees_arrivals(&self) -> bool {
        self.0.iter().any(|(_, until)| until.is_some())
    }
    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        let &Packet { flow, body, .. } = packet;
        match self.flow(flow).1 {
            Some(until) if cx.now < until => return Verdict::Drop(Reason::NonResponsive),
            Some(_) => {
                self.forget(flow);
                cx.out.push(Effect::Finding { port, flow, body, finding: Finding::BackedOff });
            }
            None => {}
        }
        Verdict::Accept
    }
}

toy!(PenaltyParams makes Penalty: "penalty", Role::Detector);

#[test]
fn a_flow_that_keeps_losing_is_shut_out_for_a_while() {
    let params = DropTailParams { limit: Limit::Packets(2), marked: None };
    let drop_tail = DropperKind::BuiltIn(BuiltInDropper::DropTail(params));
    let detector = Some(DetectorKind::outside(PenaltyParams {}));
    let dropper = Some(DropperPlan { detector, ..DropperPlan::from(drop_tail) });
    let port = PortPlan { dropper, ..PortPlan::new(kind("fifo")) };
    let mut world = World::new(&SwitchPlan { ports: vec![port], ..SwitchPlan::default() });
    let legs = [(); 2].map(|()| world.open(0, &FlowPlan::default()));
    let findings = |world: &World| -> Vec<(u32, Finding)> {
        let finding = |effect: &Effect| match effect {
            Effect::Finding { flow, finding, .. } => Some((flow.0, *finding)),
            _ => None,
        };
        world.out.iter().filter_map(finding).collect()
    };
    // Two packets fill the queue; the next three are lost, and then it is shut out even with room.
    (0..5).for_each(|_| _ = world.arrive(&[legs[0]], 500));
    assert_eq!(findings(&world), [(0, Finding::NonResponsive)]);
    while world.send(0).is_some() {}
    let reasons = |world: &mut World| -> Vec<Reason> {
        world.dropped().into_iter().map(|(_, reason, _)| reason).collect()
    };
    assert_eq!(reasons(&mut world), [Reason::QueueLimit; 3]);
    world.arrive(&[legs[0]], 500);
    world.arrive(&[legs[1]], 500);
    assert_eq!(reasons(&mut world), [Reason::NonResponsive]);
    assert_eq!(world.send(0).unwrap().flow, legs[1].flow);
    world.wait(PENALTY);
    world.arrive(&[legs[0]], 500);
    assert_eq!(findings(&world), [(0, Finding::BackedOff)]);
    assert_eq!(world.send(0).unwrap().flow, legs[0].flow);
}
