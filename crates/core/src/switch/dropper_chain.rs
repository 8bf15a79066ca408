//! Droppers of a port: of its queue, of a class's queue, or of each flow's queue at a node.

use super::node_dropper::NodeDropper;
use super::plan::PortPlan;
use super::tree::node_of;
use crate::context::{Ctx, Reason};
use crate::contract::{Contract, Refused};
use crate::dropper::{Left, Occupancy};
use crate::packet::{FlowIx, Packet, PortIx};
use crate::stats::Count;
use crate::units::Time;
use alloc::vec::Vec;

/// A node of the tree, and its dropper.
struct ChainNode {
    parent: Option<usize>,
    dropper: Option<NodeDropper>,
}

/// Droppers of a port, by node. A packet passes those of its node and of the nodes above it.
pub(super) struct DropperChain {
    port: PortIx,
    /// Indexed by node; empty without a dropper.
    nodes: Vec<ChainNode>,
}

impl DropperChain {
    /// Builds the droppers of a plan, before any flow is open. Fails if a dropper cannot be made.
    pub(super) fn new(now: Time, port: PortIx, plan: &PortPlan) -> Result<DropperChain, Refused> {
        if plan.nodes().all(|(_, _, dropper)| dropper.is_none()) {
            return Ok(DropperChain { port, nodes: Vec::new() });
        }
        let nodes = plan.nodes().enumerate().map(|(ix, (parent, _, dropper))| {
            let rate = plan.rate_of(ix.checked_sub(1).map(|class| class as u16));
            let dropper = dropper.map(|plan| NodeDropper::new(now, plan, rate)).transpose()?;
            Ok(ChainNode { parent, dropper })
        });
        Ok(DropperChain { port, nodes: nodes.collect::<Result<_, _>>()? })
    }

    /// Adds the dropper of the plan's new last class. Fails if it cannot be made.
    pub(super) fn add_class(&mut self, now: Time, plan: &PortPlan) -> Result<(), Refused> {
        let Some(class) = plan.classes.last().filter(|_| !self.is_empty()) else {
            *self = DropperChain::new(now, self.port, plan)?;
            return Ok(());
        };
        let rate = plan.rate_of(Some((plan.classes.len() - 1) as u16));
        let dropper = class.dropper.as_ref().map(|plan| NodeDropper::new(now, plan, rate)).transpose()?;
        self.nodes.push(ChainNode { parent: Some(node_of(class.parent)), dropper });
        Ok(())
    }

    /// Makes the dropper of a class, in which no flow is open, anew. Fails if it cannot be made.
    pub(super) fn change_class(&mut self, now: Time, plan: &PortPlan, class: u16) -> Result<(), Refused> {
        if let Some(node) = self.nodes.get_mut(node_of(Some(class))) {
            let dropper = plan.classes[usize::from(class)].dropper.as_ref();
            let rate = plan.rate_of(Some(class));
            node.dropper = dropper.map(|dropper| NodeDropper::new(now, dropper, rate)).transpose()?;
        }
        Ok(())
    }

    /// Returns true if there is no dropper.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns true if some dropper looks at packets that are selected for service.
    pub(super) fn look_at_heads(&self) -> bool {
        self.nodes.iter().filter_map(|node| node.dropper.as_ref()).any(|dropper| dropper.looks_at_heads)
    }

    /// Visits the droppers of a node's packets, the innermost first.
    fn on_path(&mut self, node: usize, mut act: impl FnMut(&mut NodeDropper)) {
        let mut at = Some(node);
        while let Some(node) = at.and_then(|at| self.nodes.get_mut(at)) {
            node.dropper.as_mut().into_iter().for_each(&mut act);
            at = node.parent;
        }
    }

    /// Keeps previous droppers where plans are equal: the port's, and classes' if the tree is
    /// equal.
    pub(super) fn take_over(&mut self, now: Time, before: DropperChain, same_tree: bool) {
        let kept = if same_tree { usize::MAX } else { 1 };
        for (node, before) in self.nodes.iter_mut().zip(before.nodes).take(kept) {
            if let (Some(dropper), Some(before)) = (&mut node.dropper, before.dropper) {
                dropper.take_over(now, before);
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
        self.on_path(node, |dropper| {
            if done.is_ok() {
                done = dropper.set_flow(now, flow, contract);
            }
        });
        done
    }

    /// Forgets a flow of a node; its index goes to another one.
    pub(super) fn forget(&mut self, node: usize, flow: FlowIx) {
        self.on_path(node, |dropper| dropper.forget(flow));
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
        self.on_path(node, |dropper| {
            if let Ok(mark) = marked {
                marked = dropper.arrive(cx, port, packet, at).map(|why| mark.or(why));
                if marked.is_ok() {
                    dropper.count(packet);
                    passed += 1;
                }
            }
        });
        if marked.is_err() && passed > 0 {
            self.take_back(cx, node, packet, at, passed);
        }
        marked
    }

    /// Undoes the admission by a node's first `passed` droppers: an outer one refused the packet.
    #[cold]
    fn take_back(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        packet: &Packet,
        at: &mut Occupancy,
        mut passed: usize,
    ) {
        self.on_path(node, |dropper| {
            if passed > 0 {
                dropper.left(cx, packet, at, Left::Refused);
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
        self.on_path(node, |dropper| {
            if let Ok(mark) = marked {
                marked = dropper.head(cx, port, packet, at).map(|why| mark.or(why));
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
        self.on_path(node, |dropper| dropper.left(cx, packet, at, how));
    }

    /// Reports to the droppers of flows' own queues that another flow got a packet of a node.
    pub(super) fn moved(&mut self, cx: &mut Ctx<'_>, node: usize, packet: &Packet, at: &mut Occupancy) {
        self.on_path(node, |dropper| dropper.moved(cx, packet, at));
    }

    /// Recounts the queues of nodes with a dropper, from the node and the size of each flow's
    /// queue.
    pub(super) fn recount(&mut self, queued: impl Iterator<Item = (usize, Count)>) {
        self.nodes.iter_mut().filter_map(|node| node.dropper.as_mut()).for_each(NodeDropper::restart_count);
        for (node, count) in queued {
            self.on_path(node, |dropper| dropper.count_all(count));
        }
    }

    /// Shows the gauges of the dropper of the port's whole queue.
    pub(super) fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        if let Some(dropper) = self.nodes.first().and_then(|root| root.dropper.as_ref()) {
            dropper.gauges(show);
        }
    }

    /// Returns the counted queue of a node, if its dropper sees it as a whole.
    pub(super) fn counted(&self, node: usize) -> Option<Count> {
        self.nodes.get(node)?.dropper.as_ref()?.counted()
    }
}
