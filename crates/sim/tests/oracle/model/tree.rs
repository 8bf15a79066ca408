//! A port's tree of schedulers: lists of packets, searched from end to end.
//!
//! Towards its parent a class looks like a flow with one packet, its *token*: as long and as old as
//! the packet that the class would send first, and stamped as packets are. Some rules change the
//! token with the class's next packet; under the others, bytes sent beyond the token's length are
//! charged to the next token.

mod held;

use super::Ticks;
use super::buckets::Ceiling;
use super::rules::{Memory, Rule};
use crate::known;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Colour;
use tidegate_core::switch::plan::PortPlan;
use tidegate_core::units::Rate;
use tidegate_sim::packet_log::PacketId;

/// A packet that is queued, or the token of a class.
#[derive(Clone, Debug)]
pub struct Queued {
    /// `None` for a token.
    pub packet: Option<PacketId>,
    pub len: u32,
    pub arrived: Ticks,
    pub order: u64,
    /// Stamp written by the scheduler.
    pub stamp: Ticks,
    /// Value carried from hop to hop.
    pub carry: i64,
    pub colour: Colour,
}

/// Kind of a node's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Flow(u32),
    Node(usize),
}

/// A flow or a class, at the node above it.
#[derive(Clone, Debug)]
pub struct Member {
    pub who: Who,
    pub contract: Contract,
    /// A flow's ceiling; a class's ceiling is in its node.
    pub ceiling: Option<Ceiling>,
    /// auxVC; 0 for a newcomer.
    pub aux_vc: Ticks,
    /// VirtualClock's reading after a check that waits for an empty queue, and the number of times
    /// that the queue had been empty by then.
    pub checked: Option<(Ticks, u64)>,
    /// State of a rule with stamps of its own.
    pub memory: Memory,
    pub queue: Vec<Queued>,
    /// True while it is held, until the switch has noticed that it no longer is.
    is_away: bool,
}

/// A scheduler and its members.
pub struct Node {
    pub rule: Rule,
    pub members: Vec<Member>,
    pub ceiling: Option<Ceiling>,
    /// The node above, and its place there.
    pub above: Option<(usize, usize)>,
    /// Bytes sent less bytes that tokens announced.
    uncharged: i64,
    /// Number of sent packets that left no other behind, or were datagrams.
    emptied: u64,
}

/// The root first, parents before their children.
pub struct Tree {
    pub nodes: Vec<Node>,
}

impl Tree {
    pub fn new(now: Ticks, plan: &PortPlan) -> Tree {
        let least = |a: Option<Rate>, b: Option<Rate>| a.into_iter().chain(b).min();
        let mut rates = vec![least(plan.rate, plan.ceiling)];
        let root = Node {
            rule: Rule::new(&plan.scheduler, rates[0], true),
            members: Vec::new(),
            ceiling: plan.ceiling.map(Ceiling::new),
            above: None,
            uncharged: 0,
            emptied: 0,
        };
        let mut tree = Tree { nodes: vec![root] };
        for class in &plan.classes {
            let parent = class.parent.map_or(0, |parent| usize::from(parent) + 1);
            rates.push(least(rates[parent], class.ceiling));
            let place = tree.open(now, parent, Who::Node(tree.nodes.len()), class.contract, None);
            tree.nodes.push(Node {
                rule: Rule::new(&class.scheduler, rates[rates.len() - 1], false),
                members: Vec::new(),
                ceiling: class.ceiling.map(Ceiling::new),
                above: Some((parent, place)),
                uncharged: 0,
                emptied: 0,
            });
        }
        tree
    }

    /// Adds a member to a node; its place.
    pub fn open(
        &mut self,
        now: Ticks,
        at: usize,
        who: Who,
        contract: Contract,
        ceiling: Option<Rate>,
    ) -> usize {
        let node = &mut self.nodes[at];
        let ceiling = ceiling.map(Ceiling::new);
        let (aux_vc, checked, memory) = (0, None, Memory::default());
        let (queue, is_away) = (Vec::new(), false);
        node.members.push(Member { who, contract, ceiling, aux_vc, checked, memory, queue, is_away });
        let place = node.members.len() - 1;
        node.rule.opened(now, place, contract.reserve);
        place
    }

    /// Returns true if a member has a packet that may be sent now.
    fn may_send(&self, member: &Member, now: Ticks) -> bool {
        let clear = member.ceiling.is_none_or(|ceiling| ceiling.clear_at <= now);
        let ready = match member.who {
            Who::Flow(_) => true,
            Who::Node(node) => self.select(node, now).is_some(),
        };
        !member.queue.is_empty() && clear && ready
    }

    /// The member whose turn it is at a node, under its ceiling.
    fn select(&self, at: usize, now: Ticks) -> Option<usize> {
        let node = &self.nodes[at];
        if node.ceiling.is_some_and(|ceiling| ceiling.clear_at > now) {
            return None;
        }
        self.select_without_ceiling(at, now)
    }

