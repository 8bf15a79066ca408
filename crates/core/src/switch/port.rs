//! One output port: `per-flow shapers → meter → dropper → tree of schedulers → wire`.

use super::Ready;
use super::counters::{Drops, FlowCounters, QueueStats};
use super::flows::{Flow, FlowTable, State};
use super::plan::{FlowPlan, PortPlan};
use super::pool::Pool;
use super::shaping::{Shaped, Shaping};
use super::tree::{Member, Next, ROOT, Tree, node_of};
use crate::context::{Ctx, Effect, Reason, Verdict};
use crate::contract::Refused;
use crate::dropper::{AnyDropper, Backlog, Dropper, DropperKind};
use crate::meter::{Check, Meter, MeterKind};
use crate::packet::{BodyId, Colour, FlowIx, Leg, Packet, PortIx};
use crate::queues::Participation;
use crate::scheduler::Scheduler;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) struct Port {
    pub(super) ix: PortIx,
    pub(super) plan: PortPlan,
    pub(super) tree: Tree,
    pub(super) table: FlowTable,
    pub(super) dropper: Option<AnyDropper>,
    pub(super) meter: Option<Box<dyn Meter + Send>>,
    pub(super) shaping: Shaping,
    /// Whether a packet is in service.
    pub(super) busy: bool,
    /// The packet in service, or the last one that was.
    pub(super) serving: Packet,
    /// The queue, the packet in service included.
    pub(super) backlog: Backlog,
    /// Last bit out, over all flows.
    pub(super) sent: Backlog,
    /// Members of the tree that a ceiling holds, by when it lets go.
    held: BinaryHeap<Reverse<(Time, Member)>>,
    /// The earliest wake-up that was asked for and has not come.
    wake_at: Time,
    /// The order of the latest arrival: breaks ties between ports.
    pub(super) latest: u64,
    pub(super) stats: QueueStats,
    pub(super) drops: Drops,
}

impl Port {
    pub(super) fn new(now: Time, ix: PortIx, plan: &PortPlan) -> Result<Port, Refused> {
        Ok(Port {
            ix,
            plan: plan.clone(),
            tree: Tree::new(now, plan)?,
            table: FlowTable::default(),
            dropper: plan.dropper.as_ref().map(DropperKind::build).transpose()?,
            meter: plan.meter.as_ref().map(MeterKind::build).transpose()?,
            shaping: Shaping::default(),
            busy: false,
            serving: Packet::new(BodyId(u32::MAX), 0),
            backlog: Backlog::default(),
            sent: Backlog::default(),
            held: BinaryHeap::new(),
            wake_at: Time::NEVER,
            latest: 0,
            stats: QueueStats::new(now, 0, false),
            drops: Drops::default(),
        })
    }

    pub(super) fn open(&mut self, now: Time, plan: &FlowPlan) -> Result<FlowIx, Refused> {
        let node = node_of(plan.class);
        if node >= self.tree.nodes.len() {
            return Err(Refused(format!("port {} has no class {}", self.ix.0, node - 1)));
        }
        if let Some(flow) = self.table.reusable(now, node) {
            if let Err(refused) = self.reopen(now, flow, plan) {
                self.table.retire(flow, now);
                return Err(refused);
            }
            return Ok(flow);
        }
        if let Some(flow) = self.table.unplaced(now) {
            let slot = match self.tree.add(now, node, Member::Flow(flow), &plan.contract) {
                Ok(slot) => slot,
                Err(refused) => {
                    self.table.return_unplaced(now, flow);
                    return Err(refused);
                }
            };
            let entry = &mut self.table.flows[flow.ix()];
            (entry.node, entry.slot) = (node as u16, slot);
            if let Err(refused) = self.reopen(now, flow, plan) {
                self.table.retire(flow, now);
                return Err(refused);
            }
            return Ok(flow);
        }
        let flow = FlowIx(self.table.flows.len() as u32);
        let slot = self.tree.add(now, node, Member::Flow(flow), &plan.contract)?;
        self.table.flows.push(Flow {
            node: node as u16,
            slot,
            state: State::Open,
            participation: Participation::Active,
            held: false,
            shaped: false,
            contract: plan.contract,
            ceiling: None,
            arrived: Backlog::default(),
            dropped: Backlog::default(),
        });
        if let Some(meter) = &mut self.meter {
            meter.set_flow(flow, &plan.contract);
        }
        self.set_extras(now, flow, plan);
        Ok(flow)
    }

