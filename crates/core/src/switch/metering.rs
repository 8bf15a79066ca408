//! Meters of a port, and the profile at each to which a packet belongs.

use super::plan::{FlowPlan, MAX_METERS, PortPlan};
use super::tree::node_of;
use crate::context::Ctx;
use crate::contract::{Contract, Refused};
use crate::meter::{Meter, MeterKind, Metered, ProfileIx, Reading, Usage};
use crate::packet::{FlowIx, Packet};
use crate::units::{Span, Time};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The shared profiles of a flow at each meter that its packets pass.
type Shared = [Option<u16>; MAX_METERS];

/// The usage, at one meter, of the profile to which a flow belongs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterUsage {
    /// The class of the meter, by its index in the plan; `None` for the port's own.
    pub class: Option<u16>,
    /// The meter's index within that class or port, from 0.
    pub nth: usize,
    /// The shared profile, by its index in the plan; `None` for the flow's own.
    pub profile: Option<u16>,
    /// Usage of the profile by all its flows together.
    pub usage: Usage,
}

/// Position of a meter: its class, `None` for the port, and its index there.
type At = (Option<u16>, usize);

/// One meter of a node.
struct NodeMeter {
    /// The flows' own profiles, by the flows' indices at the port.
    own: Box<dyn Meter + Send>,
    /// The profiles that several flows share, by their indices in the plan.
    shared: Box<dyn Meter + Send>,
}

/// A node of the tree, and its meters.
struct MeteredNode {
    parent: Option<usize>,
    meters: Vec<NodeMeter>,
}

/// The meters of a port.
#[derive(Default)]
pub(super) struct Metering {
    /// Indexed by node; empty when there is no meter.
    nodes: Vec<MeteredNode>,
    /// By flow; few flows share a profile.
    shared: BTreeMap<FlowIx, Shared>,
}

impl NodeMeter {
    fn new(kind: &MeterKind, profiles: &[Contract]) -> Result<NodeMeter, Refused> {
        let mut meter = NodeMeter { own: kind.build()?, shared: kind.build()? };
        for (ix, terms) in profiles.iter().enumerate() {
            meter.shared.set_profile(ProfileIx(ix as u32), terms);
        }
        Ok(meter)
    }
}

impl Metering {
    /// Builds the meters of a plan, before any flow is open.
    ///
    /// # Errors
    /// When a meter cannot be made.
    pub(super) fn new(plan: &PortPlan) -> Result<Metering, Refused> {
        if plan.nodes().all(|(_, meters, _)| meters.is_empty()) {
            return Ok(Metering::default());
        }
        let mut nodes = Vec::new();
        for (parent, meters, _) in plan.nodes() {
            let meters = meters.iter().map(|kind| NodeMeter::new(kind, &plan.profiles));
            nodes.push(MeteredNode { parent, meters: meters.collect::<Result<_, _>>()? });
        }
        Ok(Metering { nodes, shared: BTreeMap::new() })
    }

    /// Adds the meters of the plan's new last class. Fails if a meter cannot be made.
    pub(super) fn add_class(&mut self, plan: &PortPlan) -> Result<(), Refused> {
        let Some(class) = plan.classes.last().filter(|_| !self.is_empty()) else {
            self.nodes = Metering::new(plan)?.nodes;
            return Ok(());
        };
        let meters = class.meters.iter().map(|kind| NodeMeter::new(kind, &plan.profiles));
        let meters = meters.collect::<Result<_, _>>()?;
        self.nodes.push(MeteredNode { parent: Some(node_of(class.parent)), meters });
        Ok(())
    }

    /// Returns true if there is no meter.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Keeps the previous meters of a node where their plans are equal.
    pub(super) fn take_over(&mut self, node: usize, before: &mut Metering) {
        if let (Some(node), Some(before)) = (self.nodes.get_mut(node), before.nodes.get_mut(node)) {
            node.meters = core::mem::take(&mut before.meters);
        }
    }

    /// Opens a flow of a node, or changes its contract and the profiles that it shares. Its metered
    /// state stays.
    pub(super) fn set_flow(&mut self, node: usize, flow: FlowIx, plan: &FlowPlan) {
        if plan.profiles.iter().any(Option::is_some) {
            self.shared.insert(flow, plan.profiles);
        } else {
            self.shared.remove(&flow);
        }
        let mut nth = 0;
        self.on_path(node, |meter| {
            if plan.profiles.get(nth).copied().flatten().is_none() {
                meter.own.set_profile(ProfileIx(flow.0), &plan.contract);
            }
            nth += 1;
        });
    }

    /// The profiles that a flow shares.
    pub(super) fn profiles(&self, flow: FlowIx) -> Shared {
        self.shared.get(&flow).copied().unwrap_or_default()
    }

