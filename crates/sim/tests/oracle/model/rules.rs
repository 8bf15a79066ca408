//! The service orders, as their papers and chapters have them.

mod fair;
mod frame;
mod restamped;
mod tags;
mod turns;

pub use restamped::Memory;

use super::Ticks;
use super::tree::{Member, Queued};
use fair::{Fair, Which};
use frame::Frame;
use restamped::{Restamped, Waits};
use tidegate_core::params::Value;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::{Rate, Span};
use turns::Turns;

/// The stamp of a datagram.
const NEVER: Ticks = Ticks::MAX;

/// A service order.
pub enum Rule {
    Fifo,
    StrictPriority,
    VirtualClock {
        /// True if stamps lag behind real time until a check.
        saves_credit: bool,
        /// True if a check sets the clock back only when the queue has been empty.
        waits: bool,
    },
    Tdm(Frame),
    FifoPlus(Waits),
    EarliestDeadline {
        regulated: bool,
        /// Rate of the server.
        rate: Option<Rate>,
    },
    Turns(Turns),
    Restamped(Restamped),
    Fair(Fair),
}

fn value(kind: &SchedulerKind, key: &str) -> Option<Value> {
    kind.values().into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

impl Rule {
    /// The rule of a plan, in front of a server of this rate: at a port, or in a class.
    pub fn new(kind: &SchedulerKind, rate: Option<Rate>, at_port: bool) -> Rule {
        match kind.record().name {
            // Ports with the others are not followed.
            "fifo" | "drr++" | "host-drr++" | "triple-isolate" | "time-shifted-fifo" => Rule::Fifo,
            "strict-priority" => Rule::StrictPriority,
            "virtual-clock" => {
                let saves_credit = value(kind, "stamp") == Some(Value::Text("virtual-clock".into()));
                let waits = value(kind, "synchronise") == Some(Value::Text("empty-queue".into()));
                Rule::VirtualClock { saves_credit, waits }
            }
            "tdm" => {
                let own = match value(kind, "rate") {
                    Some(Value::Rate(bits)) => {
                        Rate::from_bits_per_second(bits.min(Rate::MAX_BITS_PER_SECOND))
                    }
                    _ => rate,
                };
                Rule::Tdm(Frame::new(kind, own.unwrap()))
            }
            name @ ("wfq" | "wf2q-plus" | "scfq" | "sfq") => {
                let which = match name {
                    "wfq" => Which::Wfq,
                    "wf2q-plus" => Which::Wf2qPlus,
                    "scfq" => Which::SelfClocked,
                    _ => Which::StartTime,
                };
                let Some(Value::Rate(bits)) = value(kind, "unreserved") else {
                    panic!("no weight of flows without a reservation")
                };
                Rule::Fair(Fair::new(which, Rate::from_bits_per_second(bits).unwrap(), rate, at_port))
            }
            "fifo-plus" => Rule::FifoPlus(Waits::default()),
            "edf" => Rule::EarliestDeadline { regulated: false, rate },
            "jitter-edd" => Rule::EarliestDeadline { regulated: true, rate },
            "round-robin" => Rule::Turns(Turns::new(None, false)),
            "drr" => {
                let (Some(Value::Size(bytes)), Some(Value::Rate(bits))) =
                    (value(kind, "quantum"), value(kind, "unreserved"))
                else {
                    panic!("no quantum")
                };
                let unreserved = Rate::from_bits_per_second(bits.min(Rate::MAX_BITS_PER_SECOND)).unwrap();
                let ends_late = value(kind, "form") == Some(Value::Text("linux".into()));
                Rule::Turns(Turns::new(Some((bytes, unreserved)), ends_late))
            }
            other => match Restamped::named(other, kind) {
                Some(rule) => Rule::Restamped(rule),
                None => panic!("no model of {other}"),
            },
        }
    }

    /// Time at which a packet may be sent.
    pub fn eligible_at(&self, member: &Member, packet: &Queued) -> Ticks {
        match self {
            Rule::EarliestDeadline { regulated: true, .. } if member.contract.deadline.is_some() => {
                packet.arrived.saturating_add(packet.carry.max(0) as u64)
            }
            _ => packet.arrived,
        }
    }

    /// A packet has joined the queue of a member that had none.
    pub fn joined(&mut self, place: usize, members: &[Member]) {
        if let Rule::Turns(turns) = self {
            turns.joined(place, members);
        }
    }

    /// The next packet is to be sent.
    pub fn choose(&mut self, members: &[Member]) {
        if let Rule::Turns(turns) = self {
            turns.choose(members);
        }
    }

    /// The first packet of the member at this place is sent, and out of its queue.
    pub fn sent(&mut self, now: Ticks, place: usize, packet: &Queued, members: &mut [Member]) {
        match self {
            Rule::Turns(turns) => turns.sent(packet, members),
            Rule::Restamped(rule) => rule.sent(now, &mut members[place]),
            Rule::Tdm(frame) => frame.sent(now, place, members[place].contract.reserve.is_some()),
            _ => {}
        }
    }

    /// The latest packet of a member was removed and will not be sent.
    pub fn removed(&mut self, place: usize, members: &[Member]) {
        if let Rule::Turns(turns) = self {
            turns.removed(place, members);
        }
    }

    /// Sets the value that a packet carries when its service begins.
    pub fn depart(&mut self, now: Ticks, member: &Member, packet: &mut Queued) {
        match self {
            Rule::FifoPlus(waits) => waits.carry(now, packet),
            Rule::Restamped(rule) => rule.depart(now, packet),
            Rule::EarliestDeadline { regulated: true, rate } if member.contract.deadline.is_some() => {
                let out = now + rate.map_or(0, |rate| rate.time_for(packet.len).ticks());
                packet.carry = packet.stamp.saturating_sub(out) as i64;
            }
            _ => {}
        }
    }

    /// A member comes, or its reservation changes.
    pub fn opened(&mut self, now: Ticks, place: usize, reserve: Option<Rate>) {
        let frame = match self {
            Rule::Tdm(frame) => frame,
            Rule::Fair(fair) => return fair.opened(now, place, reserve),
            Rule::Turns(turns) => return turns.opened(reserve),
            _ => return,
        };
        frame.opened(now, place, reserve);
    }

    /// A member is gone, and its packets too.
    pub fn closed(&mut self, place: usize, member: &mut Member) {
        match self {
            Rule::Tdm(frame) => frame.assign(place, 0),
            Rule::Restamped(_) => Restamped::closed(member),
            _ => {}
        }
    }

    /// A packet joins the queue of a member; `others` is true if any member has packets that it could
    /// send.
    pub fn joins(&mut self, now: Ticks, place: usize, queue: &[Queued], packet: &Queued, others: bool) {
        if let Rule::Fair(fair) = self {
            fair.joins(now, place, packet, !queue.is_empty(), !others);
        }
    }

    /// A packet is served; `queue` is the rest of its member's queue.
    pub fn served(&mut self, now: Ticks, place: usize, packet: &Queued, queue: &[Queued]) {
        if let Rule::Fair(fair) = self {
            fair.served(now, place, packet.len, queue.first().map(|next| next.len));
        }
    }

    /// The token of a member has another length; false if its stamp cannot change.
    pub fn resized(&mut self, place: usize, len: u32) -> bool {
        if let Rule::Fair(fair) = self { fair.resized(place, len) } else { false }
    }

    /// The latest packet of a member, `gone`, was pushed out; `queue` is the rest of its queue.
    pub fn pushed_out(&mut self, now: Ticks, place: usize, gone: &Queued, queue: &[Queued]) {
        if let Rule::Fair(fair) = self {
            fair.pushed_out(now, place, gone.len, !queue.is_empty());
        }
    }

    /// The stamp of a packet that is about to join a queue; `emptied` counts the times that the
    /// queue has been empty.
    pub fn stamp(&self, member: &mut Member, packet: &Queued, emptied: u64) -> Ticks {
        let latest = member.queue.last().map_or(0, |last| last.stamp);
        let saves_credit = match self {
            Rule::VirtualClock { saves_credit, .. } => *saves_credit,
            Rule::Restamped(_) => false,
            Rule::FifoPlus(_) => {
                let expected = i128::from(packet.arrived) - i128::from(packet.carry);
                return latest.max(expected.clamp(0, NEVER.into()) as Ticks);
            }
            Rule::EarliestDeadline { .. } => {
                let due = |bound: Span| self.eligible_at(member, packet).saturating_add(bound.ticks());
                return latest.max(member.contract.deadline.map_or(NEVER, due));
            }
            _ => return packet.order,
        };
        let Some(reserve) = member.contract.reserve else { return NEVER };
        match &mut member.checked {
            Some((virtual_clock, by_then)) if *by_then == emptied => {
                *virtual_clock += reserve.time_for(packet.len).ticks();
            }
            checked => {
                if let Some((virtual_clock, _)) = checked.take() {
                    member.aux_vc = virtual_clock;
                }
            }
        }
        // A newcomer's clock starts at real time.
        let before = member.aux_vc;
        let lags = saves_credit && member.aux_vc > 0;
        let from = if lags { member.aux_vc } else { member.aux_vc.max(packet.arrived) };
        member.aux_vc = from + reserve.time_for(packet.len).ticks();
        match self {
            Rule::Restamped(rule) => rule.stamp(member, packet, before, member.aux_vc),
            _ => member.aux_vc.saturating_sub(member.contract.head_start.ticks()),
        }
    }

    /// Rank of a packet: smaller is sooner.
    fn rank(&self, member: &Member, packet: &Queued) -> (u8, Ticks, u64) {
        match self {
            Rule::Fifo | Rule::Tdm(_) | Rule::Turns(_) => (0, 0, packet.order),
            Rule::StrictPriority => (member.contract.priority, 0, packet.order),
            Rule::VirtualClock { .. }
            | Rule::Restamped(_)
            | Rule::FifoPlus(_)
            | Rule::EarliestDeadline { .. } => (0, packet.stamp, packet.order),
            Rule::Fair(_) => unreachable!("ranked by tags"),
        }
    }

    /// Push-out's order among the latest packets: the largest goes first. `behind` is the number of
    /// packets and bytes behind a class's token.
    pub fn rank_of_last(
        &self,
        place: usize,
        members: &[Member],
        last: &Queued,
        behind: (u64, u64),
        in_bytes: bool,
    ) -> (u8, u128, u64) {
        let member = &members[place];
        match self {
            Rule::Fair(fair) => (0, fair.last(place, member, behind.1), last.order),
            Rule::Turns(turns) => (0, turns.rank_of_last(member, place, behind, in_bytes).into(), last.order),
            Rule::VirtualClock { .. } | Rule::Restamped(_) => {
                let takes = |reserve: Rate| reserve.time_for(behind.1 as u32).ticks();
                let further = member.contract.reserve.filter(|_| last.stamp != NEVER).map_or(0, takes);
                (0, (last.stamp + further).into(), last.order)
            }
            _ => {
                let (level, stamp, order) = self.rank(member, last);
                (level, stamp.into(), order)
            }
        }
    }

    /// A member is held from now on.
    pub fn leaves(&mut self, now: Ticks, place: usize) {
        if let Rule::Fair(fair) = self {
            fair.leaves(now, place);
        }
    }

    /// A member is held no longer; `others` is true if any other has packets that it could send.
    pub fn returns(&mut self, now: Ticks, place: usize, queue: &[Queued], others: bool) {
        if let Rule::Fair(fair) = self {
            fair.returns(now, place, queue, !others);
        }
    }

    /// The member that sends now, of those that are able to.
    pub fn first(&self, now: Ticks, members: &[Member], able: &[usize]) -> Option<usize> {
        let by_rank = |place: &usize| self.rank(&members[*place], &members[*place].queue[0]);
        match self {
            Rule::Fair(fair) => fair.first(now, members, able),
            Rule::Tdm(frame) => {
                let owner = frame.owner_from(now)?;
                let entitled = |place: &usize| match owner {
                    Some(owner) => *place == owner,
                    None => members[*place].contract.reserve.is_none(),
                };
                let has_window = |place: &usize| frame.left(now, *place) > 0;
                let own = able.iter().copied().filter(entitled).min_by_key(by_rank);
                own.or_else(|| able.iter().copied().filter(has_window).min_by_key(by_rank))
            }
            Rule::Turns(turns) => turns.first(members).filter(|place| able.contains(place)),
            Rule::Restamped(rule) if let Some(due) = rule.due(now, members, able) => Some(due),
            _ => {
                let eligible =
                    |place: &usize| self.eligible_at(&members[*place], &members[*place].queue[0]) <= now;
                able.iter().copied().filter(eligible).min_by_key(by_rank)
            }
        }
    }

    /// When slots begin from `at` on, for one frame.
    pub fn slots_from(&self, at: Ticks) -> Vec<Ticks> {
        match self {
            Rule::Tdm(frame) => frame.slots_from(at),
            _ => Vec::new(),
        }
    }

    /// The flow's monitor has checked it: its VirtualClock reads `virtual_clock`. `in_service` is
    /// the stamp of the packet that the link sends, if that was queued here; `queue` is, for a
    /// queue with packets, how often it has been empty.
    pub fn synchronise(
        &self,
        member: &mut Member,
        virtual_clock: Ticks,
        in_service: Option<Ticks>,
        queue: Option<u64>,
    ) {
        let Rule::VirtualClock { saves_credit, waits } = self else { return };
        if *saves_credit {
            member.aux_vc = member.aux_vc.max(virtual_clock);
            return;
        }
        if *waits {
            member.checked = queue.map(|emptied| (virtual_clock, emptied));
            if queue.is_none() {
                member.aux_vc = virtual_clock;
            }
            return;
        }
        let head_start = member.contract.head_start.ticks();
        if in_service.is_none_or(|stamp| stamp > member.aux_vc.saturating_sub(head_start)) {
            // Never below the stamps of the flow's own queue.
            let queued = member.queue.last().map_or(0, |last| last.stamp.saturating_add(head_start));
            member.aux_vc = virtual_clock.max(queued);
        }
    }
}