    /// A closed flow's index goes to another flow.
    fn reopen(&mut self, now: Time, flow: FlowIx, plan: &FlowPlan) -> Result<(), Refused> {
        if let Some(meter) = &mut self.meter {
            meter.forget(flow);
        }
        self.change(now, flow, plan)?;
        let sent = self.counters(flow).sent;
        self.table.forgotten.packets += sent.packets;
        self.table.forgotten.bytes += sent.bytes;
        let entry = &mut self.table.flows[flow.ix()];
        (entry.state, entry.arrived, entry.dropped) = (State::Open, Default::default(), Default::default());
        self.take_part(now, flow, Participation::Active);
        Ok(())
    }

    pub(super) fn is_open(&self, flow: FlowIx) -> bool {
        self.table.flows.get(flow.ix()).is_some_and(|entry| entry.state == State::Open)
    }

    /// Changes what a flow is promised, within its class.
    pub(super) fn change(&mut self, now: Time, flow: FlowIx, plan: &FlowPlan) -> Result<(), Refused> {
        let entry = &mut self.table.flows[flow.ix()];
        let node = &mut self.tree.nodes[usize::from(entry.node)];
        node.scheduler.set_flow(now, entry.slot, &plan.contract, &node.queues)?;
        node.renew_tail(entry.slot);
        entry.contract = plan.contract;
        if let Some(meter) = &mut self.meter {
            meter.set_flow(flow, &plan.contract);
        }
        self.set_extras(now, flow, plan);
        Ok(())
    }

    fn set_extras(&mut self, now: Time, flow: FlowIx, plan: &FlowPlan) {
        let entry = &self.table.flows[flow.ix()];
        let (shaped, held) = (entry.shaped, entry.held);
        self.table.set_ceiling(flow, plan.ceiling);
        if shaped || plan.shaper.is_some() {
            self.table.set_shaper(flow, plan.shaper);
            self.shaping.set(now, flow, plan.shaper);
        }
        if held && plan.ceiling.is_none() {
            self.hold(now, flow, false);
        }
    }

    /// No more arrivals; what waits is still sent, and the index is free once it is forgettable.
    pub(super) fn close(&mut self, now: Time, flow: FlowIx) {
        let entry = &mut self.table.flows[flow.ix()];
        if entry.state == State::Open {
            entry.state = State::Closing;
            self.table.closing += 1;
            self.take_part(now, flow, Participation::Active);
            self.retire_if_drained(flow);
        }
    }

    fn retire_if_drained(&mut self, flow: FlowIx) {
        let entry = &self.table.flows[flow.ix()];
        if entry.state != State::Closing {
            return;
        }
        if !self.is_drained(flow) {
            return;
        }
        self.tree.nodes[usize::from(entry.node)].scheduler.release(entry.slot);
        if let Some(at) = self.forgettable_at(flow) {
            self.table.closing -= 1;
            self.table.retire(flow, at);
        }
    }

    /// Sees to the closed flows whose packets went elsewhere.
    pub(super) fn retire_drained(&mut self) {
        for flow in 0..self.table.flows.len() {
            self.retire_if_drained(FlowIx(flow as u32));
        }
    }

    /// Whether the flow has no packets at the port.
    fn is_drained(&self, flow: FlowIx) -> bool {
        let entry = &self.table.flows[flow.ix()];
        let node = &self.tree.nodes[usize::from(entry.node)];
        node.queues.len(entry.slot) == 0
            && self.shaping.waiting(flow) == 0
            && !(self.busy && self.serving.flow == flow)
    }

