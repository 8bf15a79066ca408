//! Droppers of a port. They guard its queue, a class's queue, or each flow's queue at a node.

use super::plan::{DropperPlan, PortPlan};
use super::tree::node_of;
use crate::context::{Ctx, Reason};
use crate::contract::{Contract, Refused};
use crate::detector::BuiltInDetector;
use crate::detector::drop_history::DropHistory;
use crate::dropper::{AnyDropper, Dropper, Left, Occupancy};
use crate::packet::{FlowIx, Packet, PortIx};
use crate::params::Scope;
use crate::stats::Count;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

enum Droppers {
    /// One dropper for the whole queue, with the queue's contents.
    Node(AnyDropper, Count),
    /// One dropper for each flow's queue.
    Flows(BTreeMap<FlowIx, AnyDropper>),
}

struct Guard {
    plan: DropperPlan,
    rate: Option<Rate>,
    looks_at_heads: bool,
    droppers: Droppers,
    /// Boxed: few guards have one.
    detector: Option<Box<DropHistory>>,
}

/// A node of the tree, and its guard.
struct Place {
    parent: Option<usize>,
    guard: Option<Guard>,
}

/// Guards of a port's queues.
pub(super) struct Guards {
    port: PortIx,
    /// Indexed by node; empty when nothing is guarded.
    places: Vec<Place>,
}

impl Guard {
    fn new(now: Time, plan: &DropperPlan, rate: Option<Rate>) -> Result<Guard, Refused> {
        let dropper = plan.build(now, rate)?;
        let looks_at_heads = dropper.looks_at_head();
        let droppers = match plan.scope {
            Scope::Node => Droppers::Node(dropper, Count::default()),
            Scope::Flow => Droppers::Flows(BTreeMap::new()),
        };
        let detector = plan.detector.as_ref().map(BuiltInDetector::build).map(Box::new);
        Ok(Guard { plan: plan.clone(), rate, looks_at_heads, droppers, detector })
    }

    /// Keeps the previous droppers and detector where their plans are equal.
    fn take_over(&mut self, now: Time, before: Guard) {
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

    /// Decides whether an arriving packet may join the guarded queue. Returns the reason for
    /// marking it, if any, or the reason for dropping it as an error.
    fn arrive(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        if let Some(detector) = self.detector.as_mut().filter(|detector| !detector.is_silent()) {
            detector.arrive(cx, port, packet).on(packet.mark)?;
        }
        let Some(dropper) = self.of(packet.flow, at) else { return Ok(None) };
        let verdict = dropper.arrive(cx, packet, at).on(packet.mark);
        self.tell(cx, port, packet, verdict);
        verdict
    }

    /// Like [`arrive`](Self::arrive), for a selected packet that is to leave the guarded queue.
    fn head(
        &mut self,
        cx: &mut Ctx<'_>,
        port: PortIx,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        let Some(dropper) = self.of_counted(packet, at) else { return Ok(None) };
        let verdict = dropper.head(cx, packet, at).on(packet.mark);
        self.tell(cx, port, packet, verdict);
        verdict
    }

    /// Counts a packet that joins the guarded queue.
    #[inline]
    fn count(&mut self, packet: &Packet) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            queue.add(packet.len);
        }
    }

    /// Counts a packet that has left the guarded queue after it was let in.
    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &mut Occupancy, how: Left) {
        if let Droppers::Node(_, queue) = &mut self.droppers {
            queue.take(packet.len);
        }
        if let Some(dropper) = self.of(packet.flow, at) {
            dropper.left(cx, packet, at, how);
        }
    }

    /// Reports a packet that the dropper has dropped to the detector.
    #[inline]
    fn tell(
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

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) -> Result<(), Refused> {
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
}

impl DropperPlan {
    fn build(&self, now: Time, rate: Option<Rate>) -> Result<AnyDropper, Refused> {
        let mut dropper = self.kind.build()?;
        dropper.set_rate(now, rate);
        Ok(dropper)
    }
}

impl Guards {
    /// Builds the guards of a plan, before any flow is open. Fails if a dropper cannot be made.
    pub(super) fn new(now: Time, port: PortIx, plan: &PortPlan) -> Result<Guards, Refused> {
        if plan.nodes().all(|(_, _, dropper)| dropper.is_none()) {
            return Ok(Guards { port, places: Vec::new() });
        }
        let places = plan.nodes().enumerate().map(|(ix, (parent, _, dropper))| {
            let rate = plan.rate_of(ix.checked_sub(1).map(|class| class as u16));
            let guard = dropper.map(|dropper| Guard::new(now, dropper, rate)).transpose()?;
            Ok(Place { parent, guard })
        });
        Ok(Guards { port, places: places.collect::<Result<_, _>>()? })
    }

    /// Adds the guard of the plan's new last class. Fails if its dropper cannot be made.
    pub(super) fn add_class(&mut self, now: Time, plan: &PortPlan) -> Result<(), Refused> {
        let Some(class) = plan.classes.last().filter(|_| !self.is_empty()) else {
            *self = Guards::new(now, self.port, plan)?;
            return Ok(());
        };
        let rate = plan.rate_of(Some((plan.classes.len() - 1) as u16));
        let guard = class.dropper.as_ref().map(|dropper| Guard::new(now, dropper, rate)).transpose()?;
        self.places.push(Place { parent: Some(node_of(class.parent)), guard });
        Ok(())
    }

