//! One output port: `per-flow shapers → meters → droppers → tree of schedulers → wire`.

mod arrival;
mod classes;
mod members;
mod push_out;
mod service;
mod waiting;

use super::Ready;
use super::counters::{ByReason, FlowCounters, RunningStats};
use super::dropper_chain::DropperChain;
use super::flows::{FlowEntry, FlowTable};
use super::metering::Metering;
use super::plan::{PortPlan, Shared, Sharing};
use super::pool::Pool;
use super::shaping::Shaping;
use super::tree::{Member, ROOT, Tree};
use crate::context::{Ctx, Effect, Reason};
use crate::contract::Refused;
use crate::dropper::Occupancy;
use crate::packet::{FlowIx, Leg, Packet, PortIx};
use crate::stats::{Count, PositiveLengths};
use crate::units::Time;
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

/// A port. Fields that a packet-hop touches come first, by cache lines of 64 bytes: the packet in
/// service, the counts, what admits a packet, and the tree's queues. A departure touches the first
/// two lines if nothing waits, and a packet that finds nothing here does not touch the queues.
#[repr(C, align(64))]
pub(super) struct Port {
    /// True if an arriving packet passes no meter and no dropper, and is not counted by its colour.
    pub(super) is_plain_in: bool,
    /// True if a departing packet passes the root alone: no class, no ceiling of the port or of a
    /// flow, no dropper that looks at departing packets.
    pub(super) is_plain_out: bool,
    /// True while a packet is in service.
    pub(super) busy: bool,
    /// True if packets may wait outside the queue: in shapers, or held by ceilings.
    may_hold: bool,
    /// True if some flow is closing.
    is_closing: bool,
    pub(super) ix: PortIx,
    /// The queue, the packet in service included.
    pub(super) backlog: Count,
    /// The packet in service, or the last one that was.
    pub(super) serving: Packet,
    // The second line.
    pub(super) stats: RunningStats,
    /// Sent packets of all flows, counted at the last bit.
    pub(super) sent: Count,
    // The third line.
    pub(super) table: FlowTable,
    pub(super) shaping: Shaping,
    /// Queue lengths above zero, as seen by entering packets.
    pub(super) seen: PositiveLengths,
    /// The order of the latest arrival: breaks ties between ports.
    pub(super) latest: u64,
    // The fourth line, and the fifth.
    pub(super) tree: Tree,
    /// The earliest wake-up that was requested and is still to come.
    wake_at: Time,
    /// True if each packet that a shaper releases is reported to the driver.
    pub(super) reports_released: bool,
    /// Members of the tree that a ceiling holds, by their release time.
    held: BinaryHeap<Reverse<(Time, Member)>>,
    pub(super) droppers: DropperChain,
    pub(super) metering: Metering,
    /// Green packets that have passed the meters; `None` where they are not counted.
    pub(super) green: Option<Box<Count>>,
    pub(super) plan: Shared<PortPlan>,
    /// `None` before the first packet is dropped or marked.
    losses: Option<Box<Losses>>,
}

/// Dropped and marked packets of a port.
#[derive(Clone, Copy, Default)]
pub(super) struct Losses {
    pub(super) drops: ByReason,
    pub(super) marks: ByReason,
}

impl Port {
    pub(super) fn new(now: Time, ix: PortIx, plan: &Shared<PortPlan>) -> Result<Port, Refused> {
        let mut port = Port {
            ix,
            plan: plan.clone(),
            tree: Tree::new(now, plan)?,
            table: FlowTable::default(),
            metering: Metering::new(plan)?,
            green: None,
            droppers: DropperChain::new(now, ix, plan)?,
            is_plain_in: false,
            is_plain_out: false,
            may_hold: false,
            is_closing: false,
            seen: PositiveLengths::default(),
            reports_released: false,
            shaping: Shaping::default(),
            busy: false,
            serving: Packet::NONE,
            backlog: Count::default(),
            sent: Count::default(),
            held: BinaryHeap::new(),
            wake_at: Time::NEVER,
            latest: 0,
            stats: RunningStats::new(now, 0, false),
            losses: None,
        };
        port.update_fast_path();
        Ok(port)
    }

    /// Returns true if the root alone selects, and no dropper looks at departing packets.
    fn has_plain_tree(&self) -> bool {
        self.tree.is_plain() && !self.droppers.look_at_heads()
    }

    /// Counts a packet that enters the queue.
    #[inline(always)]
    fn count_entered(&mut self, now: Time) {
        match self.backlog.packets {
            0 => self.stats.entered_alone(now),
            before => {
                self.seen.add(before);
                self.stats.entered(now);
            }
        }
    }

    /// Dropped and marked packets.
    pub(super) fn losses(&self) -> Losses {
        self.losses.as_deref().copied().unwrap_or_default()
    }

