//! One output port: envelopes, meters and droppers, tree, and the link behind it.

use super::Ticks;
use super::buckets::{Envelope, Passage};
use super::line::Line;
use super::policies::Policies;
use super::tree::{Queued, Tree, Who};
use std::collections::BTreeMap;
use tidegate_core::context::Reason;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Colour;
use tidegate_core::shaper::ShaperPlan;
use tidegate_core::switch::plan::{FlowPlan, PortPlan};
use tidegate_core::units::{Rate, Span};
use tidegate_sim::network::FlowChange;
use tidegate_sim::packet_log::PacketId;

/// A packet on its way into a port.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    pub packet: PacketId,
    pub len: u32,
    pub carry: i64,
    pub colour: Colour,
}

/// The packet in service.
#[derive(Clone, Debug)]
pub struct Serving {
    pub queued: Queued,
    pub packet: PacketId,
    pub leaf: usize,
    /// Time at which its last bit will be out.
    pub until: Ticks,
}

/// A flow at a port.
struct AtPort {
    open: bool,
    /// True if it is closed and has no packets left.
    gone: bool,
    contract: Contract,
    /// Its smallest and its largest packet, where its source states them.
    sizes: Option<(u32, u32)>,
    leaf: usize,
    place: usize,
    profile: Option<u16>,
    envelope: Option<Envelope<Coming>>,
}

impl AtPort {
    /// Content of a full bucket, and two packets.
    fn need(&self, in_bytes: bool) -> Option<u64> {
        let Contract { reserve, workahead, interval, .. } = self.contract;
        let (smallest, largest) = self.sizes?;
        let bucket = match workahead {
            Some(stated) => u64::from(stated),
            None => reserve?.bytes_in(interval?),
        };
        Some(if in_bytes { bucket + 2 * u64::from(largest) } else { bucket / u64::from(smallest) + 2 })
    }
}

pub struct Port {
    pub line: Line,
    tree: Tree,
    policies: Policies,
    flows: BTreeMap<u32, AtPort>,
    pub serving: Option<Serving>,
    /// Packets queued or in service, and their bytes.
    pub backlog: (u64, u64),
    /// The order of the latest packet that joined the queue.
    pub latest: u64,
    /// Until then, a link that was free has noticed who was held no longer.
    noticed: Ticks,
}

impl Port {
    pub fn new(now: Ticks, plan: &PortPlan, line: Line) -> Port {
        Port {
            line,
            tree: Tree::new(now, plan),
            policies: Policies::new(plan),
            flows: BTreeMap::new(),
            serving: None,
            backlog: (0, 0),
            latest: 0,
            noticed: now,
        }
    }

    pub fn open(
        &mut self,
        now: Ticks,
        flow: u32,
        plan: &FlowPlan,
        sizes: Option<(u32, u32)>,
        envelope: Option<ShaperPlan>,
    ) {
        let leaf = plan.class.map_or(0, |class| usize::from(class) + 1);
        let place = self.tree.open(now, leaf, Who::Flow(flow), plan.contract, plan.ceiling);
        self.policies.set_flow(leaf, flow, plan.contract);
        let envelope = envelope.map(Envelope::new);
        let profile = plan.profiles[0];
        self.flows.insert(
            flow,
            AtPort {
                open: true,
                gone: false,
                contract: plan.contract,
                sizes,
                leaf,
                place,
                profile,
                envelope,
            },
        );
    }

    pub fn change(&mut self, now: Ticks, flow: u32, change: &FlowChange) -> Result<(), String> {
        let at = self.flows.get_mut(&flow).filter(|at| at.open).ok_or("a closed flow changes")?;
        let node = &mut self.tree.nodes[at.leaf];
        node.members[at.place].contract = change.contract;
        at.contract = change.contract;
        node.rule.opened(now, at.place, change.contract.reserve);
        self.tree.notice_upwards(now, at.leaf);
        if let (Some(envelope), Some(plan)) = (&mut at.envelope, change.envelope) {
            envelope.change(now, plan);
        }
        self.policies.set_flow(at.leaf, flow, change.contract);
        Ok(())
    }

    pub fn close(&mut self, flow: u32) -> Result<(), String> {
        self.flows.get_mut(&flow).ok_or("a flow closes that never was open")?.open = false;
        self.forget_if_drained(flow);
        Ok(())
    }