    /// Returns true if nothing is guarded.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns true if some dropper looks at packets that are selected for service.
    pub(super) fn look_at_heads(&self) -> bool {
        self.places.iter().filter_map(|place| place.guard.as_ref()).any(|guard| guard.looks_at_heads)
    }

    /// Visits the guards of a node's packets, the innermost first.
    fn on_path(&mut self, node: usize, mut act: impl FnMut(&mut Guard)) {
        let mut at = Some(node);
        while let Some(place) = at.and_then(|at| self.places.get_mut(at)) {
            place.guard.as_mut().into_iter().for_each(&mut act);
            at = place.parent;
        }
    }

    /// Keeps previous guards where plans are equal: the port's, and classes' if the tree is equal.
    pub(super) fn take_over(&mut self, now: Time, before: Guards, same_tree: bool) {
        let kept = if same_tree { usize::MAX } else { 1 };
        for (place, before) in self.places.iter_mut().zip(before.places).take(kept) {
            if let (Some(guard), Some(before)) = (&mut place.guard, before.guard) {
                guard.take_over(now, before);
            }
        }
    }

    /// Opens a flow of a node, or changes its contract. Fails if its own dropper cannot be made.
    pub(super) fn set_flow(
        &mut self,
        now: Time,
        node: usize,
        flow: FlowIx,
        contract: &Contract,
    ) -> Result<(), Refused> {
        let mut done = Ok(());
        self.on_path(node, |guard| {
            if done.is_ok() {
                done = guard.set_flow(now, flow, contract);
            }
        });
        done
    }

    /// Forgets the flow; its index goes to another one.
    pub(super) fn forget(&mut self, flow: FlowIx) {
        for guard in self.places.iter_mut().filter_map(|place| place.guard.as_mut()) {
            if let Droppers::Flows(droppers) = &mut guard.droppers {
                droppers.remove(&flow);
            }
            if let Some(detector) = &mut guard.detector {
                detector.forget(flow);
            }
        }
    }

    /// Decides whether a packet of a node may join its queues, and counts it there if so. Returns
    /// the reason for marking it, if any.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub(super) fn arrive(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        let (port, mut passed, mut marked) = (self.port, 0, Ok(None));
        self.on_path(node, |guard| {
            if let Ok(mark) = marked {
                marked = guard.arrive(cx, port, packet, at).map(|why| mark.or(why));
                if marked.is_ok() {
                    guard.count(packet);
                    passed += 1;
                }
            }
        });
        if marked.is_err() && passed > 0 {
            self.take_back(cx, node, packet, at, passed);
        }
        marked
    }

    /// Undoes the admission by a node's first `passed` guards: an outer guard refused the packet.
    #[cold]
    fn take_back(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &Packet,
        at: &mut Occupancy,
        mut passed: usize,
    ) {
        self.on_path(node, |guard| {
            if passed > 0 {
                guard.left(cx, packet, at, Left::Refused);
            }
            passed = passed.saturating_sub(1);
        });
    }

    /// Decides whether a packet of a node that is selected for service may leave its queues.
    /// Returns the reason for marking it, if any.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub(super) fn head(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &Packet,
        at: &mut Occupancy,
    ) -> Result<Option<Reason>, Reason> {
        let (port, mut marked) = (self.port, Ok(None));
        self.on_path(node, |guard| {
            if let Ok(mark) = marked {
                marked = guard.head(cx, port, packet, at).map(|why| mark.or(why));
            }
        });
        marked
    }

    /// Counts a packet of a node that has left its queues.
    pub(super) fn left(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &Packet,
        at: &mut Occupancy,
        how: Left,
    ) {
        self.on_path(node, |guard| guard.left(cx, packet, at, how));
    }

    /// Reports to the droppers of flows' own queues that another flow got a packet of a node.
    pub(super) fn moved(&mut self, cx: &mut Ctx<'_>, node: usize, packet: &Packet, at: &mut Occupancy) {
        self.on_path(node, |guard| {
            if matches!(guard.droppers, Droppers::Flows(_))
                && let Some(dropper) = guard.of(packet.flow, at)
            {
                dropper.left(cx, packet, at, Left::Moved);
            }
        });
    }

    /// Recounts the guarded queues from the node and the size of each flow's queue.
    pub(super) fn recount(&mut self, queued: impl Iterator<Item = (usize, Count)>) {
        for guard in self.places.iter_mut().filter_map(|place| place.guard.as_mut()) {
            if let Droppers::Node(_, queue) = &mut guard.droppers {
                *queue = Count::default();
            }
        }
        for (node, count) in queued {
            self.on_path(node, |guard| {
                if let Droppers::Node(_, queue) = &mut guard.droppers {
                    queue.merge(count);
                }
            });
        }
    }

    /// Shows the gauges of the dropper of the port's whole queue.
    pub(super) fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let guard = self.places.first().and_then(|root| root.guard.as_ref());
        if let Some(Guard { droppers: Droppers::Node(dropper, _), .. }) = guard {
            dropper.gauges(show);
        }
    }

    /// Returns the count of a node's guarded queue, if it is guarded as a whole.
    pub(super) fn counted(&self, node: usize) -> Option<Count> {
        match self.places.get(node)?.guard.as_ref()?.droppers {
            Droppers::Node(_, queue) => Some(queue),
            Droppers::Flows(_) => None,
        }
    }
}