    /// From when on nothing tells the flow from a newcomer; `None` while it has packets here.
    pub(super) fn forgettable_at(&self, flow: FlowIx) -> Option<Time> {
        if !self.is_drained(flow) {
            return None;
        }
        let entry = &self.table.flows[flow.ix()];
        let node = &self.tree.nodes[usize::from(entry.node)];
        let mut at = node.scheduler.forgettable_at(entry.slot);
        at = at.max(self.shaping.forgettable_at(flow));
        if let Some(ceiling) = entry.ceiling {
            at = at.max(ceiling.clear_at());
        }
        if let Some(meter) = &self.meter {
            at = at.max(meter.forgettable_at(flow));
        }
        Some(at)
    }

    /// What its scheduler remembers the flow until, whatever it has queued.
    pub(super) fn clock(&self, flow: FlowIx) -> Time {
        let entry = &self.table.flows[flow.ix()];
        self.tree.nodes[usize::from(entry.node)].scheduler.forgettable_at(entry.slot)
    }

    pub(super) fn take_part(&mut self, now: Time, flow: FlowIx, how: Participation) {
        self.table.flows[flow.ix()].participation = how;
        self.tell_participation(now, flow);
    }

    fn hold(&mut self, now: Time, flow: FlowIx, held: bool) {
        self.table.flows[flow.ix()].held = held;
        self.tell_participation(now, flow);
    }

    /// Tells the flow's node how it takes part.
    pub(super) fn tell_participation(&mut self, now: Time, flow: FlowIx) {
        let entry = &self.table.flows[flow.ix()];
        let at = usize::from(entry.node);
        self.tree.take_part(now, at, entry.slot, entry.effective_participation());
        self.tree.settle(now, at);
        self.watch(now, at);
    }

    /// The packet's last bit is in.
    #[inline(always)]
    pub(super) fn arrive(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &mut Packet, order: u64) {
        let entry = match self.table.flows.get_mut(packet.flow.ix()) {
            Some(entry) if entry.state == State::Open => entry,
            _ => return self.stray(cx, pool, packet),
        };
        entry.arrived.add(packet.len);
        let (shaped, place) = (entry.shaped, (usize::from(entry.node), entry.slot));
        let plain = !shaped && self.shaping.queues.is_empty();
        if !plain && !self.conforms(cx, pool, packet, order, shaped) {
            return;
        }
        self.admit(cx, pool, packet, order, place);
    }

    /// The shaper: whether the packet goes on now.
    #[inline(never)]
    fn conforms(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        packet: &mut Packet,
        order: u64,
        shaped: bool,
    ) -> bool {
        if shaped || self.shaping.waiting(packet.flow) > 0 {
            match self.shaping.arrive(cx.now, *packet, order) {
                Shaped::Conforms => {}
                Shaped::Marked => packet.mark = packet.mark.coloured(Colour::Red),
                Shaped::Waits => {
                    self.ask(cx);
                    return false;
                }
                Shaped::Full => {
                    self.drop(cx, pool, packet, Reason::Shaper);
                    return false;
                }
            }
        }
        true
    }

    /// Whether the meter lets the packet pass.
    #[inline(never)]
    fn keeps_contract(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &mut Packet) -> bool {
        let Some(meter) = &mut self.meter else { return true };
        let reading = meter.see(cx, packet);
        if let Some(check) = reading.check {
            self.checked(cx, packet, check);
        }
        match reading.verdict {
            Verdict::Accept => {}
            Verdict::Mark => self.mark(cx, packet),
            Verdict::Drop => {
                self.drop(cx, pool, packet, Reason::Meter);
                return false;
            }
        }
        true
    }

