//! The dropper and the detector of one node of a port's tree. A dropper watches the node's whole
//! queue, or each flow's queue there.

use super::plan::DropperPlan;
use crate::context::{Ctx, Reason};
use crate::contract::{Contract, Refused};
use crate::detector::{AnyDetector, Detector, DetectorKind};
use crate::dropper::{AnyDropper, Dropper, Left, Occupancy};
use crate::packet::{FlowIx, Packet, PortIx};
use crate::params::Scope;
use crate::stats::Count;
use crate::units::{Rate, Time};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;

/// Droppers of a node.
enum Droppers {
    /// One dropper for the whole queue, with the queue's contents.
    Node(AnyDropper, Count),
    /// One dropper for each flow's queue.
    Flows(BTreeMap<FlowIx, AnyDropper>),
}

/// Drops or marks the packets of a node.
pub(super) struct NodeDropper {
    plan: DropperPlan,
    rate: Option<Rate>,
    pub(super) looks_at_heads: bool,
    droppers: Droppers,
    /// Boxed: few nodes have one.
    detector: Option<Box<AnyDetector>>,
}

impl NodeDropper {
    pub(super) fn new(now: Time, plan: &DropperPlan, rate: Option<Rate>) -> Result<NodeDropper, Refused> {
        let dropper = plan.build(now, rate)?;
        let looks_at_heads = dropper.looks_at_head();
        let droppers = match plan.scope {
            Scope::Node => Droppers::Node(dropper, Count::default()),
            Scope::Flow => Droppers::Flows(BTreeMap::new()),
        };
        let detector = plan.detector.as_ref().map(DetectorKind::build).transpose()?.map(Box::new);
        Ok(NodeDropper { plan: plan.clone(), rate, looks_at_heads, droppers, detector })
    }

    /// Keeps the previous droppers and detector where their plans are equal.
    pub(super) fn take_over(&mut self, now: Time, before: NodeDropper) {
        if self.plan.detector == before.plan.detector {
            self.detector = before.detector;
        }
        if (&self.plan.kind, self.plan.scope) == (&before.plan.kind, before.plan.scope) {
            self.droppers = before.droppers;
            if self.rate != before.rate {
                match &mut self.droppers {
                    Droppers::Node(dropper, _) => dropper.set_rate(now, self.rate),
                    Droppers::Flows(droppers) => {
                        droppers.values_mut().for_each(|dropper| dropper.set_rate(now, self.rate));
                    }
                }
            }
        }
    }

    /// Returns the dropper of a flow's packets here; writes the queue that it sees into `at`.
    #[inline(always)]
    fn of(&mut self, flow: FlowIx, at: &mut Occupancy) -> Option<&mut AnyDropper> {
        match &mut self.droppers {
            Droppers::Node(dropper, queue) => {
                at.queue = *queue;
                Some(dropper)
            }
            Droppers::Flows(droppers) => {
                at.queue = at.flow;
                droppers.get_mut(&flow)
            }
        }
    }

    /// Like [`of`](Self::of), for a packet in the whole queue's count: `at.queue` excludes it.
    fn of_counted(&mut self, packet: &Packet, at: &mut Occupancy) -> Option<&mut AnyDropper> {
        let whole = matches!(self.droppers, Droppers::Node(..));
        let dropper = self.of(packet.flow, at)?;
        if whole {
            at.queue.take(packet.len);
        }
        Some(dropper)
    }

    /// Decides whether an arriving packet may join the queue. Returns the reason for marking it, if
    /// any, or the reason for dropping it as an error.
    pub(super) fn arrive(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        if let Some(detector) = self.detector.as_mut().filter(|detector| detector.sees_arrivals()) {
            detector.arrive(cx, port, packet).on(packet.mark)?;
        }
        let Some(dropper) = self.of(packet.flow, at) else { return Ok(None) };
        let verdict = dropper.arrive(cx, packet, at).on(packet.mark);
        self.report_drop(cx, port, packet, verdict);
        verdict
    }

    /// Like [`arrive`](Self::arrive), for a selected packet that is to leave the queue.
    pub(super) fn head(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        let Some(dropper) = self.of_counted(packet, at) else { return Ok(None) };
        let verdict = dropper.head(cx, packet, at).on(packet.mark);
        self.report_drop(cx, port, packet, verdict);
        verdict
    }

    /// Counts a packet that joins the queue.
    #[inline]
    pub(super) fn count(&mut self, packet: &Packet) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            queue.add(packet.len);
        }
    }

    /// Counts a packet that has left the queue after it was let in.
    #[inline]
    pub(super) fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &mut Occupancy, how: Left) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            queue.take(packet.len);
        }
        if let Some(dropper) = self.of(packet.flow, at) {
            dropper.left(cx, packet, at, how);
        }
    }

    /// Reports a packet that the dropper has dropped to the detector.
    #[inline]
    fn report_drop(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        packet: &Packet,
        verdict: Result<Option<Reason>, Reason>,
    ) {
        if verdict.is_err()
            && let Some(detector) = &mut self.detector
        {
            detector.dropped(cx, port, packet);
        }
    }

    pub(super) fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) -> Result<(), Refused> {
        if let Some(detector) = &mut self.detector {
            detector.set_flow(flow, contract);
        }
        match &mut self.droppers {
            Droppers::Node(dropper, _) => dropper.set_flow(now, flow, contract),
            Droppers::Flows(droppers) => {
                let dropper = match droppers.entry(flow) {
                    Entry::Occupied(there) => there.into_mut(),
                    Entry::Vacant(place) => place.insert(self.plan.build(now, self.rate)?),
                };
                dropper.set_flow(now, flow, contract);
            }
        }
        Ok(())
    }

    /// Forgets the flow; its index goes to another one.
    pub(super) fn forget(&mut self, flow: FlowIx) {
        if let Droppers::Flows(droppers) = &mut self.droppers {
            droppers.remove(&flow);
        }
        if let Some(detector) = &mut self.detector {
            detector.forget(flow);
        }
    }

    /// Reports to the dropper of a flow's own queue that another flow got a packet.
    pub(super) fn moved(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &mut Occupancy) {
        if matches!(self.droppers, Droppers::Flows(_))
            && let Some(dropper) = self.of(packet.flow, at)
        {
            dropper.left(cx, packet, at, Left::Moved);
        }
    }

    /// Sets the count of the whole queue to zero.
    pub(super) fn restart_count(&mut self) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            *queue = Count::default();
        }
    }

    /// Counts packets that are in the queue.
    pub(super) fn count_all(&mut self, count: Count) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            queue.merge(count);
        }
    }

    /// Shows the gauges of the dropper of the whole queue.
    pub(super) fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        if let Droppers::Node(dropper, _) = &self.droppers {
            dropper.gauges(show);
        }
    }

    /// Returns the count of the whole queue; `None` if each flow's queue has a dropper.
    pub(super) fn counted(&self) -> Option<Count> {
        match self.droppers {
            Droppers::Node(_, queue) => Some(queue),
            Droppers::Flows(_) => None,
        }
    }
}

impl DropperPlan {
    fn build(&self, now: Time, rate: Option<Rate>) -> Result<AnyDropper, Refused> {
        let mut dropper = self.kind.build()?;
        dropper.set_rate(now, rate);
        Ok(dropper)
    }
}