    /// Forgets the flow; its index goes to another one.
    pub(super) fn forget(&mut self, flow: FlowIx) {
        for meter in self.nodes.iter_mut().flat_map(|node| &mut node.meters) {
            meter.own.forget(ProfileIx(flow.0));
        }
    }

    fn on_path(&mut self, node: usize, mut act: impl FnMut(&mut NodeMeter)) {
        let mut at = Some(node);
        while let Some(node) = at.and_then(|at| self.nodes.get_mut(at)) {
            node.meters.iter_mut().for_each(&mut act);
            at = node.parent;
        }
    }

    /// Lists the meters that a flow of a node passes, in their order: the position of each, and the
    /// flow's profile there, with its index in the plan if it is shared.
    fn of(
        &self,
        node: usize,
        flow: FlowIx,
    ) -> impl Iterator<Item = (At, Option<u16>, &dyn Meter, ProfileIx)> {
        let shared = self.profiles(flow);
        let mut at = Some(node);
        let nodes = core::iter::from_fn(move || {
            let ix = at?;
            let node = self.nodes.get(ix)?;
            at = node.parent;
            let class = ix.checked_sub(1).map(|class| class as u16);
            Some(node.meters.iter().enumerate().map(move |(nth, meter)| ((class, nth), meter)))
        });
        let numbered = nodes.flatten().enumerate();
        numbered.map(move |(nth, (at, meter))| -> (At, Option<u16>, &dyn Meter, ProfileIx) {
            match shared.get(nth).copied().flatten() {
                Some(profile) => (at, Some(profile), &*meter.shared, ProfileIx(u32::from(profile))),
                None => (at, None, &*meter.own, ProfileIx(flow.0)),
            }
        })
    }

    /// Returns the verdict of the `nth` meter of a node on this packet; `None` when there are fewer
    /// meters.
    pub(super) fn see(
        &mut self,
        cx: &mut Ctx<'_>,
        node: usize,
        nth: usize,
        packet: &mut Packet,
    ) -> Option<Reading> {
        let shared = if self.shared.is_empty() { None } else { self.shared.get(&packet.flow) };
        let shared = shared.and_then(|shared| shared.get(nth).copied().flatten());
        let (mut left, mut at) = (nth, node);
        loop {
            let node = self.nodes.get_mut(at)?;
            match node.meters.get_mut(left) {
                Some(meter) => {
                    let own = ProfileIx(packet.flow.0);
                    return Some(match shared {
                        Some(profile) => meter.shared.see(cx, ProfileIx(u32::from(profile)), packet),
                        None => meter.own.see(cx, own, packet),
                    });
                }
                None => (left, at) = (left - node.meters.len(), node.parent?),
            }
        }
    }

    /// Returns when none of the flow's own profiles differs any more from a new one.
    pub(super) fn forgettable_at(&self, flow: FlowIx) -> Time {
        let meters = self.nodes.iter().flat_map(|node| &node.meters);
        let at = meters.map(|meter| meter.own.forgettable_at(ProfileIx(flow.0)));
        at.max().unwrap_or(Time::from_ticks(0))
    }

    /// Counts of the flow's profile at the first meter that counts.
    pub(super) fn metered(&self, node: usize, flow: FlowIx) -> Option<Metered> {
        self.of(node, flow).find_map(|(_, _, meter, profile)| meter.metered(profile))
    }

    /// Usage of the flow's profiles at each meter that reports it, in their order.
    pub(super) fn usage(&self, node: usize, flow: FlowIx) -> impl Iterator<Item = MeterUsage> {
        self.of(node, flow).filter_map(|((class, nth), profile, meter, ix)| {
            Some(MeterUsage { class, nth, profile, usage: meter.usage(ix)? })
        })
    }

    /// Returns true if a meter's windows follow round-trip times.
    pub(super) fn follows_round_trips(&self) -> bool {
        let mut meters = self.nodes.iter().flat_map(|node| &node.meters);
        meters.any(|meter| meter.own.follows_round_trips())
    }

    /// Passes a round-trip time that the flow's transport has measured to the meters of the flow's
    /// profiles.
    pub(super) fn set_round_trip(&mut self, node: usize, flow: FlowIx, round_trip: Span) {
        let shared = self.profiles(flow);
        let mut nth = 0;
        self.on_path(node, |meter| {
            match shared.get(nth).copied().flatten() {
                Some(profile) => meter.shared.set_round_trip(ProfileIx(u32::from(profile)), round_trip),
                None => meter.own.set_round_trip(ProfileIx(flow.0), round_trip),
            }
            nth += 1;
        });
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let meters = self.nodes.iter().flat_map(|node| &node.meters);
        meters.map(|meter| meter.own.memory() + meter.shared.memory()).sum::<usize>()
            + self.shared.len() * (size_of::<FlowIx>() + size_of::<Shared>())
    }
}
