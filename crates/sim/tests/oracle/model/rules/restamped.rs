//! The stamps of Pincheira 1994, sections 2.3.2, 3 and 4.3, put in place of VirtualClock's.

use super::super::Ticks;
use super::super::tree::{Member, Queued};
use tidegate_core::contract::Contract;
use tidegate_core::params::Value;
use tidegate_core::scheduler::SchedulerKind;

/// Kind of stamp.
#[derive(Clone, Copy, PartialEq)]
enum Stamp {
    PeakVc,
    Pulse,
    Deferred,
    Axel { bounded: bool },
}

/// A rule of that report.
pub struct Restamped {
    stamp: Stamp,
    /// True if the backlog is the flow's own queue here, false if it is the backlog at its reserved
    /// rate.
    counts_queue: bool,
}

/// State of a flow under a rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Its latest stamp.
    latest: i128,
    /// The backlog that its previous packet found, in ticks.
    backlog: i128,
    /// Bytes that it has sent since its first packet; `None` before that.
    sent: Option<u64>,
}

impl Restamped {
    /// The rule of this name, if it is one.
    pub fn named(name: &str, kind: &SchedulerKind) -> Option<Restamped> {
        let stamp = match name {
            "peak-vc" => Stamp::PeakVc,
            "pulse" => Stamp::Pulse,
            "deferred" => Stamp::Deferred,
            "axel" => Stamp::Axel { bounded: true },
            "axel-unbounded" => Stamp::Axel { bounded: false },
            _ => return None,
        };
        let counts_queue = super::value(kind, "backlog") == Some(Value::Text("real".into()));
        Some(Restamped { stamp, counts_queue })
    }

    /// The stamp of a packet of a flow whose auxVC read `before` and reads `base` with the packet.
    pub fn stamp(&self, member: &mut Member, packet: &Queued, before: Ticks, base: Ticks) -> Ticks {
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
        let Memory { latest, backlog: backlog_before, sent } = member.memory;
        let stamp = match self.stamp {
            Stamp::PeakVc => latest.max(now) + fast,
            Stamp::Deferred => (base - backlog.min(most)).max(latest + fast),
            Stamp::Axel { bounded } => {
                let grown = (backlog.min(most) - backlog_before.min(most)).max(0);
                let accelerated = latest.max(now) + fast.max(slow - grown);
                if bounded { accelerated.max(base - most) } else { accelerated }
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
        member.memory = Memory { latest: stamp, backlog, sent };
        stamp.min(i128::from(Ticks::MAX - 1)) as Ticks
    }

    /// A flow is closed, its packets gone: its debts stay.
    pub fn closed(member: &mut Member) {
        member.memory = Memory { latest: member.memory.latest, ..Memory::default() };
    }
}