    fn select_without_ceiling(&self, at: usize, now: Ticks) -> Option<usize> {
        self.select_among(at, now, |member| self.may_send(member, now))
    }

    fn select_among(&self, at: usize, now: Ticks, is_able: impl Fn(&Member) -> bool) -> Option<usize> {
        let node = &self.nodes[at];
        let places = 0..node.members.len();
        let able: Vec<usize> = places.filter(|place| is_able(&node.members[*place])).collect();
        node.rule.first(now, &node.members, &able)
    }

    /// True if a packet may start.
    pub fn may_start(&self, now: Ticks) -> bool {
        self.select(0, now).is_some()
    }

    /// The leaf of the next packet, and its place there, for tokens as long as what their classes
    /// would send.
    pub fn next(&mut self, now: Ticks) -> Option<(usize, usize)> {
        self.release(now);
        let mut at = 0;
        loop {
            let Some(place) = self.select_noticed(at, now) else {
                if at == 0 {
                    return None;
                }
                self.notice_upwards(now, at);
                at = 0;
                continue;
            };
            if self.resize_token(at, self.nodes[at].members[place].queue[0].len) {
                at = 0;
                continue;
            }
            match self.nodes[at].members[place].who {
                Who::Flow(_) => return Some((at, place)),
                Who::Node(node) => at = node,
            }
        }
    }

    /// A class that would send `len` bytes next changes its token, if it may. True if it has.
    fn resize_token(&mut self, at: usize, len: u32) -> bool {
        let Some((above, place)) = self.nodes[at].above else { return false };
        let before = self.nodes[above].members[place].queue[0].len;
        let all = self.nodes[at].uncharged + i64::from(before);
        let after = (i64::from(len) + all).max(1) as u32;
        let resized = after != before && self.nodes[above].rule.resized(place, after);
        if resized {
            self.nodes[above].members[place].queue[0].len = after;
            self.nodes[at].uncharged = all - i64::from(after);
        }
        resized
    }

    /// The times after `now` at which something may become ready by itself.
    pub fn turning_points(&self, now: Ticks) -> Vec<Ticks> {
        let of_members = self.nodes.iter().flat_map(|node| &node.members).filter_map(|member| member.ceiling);
        let of_nodes = self.nodes.iter().filter_map(|node| node.ceiling);
        let mut points: Vec<Ticks> = of_members.chain(of_nodes).map(|ceiling| ceiling.clear_at).collect();
        points.retain(|at| *at > now);
        points.push(now);
        let from = points.clone();
        for node in &self.nodes {
            let heads = node.members.iter().filter_map(|member| Some((member, member.queue.first()?)));
            let eligible = heads.map(|(member, head)| node.rule.eligible_at(member, head));
            points.extend(eligible.filter(|at| *at > now));
            from.iter().for_each(|at| points.extend(node.rule.slots_from(*at)));
        }
        points.sort_unstable();
        points.dedup();
        points
    }

    pub fn is_empty(&self) -> bool {
        self.nodes[0].members.iter().all(|member| member.queue.is_empty())
    }

    /// A packet joins the queue of a flow.
    pub fn push(&mut self, now: Ticks, leaf: usize, place: usize, packet: Queued) {
        self.stamp_and_queue(now, leaf, place, packet);
        let mut at = leaf;
        while let Some((above, place)) = self.nodes[at].above {
            self.notice(now, at);
            if self.nodes[above].members[place].queue.is_empty() {
                self.announce(now, at);
            }
            at = above;
        }
    }

    fn stamp_and_queue(&mut self, now: Ticks, at: usize, place: usize, mut packet: Queued) {
        let others = self.any_waits(at);
        let node = &mut self.nodes[at];
        node.rule.joins(now, place, &node.members[place].queue, &packet, others);
        packet.stamp = node.rule.stamp(&mut node.members[place], &packet, node.emptied);
        node.members[place].queue.push(packet);
        if node.members[place].queue.len() == 1 {
            node.rule.joined(place, &node.members);
        }
    }

    /// A class that has packets puts its next token into the node above.
    fn announce(&mut self, now: Ticks, at: usize) {
        let Some((above, place)) = self.nodes[at].above else { return };
        let firsts = self.nodes[at].members.iter().filter_map(|member| member.queue.first());
        let Some(oldest) = firsts.min_by_key(|first| first.order) else { return };
        let head = match self.select_noticed_without_ceiling(at, now) {
            Some(member) => &self.nodes[at].members[member].queue[0],
            None => oldest,
        };
        let len = (i64::from(head.len) + self.nodes[at].uncharged).max(1) as u32;
        let token = Queued { packet: None, len, carry: 0, ..head.clone() };
        self.nodes[at].uncharged -= i64::from(len);
        self.stamp_and_queue(now, above, place, token);
    }