    fn losses_mut(&mut self) -> &mut Losses {
        self.losses.get_or_insert_default()
    }

    /// Updates the flags of the first line after the tree, the meters or the droppers have changed.
    pub(super) fn update_fast_path(&mut self) {
        self.is_plain_in = self.metering.is_empty() && self.green.is_none() && self.droppers.is_empty();
        self.is_plain_out = self.has_plain_tree() && !self.table.has_ceilings();
        self.tree.nodes[ROOT].allow_line(self.is_plain_in && self.is_plain_out);
    }

    /// Counts and reports a dropped packet; its flow is the port's index.
    #[cold]
    fn drop(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &Packet, reason: Reason) {
        self.losses_mut().drops.count(reason);
        self.table.count_dropped(packet.flow, packet.len);
        let body = pool.release(packet);
        cx.out.push(Effect::Dropped { port: self.ix, packet: *packet, reason, body });
    }

    /// Marks a packet that passes on, and reports it.
    fn mark(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, reason: Reason) {
        packet.mark = packet.mark.congested();
        self.losses_mut().marks.count(reason);
        self.table.count_marked(packet.flow);
        cx.out.push(Effect::Marked { port: self.ix, packet: *packet, reason });
    }

    /// Occupancy that a dropper of the port's queue sees for a packet that the port does not count:
    /// any more, or yet.
    fn occupancy(&self, pool: &Pool, packet: &Packet) -> Occupancy {
        let mut taken = self.taken(pool);
        if pool.sharing == Sharing::Complete {
            // It is stored from its arrival until it is sent or lost.
            taken.take(packet.len);
        }
        Occupancy {
            queue: Count::default(),
            flow: self.queued(packet.flow),
            port: self.backlog,
            pool: taken,
            limit: pool.limit,
        }
    }

    /// Contents of the memory that the port may use.
    pub(super) fn taken(&self, pool: &Pool) -> Count {
        match pool.sharing {
            Sharing::Complete => pool.used,
            Sharing::Partitioned => self.stored(),
        }
    }

    /// Memory that the port holds: its queue, the packet in service, and packets in its shapers.
    pub(super) fn stored(&self) -> Count {
        let mut stored = self.backlog;
        stored.merge(self.shaping.held());
        stored
    }

    /// Ready if the port is idle and may have become able to send.
    #[inline(always)]
    pub(super) fn ready(&self) -> Ready {
        Ready(!self.busy)
    }

    /// Returns true if nothing is at the port (queue, service, shapers), and no ceiling holds a
    /// flow.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        let holds = || !self.shaping.is_empty() || !self.held.is_empty();
        self.backlog.packets == 0 && !(self.may_hold && holds())
    }

    /// The packet in service.
    #[inline(always)]
    pub(super) fn in_service(&self) -> Option<&Packet> {
        self.busy.then_some(&self.serving)
    }

    /// Packets of a flow in its queue or in service.
    pub(super) fn queued(&self, flow: FlowIx) -> Count {
        let entry = &self.table.flows[flow.ix()];
        let queues = &self.tree.nodes[usize::from(entry.node)].queues;
        let packets = u64::from(queues.packets_of(entry.slot));
        let mut queued = Count { packets, bytes: queues.bytes_of(entry.slot) };
        if let Some(packet) = self.in_service().filter(|packet| packet.flow == flow) {
            queued.add(packet.len);
        }
        queued
    }

    /// Packets of a flow in its queue, in its shaper and in service.
    pub(super) fn held(&self, flow: FlowIx) -> Count {
        let mut held = self.shaping.backlog(flow);
        held.merge(self.queued(flow));
        held
    }

    /// Counters of a flow; zeros for a flow that does not exist.
    pub(super) fn counters(&self, flow: FlowIx) -> FlowCounters {
        let Some(&FlowEntry { arrived, .. }) = self.table.flows.get(flow.ix()) else {
            return FlowCounters::default();
        };
        let (held, dropped) = (self.held(flow), self.table.dropped(flow));
        let sent = Count {
            packets: arrived.packets - dropped.packets - held.packets,
            bytes: arrived.bytes - dropped.bytes - held.bytes,
        };
        FlowCounters { arrived, sent, dropped, marked: self.table.marked(flow) }
    }

    pub(super) fn leg(&self, flow: FlowIx) -> Leg {
        Leg { port: self.ix, flow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn a_packet_touches_few_cache_lines() {
        assert_eq!([offset_of!(Port, serving), size_of::<Packet>()], [24, 40]);
        assert_eq!(
            [offset_of!(Port, stats), offset_of!(Port, table), offset_of!(Port, tree)],
            [64, 128, 192]
        );
        assert_eq!(size_of::<FlowEntry>(), 32);
        assert!(size_of::<Port>() <= 704, "{}", size_of::<Port>());
    }
}
