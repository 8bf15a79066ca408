//! Packets that wait at a port, and the times of their release: shapers, ceilings,
//! non-work-conserving schedulers.

use super::Port;
use crate::context::{Ctx, Effect};
use crate::packet::{FlowIx, Packet};
use crate::queues::Participation;
use crate::switch::pool::Pool;
use crate::switch::tree::{Member, ROOT};
use crate::units::Time;
use core::cmp::Reverse;

impl Port {
    pub(in crate::switch) fn take_part(&mut self, now: Time, flow: FlowIx, how: Participation) {
        self.table.flows[flow.ix()].participation = how;
        self.pass_participation(now, flow);
    }

    pub(super) fn hold(&mut self, now: Time, flow: FlowIx, held: bool) {
        self.table.flows[flow.ix()].held = held;
        self.pass_participation(now, flow);
    }

    /// Passes the flow's participation to its node.
    pub(in crate::switch) fn pass_participation(&mut self, now: Time, flow: FlowIx) {
        let entry = &self.table.flows[flow.ix()];
        let at = usize::from(entry.node);
        self.tree.take_part(now, at, entry.slot, entry.effective_participation());
        self.update_eligibility(now, at);
    }

    /// Updates a node and its ancestors after time has passed, or after its scheduler, a member or
    /// a rate has changed: whether they may send, and when they are released if they may not.
    pub(in crate::switch) fn update_eligibility(&mut self, now: Time, at: usize) {
        self.tree.update_participation(now, at);
        self.schedule_release(now, at);
    }

    /// Charges a packet that starts to its flow's ceiling, and holds the flow if that delays it.
    #[inline(never)]
    pub(super) fn charge_ceiling(&mut self, now: Time, packet: Packet) {
        let Packet { flow, len, arrived, .. } = packet;
        if let Some(ceiling) = self.table.ceiling_mut(flow) {
            ceiling.take(now, arrived, len);
            let clear_at = ceiling.clear_at();
            // After a packet that has waited for the link, the next one may follow at once.
            let is_held = clear_at > now;
            if is_held {
                self.held.push(Reverse((clear_at, Member::Flow(flow))));
                self.may_hold = true;
            }
            self.hold(now, flow, is_held);
        }
    }

    /// Schedules the release of the nodes from `at` upwards.
    #[inline]
    pub(in crate::switch) fn schedule_release(&mut self, now: Time, at: usize) {
        if at != ROOT {
            self.schedule_release_upwards(now, at);
        }
    }

    #[inline(never)]
    fn schedule_release_upwards(&mut self, now: Time, mut at: usize) {
        while let Some(parent) = self.tree.parent(at) {
            if let Some(until) = self.tree.held_until(now, at)
                && until > now
                && until < self.tree.nodes[at].release_at
            {
                self.tree.nodes[at].release_at = until;
                self.held.push(Reverse((until, Member::Node(at as u16))));
                self.may_hold = true;
            }
            at = parent;
        }
    }

    /// Releases all that had to wait until now; `orders` numbers the packets that leave the
    /// shapers. Returns true if the first of them starts at once, as when it
    /// [arrives](Self::arrive).
    #[inline(always)]
    pub(in crate::switch) fn timer(
        &mut self,
        cx: &mut Ctx<'_>,
        pool: &mut Pool,
        orders: &mut u64,
        is_free: impl FnOnce() -> bool,
    ) -> bool {
        if self.wake_at <= cx.now {
            self.wake_at = Time::NEVER;
        }
        let starts = self.backlog.packets == 0
            && self.is_plain_in
            && self.is_plain_out
            && self.shaping.next().is_some_and(|at| at <= cx.now)
            && is_free();
        let mut started = false;
        while let Some(packet) = self.shaping.pop(cx.now) {
            let flow = packet.flow;
            *orders += 1;
            let mut packet = Packet { arrived: cx.now, ..packet };
            self.report_released(cx, &packet);
            let entry = &self.table.flows[flow.ix()];
            let place = (usize::from(entry.node), entry.slot);
            started |= self.admit(cx, pool, &mut packet, *orders, place, || starts);
            if self.is_closing {
                self.retire_if_drained(cx.now, flow);
            }
        }
        if !self.busy && !self.held.is_empty() {
            self.release_due(cx.now);
        }
        match self.backlog.packets > 0 && !self.busy {
            // The driver starts the port now; the start then asks for the tree's time.
            true => self.ask_at(cx, Time::NEVER),
            false => self.ask(cx),
        }
        started
    }

    /// Releases members that ceilings held until now. The link is free: while it is busy they stay
    /// held, until the next packet is about to start.
    #[inline(never)]
    pub(super) fn release_due(&mut self, now: Time) {
        while let Some(Reverse((at, member))) = self.held.peek().copied()
            && at <= now
        {
            self.held.pop();
            match member {
                Member::Flow(flow) => {
                    let ceiling = self.table.ceiling(flow);
                    let clear_at = ceiling.map(|ceiling| ceiling.clear_at());
                    if clear_at.is_none_or(|clear_at| clear_at <= now) {
                        self.hold(now, flow, false);
                    }
                }
                Member::Node(node) => {
                    let node = usize::from(node);
                    if self.tree.nodes[node].release_at == at {
                        self.tree.nodes[node].release_at = Time::NEVER;
                    }
                    self.update_eligibility(now, node);
                }
            }
        }
    }

    /// Returns true if the port releases a node at this time at the latest.
    pub(in crate::switch) fn releases_by(&self, at: usize, until: Time) -> bool {
        let releases = |(time, member): (Time, Member)| {
            time <= until && matches!(member, Member::Node(node) if usize::from(node) == at)
        };
        self.held.iter().any(|Reverse(held)| releases(*held))
    }

    /// Forgets held nodes after a change of the tree: their old indexes are invalid.
    pub(in crate::switch) fn forget_held_nodes(&mut self) {
        self.held.retain(|Reverse((_, member))| matches!(member, Member::Flow(_)));
    }

    /// Requests a wake-up for the next release: now for one that is overdue because the link was
    /// busy.
    pub(in crate::switch) fn ask(&mut self, cx: &mut Ctx<'_>) {
        let waits = !self.busy && self.backlog.packets > 0;
        let tree_at = if waits { self.tree.not_before(cx.now) } else { None };
        self.ask_at(cx, tree_at.unwrap_or(Time::NEVER));
    }

    /// Like [`ask`](Self::ask), with the time at which the tree may send.
    pub(super) fn ask_at(&mut self, cx: &mut Ctx<'_>, tree_at: Time) {
        let mut next = self.shaping.next().unwrap_or(Time::NEVER).min(tree_at);
        if !self.busy
            && let Some(Reverse((at, _))) = self.held.peek()
        {
            next = next.min(*at);
        }
        let next = next.max(cx.now);
        if next < self.wake_at {
            self.wake_at = next;
            cx.out.push(Effect::Wake { port: self.ix, at: next });
        }
    }
}