    /// The meter has checked the packet's flow.
    fn checked(&mut self, cx: &mut Ctx<'_>, packet: &Packet, check: Check) {
        if let Some(lead) = check.warn {
            cx.out.push(Effect::Warned { port: self.ix, flow: packet.flow, body: packet.body, lead });
        }
        let entry = &self.table.flows[packet.flow.ix()];
        let in_service = self.in_service().and_then(|packet| {
            let serving = &self.table.flows[packet.flow.ix()];
            // Tags of different nodes cannot be compared.
            (serving.node == entry.node).then_some((serving.slot, packet.tag))
        });
        let node = &mut self.tree.nodes[usize::from(entry.node)];
        node.scheduler.synchronise(entry.slot, check.virtual_clock, in_service, &node.queues);
    }

    /// The packet reaches the meter, the dropper and the schedulers; `slot` is its flow's index at `node`.
    #[inline(always)]
    fn admit(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        packet: &mut Packet,
        order: u64,
        (node, slot): (usize, FlowIx),
    ) {
        if self.meter.is_some() && !self.keeps_contract(cx, pool, packet) {
            return;
        }
        if self.dropper.is_some() && !self.guard(cx, pool, packet) {
            return;
        }
        self.stats.entered(cx.now, self.backlog.packets);
        self.backlog.add(packet.len);
        self.latest = order;
        packet.flow = slot;
        self.tree.push(cx, node, packet, order);
        self.watch(cx.now, node);
    }

    /// Whether the dropper lets the packet into the queue.
    #[inline(never)]
    fn guard(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &mut Packet) -> bool {
        let Some(dropper) = &mut self.dropper else { return true };
        match dropper.arrive(cx, packet, self.backlog, without(pool.used, packet)) {
            Verdict::Accept => {}
            Verdict::Mark => self.mark(cx, packet),
            Verdict::Drop => {
                self.drop(cx, pool, packet, Reason::Dropper);
                return false;
            }
        }
        true
    }

    /// Whether the dropper lets the packet leave that is about to be served; the queue is
    /// without it if not.
    #[inline(never)]
    fn guard_exit(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        let Some(dropper) = &mut self.dropper else { return true };
        let mut packet = self.serving;
        let mut rest = self.backlog;
        rest.take(packet.len);
        match dropper.depart(cx, &packet, rest, without(pool.used, &packet)) {
            Verdict::Accept => {}
            Verdict::Mark => {
                self.mark(cx, &mut packet);
                self.serving = packet;
            }
            Verdict::Drop => {
                self.stats.reached(self.backlog.packets);
                self.backlog = rest;
                self.stats.left(cx.now);
                self.drop(cx, pool, &packet, Reason::Dropper);
                self.retire_if_drained(packet.flow);
                return false;
            }
        }
        true
    }

    fn mark(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) {
        packet.mark = packet.mark.congested();
        cx.out.push(Effect::Marked { port: self.ix, flow: packet.flow });
    }

    #[cold]
    fn stray(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &Packet) {
        self.drops.count(Reason::NoFlow);
        self.table.strays.arrived.add(packet.len);
        self.table.strays.dropped.add(packet.len);
        let body = pool.release(packet);
        cx.out.push(Effect::Dropped { port: self.ix, packet: *packet, reason: Reason::NoFlow, body });
    }

    /// Counts and reports a packet that is gone; its flow is the port's index.
    #[cold]
    fn drop(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, packet: &Packet, reason: Reason) {
        self.drops.count(reason);
        self.table.flows[packet.flow.ix()].dropped.add(packet.len);
        let body = pool.release(packet);
        cx.out.push(Effect::Dropped { port: self.ix, packet: *packet, reason, body });
    }

    /// Whether the port is idle, and may have become able to send.
    #[inline(always)]
    pub(super) fn ready(&self) -> Ready {
        Ready(!self.busy)
    }

    /// The packet in service.
    #[inline(always)]
    pub(super) fn in_service(&self) -> Option<&Packet> {
        self.busy.then_some(&self.serving)
    }