    /// A closed flow without packets gives back its resources.
    fn forget_if_drained(&mut self, flow: u32) {
        let Some(at) = self.flows.get_mut(&flow) else { return };
        let node = &mut self.tree.nodes[at.leaf];
        let in_service = self.serving.as_ref().is_some_and(|serving| serving.packet.flow == flow);
        let waiting = at.envelope.as_ref().is_some_and(|envelope| !envelope.waiting.is_empty());
        if !at.open && node.members[at.place].queue.is_empty() && !in_service && !waiting {
            node.rule.closed(at.place, &mut node.members[at.place]);
            at.gone = true;
        }
    }

    /// A packet's last bit is in. Returns the reason if it is dropped. `orders` numbers arrivals.
    pub fn arrive(&mut self, now: Ticks, mut coming: Coming, orders: &mut u64) -> Result<Colour, Reason> {
        *orders += 1;
        let flow = coming.packet.flow;
        let Some(at) = self.flows.get_mut(&flow).filter(|at| at.open) else { return Err(Reason::NoFlow) };
        if let Some(envelope) = &mut at.envelope {
            match envelope.arrive(now, coming, coming.len, *orders) {
                Passage::Conforms => {}
                Passage::Marked => coming.colour = Colour::Red,
                Passage::Waits => return Ok(coming.colour),
                Passage::Discarded => return Err(Reason::Shaper),
            }
        }
        self.admit(now, coming, *orders).map(|()| coming.colour)
    }

    /// Releases the packets that the envelopes let go now; returns those that are dropped, with the
    /// reason.
    pub fn release(&mut self, now: Ticks, orders: &mut u64) -> Vec<(PacketId, Reason, u32)> {
        let mut dropped = Vec::new();
        while let Some((at, _, flow)) = self.next_release()
            && at <= now
        {
            let Some(envelope) = self.flows.get_mut(&flow).and_then(|at| at.envelope.as_mut()) else { break };
            let released = envelope.release(now);
            *orders += 1;
            if let Err(reason) = self.admit(now, released.packet, *orders) {
                dropped.push((released.packet.packet, reason, released.len));
            }
            self.forget_if_drained(flow);
        }
        dropped
    }

    /// Time at which an envelope lets its next packet go, its order of arrival, and its flow.
    pub fn next_release(&self) -> Option<(Ticks, u64, u32)> {
        let release = |(flow, at): (&u32, &AtPort)| {
            at.envelope.as_ref()?.releases().map(|(when, order)| (when, order, *flow))
        };
        self.flows.iter().filter_map(release).min()
    }

    /// A link that is free, and waits for an opportunity, has noticed in time who was held no longer.
    fn catch_up(&mut self, now: Ticks) {
        if self.serving.is_none() {
            for at in self.tree.turning_points(self.noticed).into_iter().filter(|at| *at <= now) {
                self.tree.release(at);
            }
            self.noticed = now;
        }
    }

    /// Meters, droppers, queue.
    fn admit(&mut self, now: Ticks, coming: Coming, order: u64) -> Result<(), Reason> {
        let Coming { packet, len, carry, mut colour } = coming;
        let AtPort { leaf, place, profile, .. } = self.flows[&packet.flow];
        for reading in self.policies.meter(now, leaf, packet.flow, profile, len) {
            if let Some(virtual_clock) = reading.checked {
                let here = self.serving.as_ref().filter(|serving| serving.leaf == leaf);
                let in_service = here.map(|serving| serving.queued.stamp);
                self.tree.synchronise(leaf, place, virtual_clock, in_service);
            }
            if reading.red {
                colour = Colour::Red;
            }
            if reading.drop {
                return Err(Reason::Meter);
            }
        }
        if !self.policies.admit(leaf, len, colour) {
            return Err(Reason::QueueLimit);
        }
        self.backlog = (self.backlog.0 + 1, self.backlog.1 + u64::from(len));
        self.latest = order;
        let queued = Queued { packet: Some(packet), len, arrived: now, order, stamp: 0, carry, colour };
        self.catch_up(now);
        self.tree.push(now, leaf, place, queued);
        Ok(())
    }

