//! Invariants that hold at every moment, checked against the queues themselves. Slow: for tests and
//! debug builds.

use super::Switch;
use super::flows::State;
use super::pool::Claim;
use super::port::Port;
use super::tree::Member;
use crate::packet::FlowIx;
use crate::scheduler::Select;
use crate::stats::Count;
use crate::units::Time;
use alloc::format;
use alloc::string::String;

impl Switch {
    /// Checks conservation of packets and bytes for every flow and port, the pool, work
    /// conservation (a member that may send is offered), and order within every flow.
    ///
    /// # Errors
    /// Names the violated invariant and its place.
    pub fn audit(&self, now: Time) -> Result<(), String> {
        let mut stored = 0;
        for port in &self.ports {
            port.audit(now).map_err(|what| format!("port {}: {what}", port.ix.0))?;
            stored += port.backlog.packets + port.shaping.held().packets;
        }
        // A multicast body is counted once, however many ports hold it.
        if self.pool.used.packets > stored {
            return Err(format!("{} packets in the pool, {stored} in queues", self.pool.used.packets));
        }
        if stored == 0 && self.pool.used != Count::default() {
            return Err(format!("nothing is queued, but the pool holds {:?}", self.pool.used));
        }
        Ok(())
    }
}

impl Port {
    fn audit(&self, now: Time) -> Result<(), String> {
        let (mut total, mut sent) = (Count::default(), self.table.forgotten());
        for (flow, entry) in self.table.flows.iter().enumerate() {
            let flow = FlowIx(flow as u32);
            let node = &self.tree.nodes[usize::from(entry.node)];
            let mut held = self.shaping.backlog(flow);
            let mut last = None;
            for queued in node.queues.of(entry.slot) {
                held.add(queued.packet.len);
                total.add(queued.packet.len);
                if last >= Some(queued.order) {
                    return Err(format!("flow {}: queued out of the order of arrival", flow.0));
                }
                last = Some(queued.order);
            }
            if let Some(packet) = self.in_service().filter(|packet| packet.flow == flow) {
                held.add(packet.len);
                total.add(packet.len);
            }
            if held != self.held(flow) {
                return Err(format!("flow {}: {:?} counted, but {held:?} held", flow.0, self.held(flow)));
            }
            let counters = self.counters(flow);
            sent.packets += counters.sent.packets;
            sent.bytes += counters.sent.bytes;
        }
        if sent != self.sent {
            return Err(format!("flows have sent {sent:?} in all, the port {:?}", self.sent));
        }
        if total != self.backlog {
            return Err(format!("{total:?} in queues, {:?} counted", self.backlog));
        }
        self.audit_droppers()?;
        self.audit_blocked()?;
        self.audit_release_times(now)?;
        self.audit_tree(now)
    }

    /// Checks that the count of each guarded queue equals the queues of the flows beneath it.
    fn audit_droppers(&self) -> Result<(), String> {
        for at in 0..self.tree.nodes.len() {
            let Some(counted) = self.droppers.counted(at) else { continue };
            let mut queued = Count::default();
            for (flow, entry) in self.table.flows.iter().enumerate() {
                let mut node = Some(usize::from(entry.node));
                while node.is_some_and(|node| node != at) {
                    node = node.and_then(|node| self.tree.parent(node));
                }
                // Closed flows have nothing queued, and may share a place.
                if node.is_some() && entry.state != State::Closed {
                    queued.merge(self.queued(FlowIx(flow as u32)));
                }
            }
            if queued != counted {
                return Err(format!("node {at}: {queued:?} queued, its dropper counts {counted:?}"));
            }
        }
        Ok(())
    }

    /// Checks the blocked backlog of push-out against the queues, and the claim of a port's flows
    /// against the one that its share uses.
    fn audit_blocked(&self) -> Result<(), String> {
        if let Some((kept, found)) = self.tree.blocked_kept_and_found()
            && kept != found
        {
            return Err(format!("{found:?} may not be sent now, {kept:?} counted"));
        }
        let flows = (0..self.table.flows.len() as u32).map(FlowIx);
        let claim = flows.fold(Claim::default(), |sum, flow| sum.plus(self.table.claim_of(flow)));
        if claim != self.table.claim() {
            return Err(format!("flows claim {claim:?} of the pool, {:?} counted", self.table.claim()));
        }
        Ok(())
    }

    /// Checks that a class that waits for a time is released by then.
    fn audit_release_times(&self, now: Time) -> Result<(), String> {
        for (at, node) in self.tree.nodes.iter().enumerate() {
            let Some(parent) = self.tree.parent(at) else { continue };
            let is_child =
                |member: &Member| matches!(member, Member::Node(child) if usize::from(*child) == at);
            let above = &self.tree.nodes[parent];
            let Some(slot) = above.members.iter().position(is_child) else { continue };
            if node.queues.is_empty() || above.queues.takes_part(FlowIx(slot as u32)) {
                continue;
            }
            let clear_at = node.ceiling.as_ref().map_or(Time::ORIGIN, |ceiling| ceiling.clear_at());
            let until = match node.selected(now) {
                _ if clear_at > now => clear_at,
                Select::Flow(_) => now,
                Select::NotBefore(time) if time < Time::NEVER => time.max(clear_at),
                Select::NotBefore(_) | Select::Idle => continue,
            };
            if !self.releases_by(at, until) {
                return Err(format!("node {at}: waits until {until:?}, and nothing releases it by then"));
            }
        }
        Ok(())
    }

    /// Checks that every node with an open member that has a packet offers one, and that every
    /// token stands for a node with packets.
    fn audit_tree(&self, now: Time) -> Result<(), String> {
        for (at, node) in self.tree.nodes.iter().enumerate() {
            let mut ready = false;
            for (slot, member) in node.members.iter().enumerate() {
                let slot = FlowIx(slot as u32);
                let packets = node.queues.packets_of(slot);
                match member {
                    Member::Flow(flow) => {
                        let entry = &self.table.flows[flow.ix()];
                        // Closed flows may share a place.
                        let here = entry.state != State::Closed
                            && (usize::from(entry.node), entry.slot) == (at, slot);
                        let told = node.queues.participation(slot);
                        if here && told != entry.effective_participation() {
                            return Err(format!("node {at}: flow {} takes part as {told:?}", flow.0));
                        }
                    }
                    Member::Node(child) => {
                        let below = self.tree.nodes[usize::from(*child)].queues.packets();
                        if u64::from(packets) != below.min(1) {
                            return Err(format!("node {at}: {packets} tokens for {below} packets"));
                        }
                    }
                }
                ready |= packets > 0 && node.queues.takes_part(slot);
            }
            let selected = node.selected(now);
            match selected {
                Select::Idle if ready => return Err(format!("node {at}: idle with a packet to send")),
                Select::Flow(slot) if node.queues.packets_of(slot) == 0 => {
                    return Err(format!("node {at}: selects member {}, which has nothing", slot.0));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