    /// The link is free: the next packet's first bit leaves, and it is in service. False when
    /// there is none, or when the link is not free.
    #[inline(always)]
    pub(super) fn start(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        if self.busy {
            return false;
        }
        // While the link is busy nobody asks to be woken for a ceiling.
        if !self.held.is_empty() {
            self.let_go(cx.now);
        }
        loop {
            let Some(node) = self.take(cx) else {
                self.ask(cx);
                return false;
            };
            if self.table.ceilings > 0 {
                self.hold_if_over_its_ceiling(cx.now, self.serving);
            }
            self.watch(cx.now, node);
            if self.dropper.is_some() && !self.guard_exit(cx, pool) {
                continue;
            }
            self.stats.service_begins(cx.now);
            self.busy = true;
            return true;
        }
    }

    /// Takes the packet to be sent now to `serving`; the node that it was queued at.
    #[inline(always)]
    fn take(&mut self, cx: &mut Ctx<'_>) -> Option<usize> {
        if self.tree.is_plain() {
            return self.tree.take_plain(cx, &mut self.serving).then_some(ROOT);
        }
        self.take_from_tree(cx)
    }

    #[inline(never)]
    fn take_from_tree(&mut self, cx: &mut Ctx<'_>) -> Option<usize> {
        loop {
            match self.tree.next(cx.now) {
                Next::At(place) => {
                    self.serving = self.tree.take(cx, place)?;
                    return Some(place.node);
                }
                Next::Late(node) => {
                    self.tree.settle(cx.now, node);
                    self.watch(cx.now, node);
                }
                Next::NotBefore(_) => return None,
            }
        }
    }

    /// A flow with a ceiling has to wait after it has sent.
    #[inline(never)]
    fn hold_if_over_its_ceiling(&mut self, now: Time, packet: Packet) {
        let Packet { flow, len, arrived, .. } = packet;
        if let Some(ceiling) = &mut self.table.flows[flow.ix()].ceiling {
            ceiling.take(now, arrived, len);
            let clear_at = ceiling.clear_at();
            self.held.push(Reverse((clear_at, Member::Flow(flow))));
            self.hold(now, flow, true);
        }
    }

    /// Makes sure that the nodes from `at` upwards are let go when they may send.
    #[inline]
    pub(super) fn watch(&mut self, now: Time, at: usize) {
        if at != ROOT {
            self.watch_up(now, at);
        }
    }

    #[inline(never)]
    fn watch_up(&mut self, now: Time, mut at: usize) {
        while let Some(parent) = self.tree.parent(at) {
            if let Some(until) = self.tree.held_until(now, at)
                && until > now
                && until < self.tree.nodes[at].watched
            {
                self.tree.nodes[at].watched = until;
                self.held.push(Reverse((until, Member::Node(at as u16))));
            }
            at = parent;
        }
    }

    /// The last bit of the packet in service is out. False when none was.
    #[inline(always)]
    pub(super) fn finish(&mut self, now: Time) -> bool {
        if !self.busy {
            return false;
        }
        let Packet { flow, len, .. } = self.serving;
        self.busy = false;
        self.stats.service_ends(now);
        self.stats.reached(self.backlog.packets);
        self.backlog.take(len);
        self.sent.add(len);
        if self.table.closing > 0 {
            self.retire_if_drained(flow);
        }
        true
    }

    /// What of a flow is here: in its queue, in its shaper, in service.
    pub(super) fn held(&self, flow: FlowIx) -> Backlog {
        let entry = &self.table.flows[flow.ix()];
        let queues = &self.tree.nodes[usize::from(entry.node)].queues;
        let mut held = self.shaping.backlog(flow);
        held.packets += u64::from(queues.len(entry.slot));
        held.bytes += queues.bytes_of(entry.slot);
        if let Some(packet) = self.in_service().filter(|packet| packet.flow == flow) {
            held.add(packet.len);
        }
        held
    }