    /// Its flows that reserve, with their reservations and their needs of the pool, in its unit.
    fn reserving(&self, in_bytes: bool) -> impl Iterator<Item = (Rate, Option<u64>)> {
        let flows = self.flows.values().filter(|at| !at.gone);
        flows.filter_map(move |at| Some((at.contract.reserve?, at.need(in_bytes))))
    }

    /// Total reservation of its flows whose need is not known, in bytes per second.
    pub fn reserved(&self, in_bytes: bool) -> u64 {
        let without = self.reserving(in_bytes).filter(|(_, need)| need.is_none());
        without.map(|(rate, _)| rate.bytes_in_about(Span::from_secs(1))).sum()
    }

    /// Total need of its other flows of the pool.
    pub fn needed(&self, in_bytes: bool) -> u64 {
        self.reserving(in_bytes).filter_map(|(_, need)| need).sum()
    }

    /// Packets that wait in envelopes, and their bytes.
    pub fn waiting(&self) -> (u64, u64) {
        let envelopes = self.flows.values().filter_map(|at| at.envelope.as_ref());
        envelopes
            .flat_map(|envelope| &envelope.waiting)
            .fold((0, 0), |(packets, bytes), waiting| (packets + 1, bytes + u64::from(waiting.len)))
    }

    /// The flow with most packets in its envelope; of several that with the latest.
    pub fn longest_waiting(&self) -> Option<u32> {
        let rank = |at: &AtPort| {
            let waiting = &at.envelope.as_ref()?.waiting;
            waiting.last().map(|last| (waiting.len(), last.order))
        };
        let longest = self.flows.iter().filter_map(|(flow, at)| Some((rank(at)?, *flow))).max()?;
        Some(longest.1)
    }

    /// Packets that push-out could take.
    pub fn evictable(&self) -> u64 {
        self.backlog.0 - u64::from(self.serving.is_some())
    }

    /// Takes the packet that would be sent last.
    pub fn push_out(&mut self, now: Ticks, in_bytes: bool) -> Option<(PacketId, u32)> {
        let (leaf, flow, gone) = self.tree.push_out(now, in_bytes)?;
        self.left(leaf, gone.len);
        self.forget_if_drained(flow);
        Some((gone.packet?, gone.len))
    }

    /// Takes the latest packet that waits in the envelope of a flow.
    pub fn push_out_waiting(&mut self, flow: u32) -> Option<(PacketId, u32)> {
        let gone = self.flows.get_mut(&flow)?.envelope.as_mut()?.waiting.pop()?;
        self.forget_if_drained(flow);
        Some((gone.packet.packet, gone.len))
    }

    fn left(&mut self, leaf: usize, len: u32) {
        self.backlog = (self.backlog.0 - 1, self.backlog.1 - u64::from(len));
        self.policies.left(leaf, len);
    }

    /// The first time from `now` on at which it would start a packet if none arrived; `None` for
    /// never.
    pub fn next_start(&self, now: Ticks) -> Option<Ticks> {
        if self.serving.is_some() || self.tree.is_empty() {
            return None;
        }
        for at in self.tree.turning_points(now) {
            let mut openings = self.line.openings(at).into_iter();
            if let Some(start) = openings.find(|open| self.tree.may_start(*open)) {
                return Some(start);
            }
            if self.line.is_traced() {
                // All arrivals have been examined.
                return None;
            }
        }
        None
    }

    /// Starts the next packet, on a free link.
    pub fn start(&mut self, now: Ticks) -> Result<Serving, String> {
        if self.serving.is_some() {
            return Err("the packet before has not left".into());
        }
        if self.line.opens(now) != now {
            return Err("the link has no opportunity then".into());
        }
        self.catch_up(now);
        let (leaf, place) = self.tree.next(now).ok_or("nothing may be sent then")?;
        let queued = self.tree.take(now, leaf, place);
        let until = self.line.carry(now, queued.len);
        let packet = queued.packet.ok_or("a token is sent")?;
        let serving = Serving { queued, packet, leaf, until };
        self.serving = Some(serving.clone());
        Ok(serving)
    }

    /// The last bit of the packet in service is out.
    pub fn finish(&mut self) -> Option<Serving> {
        let serving = self.serving.take()?;
        self.noticed = serving.until;
        self.left(serving.leaf, serving.queued.len);
        self.forget_if_drained(serving.packet.flow);
        Some(serving)
    }
}
