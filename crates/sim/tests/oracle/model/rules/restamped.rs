//! The stamps of Pincheira 1994, sections 2.3.2, 3 and 4.3, put in place of VirtualClock's.

use super::super::Ticks;
use super::super::tree::{Member, Queued};
use tidegate_core::contract::Contract;
use tidegate_core::params::Value;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::units::Rate;

/// Kind of stamp.
#[derive(Clone, Copy, PartialEq)]
enum Stamp {
    PeakVc,
    Pulse,
    Deferred,
    Axel { bounded: bool, simplified: bool, length: Option<i128> },
    Measured { replace: bool },
}

/// A rule of that report.
pub struct Restamped {
    stamp: Stamp,
    /// True if the backlog is the flow's own queue here, false if it is the backlog at its reserved
    /// rate.
    counts_queue: bool,
    /// Share of a flow's reserved rate below which its service does not fall.
    floor: Option<f64>,
    /// Waiting times at this port, where packets carry their deviations.
    waits: Option<Waits>,
}

/// Number of packets sent, and their total waiting time.
#[derive(Default)]
pub struct Waits {
    sent: u128,
    waited: u128,
}

impl Waits {
    /// A packet is sent: it carries by how much it has waited longer than the mean.
    pub fn carry(&mut self, now: Ticks, packet: &mut Queued) {
        let own = now - packet.arrived;
        self.sent += 1;
        self.waited += u128::from(own);
        let mean = (self.waited / self.sent) as i128;
        packet.carry = (i128::from(packet.carry) + i128::from(own) - mean) as i64;
    }
}

/// State of a flow under a rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Its latest stamp.
    latest: i128,
    /// The backlog that its previous packet found, in ticks.
    backlog: i128,
    /// The lag of its previous packet by measured delays; `None` before that.
    lag: Option<i128>,
    /// The time at which its floor would have sent its first packet.
    due: Ticks,
    /// Bytes that it has sent since its first packet; `None` before that.
    sent: Option<u64>,
}

impl Restamped {
    /// The rule of this name, if it is one.
    pub fn named(name: &str, kind: &SchedulerKind) -> Option<Restamped> {
        let setting = |key| super::value(kind, key);
        let axel = |bounded| Stamp::Axel {
            bounded,
            simplified: setting("delta") == Some(Value::Text("simplified".into())),
            length: match setting("acceleration") {
                Some(Value::Time(length)) => Some(length.ticks().into()),
                _ => None,
            },
        };
        let stamp = match name {
            "peak-vc" => Stamp::PeakVc,
            "pulse" => Stamp::Pulse,
            "deferred" => Stamp::Deferred,
            "axel" | "axel-floor" => axel(true),
            "axel-measured" => {
                Stamp::Measured { replace: setting("upstream") == Some(Value::Text("replace".into())) }
            }
            "axel-unbounded" => axel(false),
            _ => return None,
        };
        let counts_queue = setting("backlog") == Some(Value::Text("real".into()));
        let floor = match setting("floor") {
            Some(Value::Number(share)) => Some(share),
            _ => None,
        };
        let waits = matches!(stamp, Stamp::Measured { .. }).then(Waits::default);
        Some(Restamped { stamp, counts_queue, floor, waits })
    }

    /// The rate that a member has at least.
    fn floor_of(&self, member: &Member) -> Option<Rate> {
        let bits = (member.contract.reserve?.bits_per_second() * self.floor?).round() as u64;
        Rate::from_bits_per_second(bits.max(1))
    }

    /// A packet has become the first of a member, whose floor counts from `start`.
    fn begin_floor(&self, member: &mut Member, start: Ticks, len: u32) {
        if let Some(rate) = self.floor_of(member) {
            member.memory.due = start + rate.time_for(len).ticks();
        }
    }

    /// A packet of a member is sent; its next one, if there is one, has become the first.
    pub fn sent(&self, now: Ticks, member: &mut Member) {
        if let Some(first) = member.queue.first().cloned() {
            let start = member.memory.due.max(first.arrived).min(now);
            self.begin_floor(member, start, first.len);
        }
    }