    /// The first packet at a place starts: every node above is charged.
    pub fn take(&mut self, now: Ticks, leaf: usize, place: usize) -> Queued {
        let mut sent = self.remove_first(now, leaf, place);
        let node = &mut self.nodes[leaf];
        node.rule.depart(now, &node.members[place], &mut sent);
        let charge = |ceiling: &mut Option<Ceiling>| {
            if let Some(ceiling) = ceiling {
                ceiling.charge(now, sent.arrived, sent.len);
            }
        };
        let announced_first = known::tokens_announce_what_is_held_next();
        if !announced_first {
            charge(&mut self.nodes[leaf].members[place].ceiling);
        }
        charge(&mut self.nodes[leaf].ceiling);
        let mut at = leaf;
        while let Some((above, place)) = self.nodes[at].above {
            self.nodes[at].uncharged += i64::from(sent.len);
            if self.has_packets(at) {
                self.announce(now, at);
            } else {
                self.nodes[at].uncharged = 0;
            }
            let mut token = self.remove_first(now, above, place);
            let node = &mut self.nodes[above];
            node.rule.depart(now, &node.members[place], &mut token);
            charge(&mut node.ceiling);
            self.notice(now, at);
            at = above;
        }
        if announced_first {
            charge(&mut self.nodes[leaf].members[place].ceiling);
        }
        if self.nodes[leaf].members[place].ceiling.is_some_and(|ceiling| ceiling.clear_at > now) {
            self.set_away(now, leaf, place, true);
            self.notice_upwards(now, leaf);
        }
        sent
    }

    fn remove_first(&mut self, now: Ticks, at: usize, place: usize) -> Queued {
        let node = &mut self.nodes[at];
        node.rule.choose(&node.members);
        let first = node.members[place].queue.remove(0);
        node.rule.served(now, place, &first, &node.members[place].queue);
        node.rule.sent(now, place, &first, &mut node.members);
        self.nodes[at].emptied += u64::from(first.stamp == Ticks::MAX || !self.has_packets(at));
        first
    }

    /// The flow's monitor has checked it.
    pub fn synchronise(
        &mut self,
        leaf: usize,
        place: usize,
        virtual_clock: Ticks,
        in_service: Option<Ticks>,
    ) {
        let waits = self.has_packets(leaf);
        let node = &mut self.nodes[leaf];
        let queue = waits.then_some(node.emptied);
        node.rule.synchronise(&mut node.members[place], virtual_clock, in_service, queue);
    }

    fn has_packets(&self, at: usize) -> bool {
        self.nodes[at].members.iter().any(|member| !member.queue.is_empty())
    }

    /// Takes the packet that push-out removes first; the pool is measured in bytes, or in packets.
    pub fn push_out(&mut self, now: Ticks, in_bytes: bool) -> Option<(usize, u32, Queued)> {
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            let last = |place: &usize| {
                let member = &node.members[*place];
                let behind = self.behind(member);
                let rank = |last| node.rule.rank_of_last(*place, &node.members, last, behind, in_bytes);
                member.queue.last().map(|last| (rank(last), last.order))
            };
            let place = (0..node.members.len()).filter(|place| last(place).is_some()).max_by_key(last)?;
            match node.members[place].who {
                Who::Node(child) => at = child,
                Who::Flow(flow) => {
                    let node = &mut self.nodes[at];
                    let gone = node.members[place].queue.pop()?;
                    node.rule.pushed_out(now, place, &gone, &node.members[place].queue);
                    node.rule.removed(place, &node.members);
                    self.withdraw(now, at);
                    return Some((at, flow, gone));
                }
            }
        }
    }

    /// Packets and bytes that a class has queued beyond its token.
    fn behind(&self, member: &Member) -> (u64, u64) {
        let Who::Node(class) = member.who else { return (0, 0) };
        let (packets, bytes) = self.queued(class);
        let token: u64 = member.queue.iter().map(|token| u64::from(token.len)).sum();
        (packets.saturating_sub(1), bytes.saturating_sub(token))
    }

    /// Packets and bytes at a node, and beneath it.
    fn queued(&self, at: usize) -> (u64, u64) {
        let of = |member: &Member| match member.who {
            Who::Node(class) => self.queued(class),
            Who::Flow(_) => {
                let bytes = member.queue.iter().map(|packet| u64::from(packet.len)).sum();
                (member.queue.len() as u64, bytes)
            }
        };
        let add = |sum: (u64, u64), more: (u64, u64)| (sum.0 + more.0, sum.1 + more.1);
        self.nodes[at].members.iter().map(of).fold((0, 0), add)
    }

    /// Classes without packets have no token.
    fn withdraw(&mut self, now: Ticks, mut at: usize) {
        while let Some((above, place)) = self.nodes[at].above {
            if !self.has_packets(at)
                && let Some(token) = self.nodes[above].members[place].queue.pop()
            {
                let node = &mut self.nodes[above];
                node.rule.pushed_out(now, place, &token, &[]);
                node.rule.removed(place, &node.members);
                self.nodes[at].uncharged = 0;
            }
            self.notice(now, at);
            at = above;
        }
    }
}