    /// What a flow has sent and lost; zeros for a flow that does not exist.
    pub(super) fn counters(&self, flow: FlowIx) -> FlowCounters {
        let Some(&Flow { arrived, dropped, .. }) = self.table.flows.get(flow.ix()) else {
            return FlowCounters::default();
        };
        let held = self.held(flow);
        let sent = Backlog {
            packets: arrived.packets - dropped.packets - held.packets,
            bytes: arrived.bytes - dropped.bytes - held.bytes,
        };
        FlowCounters { arrived, sent, dropped }
    }

    /// Lets go what had to wait until now. `orders` numbers what leaves the shapers.
    pub(super) fn timer(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, orders: &mut u64) {
        if self.wake_at <= cx.now {
            self.wake_at = Time::NEVER;
        }
        while let Some(packet) = self.shaping.pop(cx.now) {
            let flow = packet.flow;
            *orders += 1;
            let mut packet = Packet { arrived: cx.now, ..packet };
            let entry = &self.table.flows[flow.ix()];
            let place = (usize::from(entry.node), entry.slot);
            self.admit(cx, pool, &mut packet, *orders, place);
            self.retire_if_drained(flow);
        }
        self.let_go(cx.now);
        self.ask(cx);
    }

    /// Lets go what ceilings held until now.
    #[inline(never)]
    fn let_go(&mut self, now: Time) {
        while let Some(Reverse((at, member))) = self.held.peek().copied()
            && at <= now
        {
            self.held.pop();
            match member {
                Member::Flow(flow) => {
                    let ceiling = self.table.flows[flow.ix()].ceiling;
                    let clear_at = ceiling.map(|ceiling| ceiling.clear_at());
                    if clear_at.is_none_or(|clear_at| clear_at <= now) {
                        self.hold(now, flow, false);
                    }
                }
                Member::Node(node) => {
                    let node = usize::from(node);
                    if self.tree.nodes[node].watched == at {
                        self.tree.nodes[node].watched = Time::NEVER;
                    }
                    self.tree.settle(now, node);
                    self.watch(now, node);
                }
            }
        }
    }

    /// The tree is new: what is held there is not known by its old index.
    pub(super) fn forget_held_nodes(&mut self) {
        self.held.retain(|Reverse((_, member))| matches!(member, Member::Flow(_)));
    }

    /// Asks to be woken when something that waits may go.
    pub(super) fn ask(&mut self, cx: &mut Ctx<'_>) {
        let mut next = self.shaping.next().unwrap_or(Time::NEVER);
        if let Some(Reverse((at, _))) = self.held.peek() {
            next = next.min(*at);
        }
        if !self.busy
            && let Some(at) = self.tree.not_before(cx.now)
        {
            next = next.min(at);
        }
        if next < self.wake_at {
            self.wake_at = next;
            cx.out.push(Effect::Wake { port: self.ix, at: next });
        }
    }

    /// Makes room: drops the packet that the schedulers would send last.
    pub(super) fn push_out(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool) -> bool {
        let Some((_, packet)) = self.tree.push_out(cx) else { return false };
        self.stats.left(cx.now);
        self.backlog.take(packet.len);
        self.drop(cx, pool, &packet, Reason::PushedOut);
        self.retire_if_drained(packet.flow);
        true
    }

    /// Makes room in a shaper: drops the flow's latest waiting packet.
    pub(super) fn push_out_shaped(&mut self, cx: &mut Ctx<'_>, pool: &mut Pool, flow: FlowIx) -> bool {
        let Some(packet) = self.shaping.evict(flow) else { return false };
        self.drop(cx, pool, &packet, Reason::PushedOut);
        self.retire_if_drained(flow);
        true
    }

    /// Packets that push-out could take.
    pub(super) fn evictable(&self) -> u64 {
        self.backlog.packets - u64::from(self.busy)
    }

    pub(super) fn leg(&self, flow: FlowIx) -> Leg {
        Leg { port: self.ix, flow }
    }
}

/// The pool without a packet that is counted in it.
#[inline]
fn without(mut pool: Backlog, packet: &Packet) -> Backlog {
    pool.take(packet.len);
    pool
}