    /// The member whose first packet its floor would have sent by now, the earliest of them.
    pub fn due(&self, now: Ticks, members: &[Member], able: &[usize]) -> Option<usize> {
        let due = |place: &usize| (members[*place].memory.due, members[*place].queue[0].order);
        let has_floor = able.iter().copied().filter(|place| self.floor_of(&members[*place]).is_some());
        has_floor.filter(|place| due(place).0 <= now).min_by_key(due)
    }

    /// The packet of a member is sent: sets the value that it carries.
    pub fn depart(&mut self, now: Ticks, packet: &mut Queued) {
        if let Some(waits) = &mut self.waits {
            waits.carry(now, packet);
        }
    }

    /// The stamp of a packet of a flow whose auxVC read `before` and reads `base` with the packet.
    pub fn stamp(&self, member: &mut Member, packet: &Queued, before: Ticks, base: Ticks) -> Ticks {
        if member.queue.is_empty() {
            self.begin_floor(member, packet.arrived, packet.len);
        }
        let Contract { reserve: Some(reserve), peak, workahead, interval, .. } = member.contract else {
            return base;
        };
        let peak = peak.filter(|peak| *peak > reserve).unwrap_or(reserve);
        let ticks = |ticks: Ticks| i128::from(ticks);
        let (now, base) = (ticks(packet.arrived), ticks(base));
        let most = match (workahead, interval) {
            (Some(bytes), _) => ticks(reserve.time_for(bytes).ticks()),
            (None, Some(interval)) => ticks(interval.ticks()),
            (None, None) => 0,
        };
        let (slow, fast) =
            (ticks(reserve.time_for(packet.len).ticks()), ticks(peak.time_for(packet.len).ticks()));
        let queued: u64 = member.queue.iter().map(|queued| u64::from(queued.len)).sum();
        let backlog = match self.counts_queue {
            true => ticks(reserve.time_for(queued as u32).ticks()),
            false => (ticks(before) - now).max(0),
        };
        let Memory { latest, backlog: backlog_before, lag: lag_before, due, sent } = member.memory;
        let mut lag = None;
        let stamp = match self.stamp {
            Stamp::PeakVc => latest.max(now) + fast,
            Stamp::Deferred => (base - backlog.min(most)).max(latest + fast),
            Stamp::Axel { bounded, simplified, length } => {
                let most = length.unwrap_or(most);
                let grown = match simplified && backlog > most {
                    true => 0,
                    false => (backlog.min(most) - backlog_before.min(most)).max(0),
                };
                let accelerated = latest.max(now) + fast.max(slow - grown);
                if bounded { accelerated.max(base - most) } else { accelerated }
            }
            Stamp::Measured { replace } => {
                let now_behind = i128::from(packet.carry) + if replace { 0 } else { backlog };
                let grown = now_behind.min(most) - lag_before.unwrap_or(now_behind).min(most);
                lag = Some(now_behind);
                (latest.max(now) + fast.max(slow - grown.max(0))).max(base - most)
            }
            Stamp::Pulse => {
                let credits = match (workahead, interval) {
                    (Some(bytes), _) => u64::from(bytes),
                    (None, Some(interval)) => reserve.bytes_in(interval),
                    (None, None) => 0,
                };
                let clock = if sent.is_none() { latest.max(now) } else { latest };
                if credits == 0 {
                    clock + slow
                } else {
                    // Large ticks at which the byte with this number, from 1, is due.
                    let due = |byte: u64| byte.div_ceil(credits).saturating_sub(1);
                    let sent = sent.unwrap_or(0);
                    let times = due(sent + u64::from(packet.len)) - due(sent);
                    let large = (most - ticks(peak.time_for(credits as u32).ticks())).max(0);
                    clock + fast + i128::from(times) * large
                }
            }
        };
        let sent = Some(sent.unwrap_or(0) + u64::from(packet.len));
        member.memory = Memory { latest: stamp, backlog, lag, due, sent };
        stamp.min(i128::from(Ticks::MAX - 1)) as Ticks
    }

    /// A flow is closed, its packets gone: its debts stay.
    pub fn closed(member: &mut Member) {
        member.memory = Memory { latest: member.memory.latest, ..Memory::default() };
    }
}
