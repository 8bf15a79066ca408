//! Running accounts of the line's time and of ceilings, for each level of a port.
//!
//! Two readings of an account tell how long the line was busy with packets of a level in between,
//! and for how long the level's ceiling was used up. An account changes only when a packet starts:
//! the time until which its ceiling is used up is known from then on.
//!
//! Only the difference of two readings counts. So the accounts are kept only while a packet waits
//! that has read them: see [`Accounts::resume`] and [`Accounts::first`].

use tidegate_core::packet::FlowIx;
use tidegate_core::switch::Level;
use tidegate_core::units::{Span, Time};

/// The account of a level, from the start of the gate.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Time for which the line has been busy with its packets, that of the packet in service to its
    /// end.
    busy: Span,
    /// Time for which its ceiling is used up, that to come until `clear_at`.
    held: Span,
    clear_at: Time,
}

impl Account {
    /// Notes at a time when the ceiling is clear.
    fn hold(&mut self, now: Time, clear_at: Time) {
        let known = self.clear_at.max(now);
        if clear_at > known {
            self.held += clear_at.since(known);
            self.clear_at = clear_at;
        }
    }
}

/// The account of a level of which nothing was sent.
const UNUSED: Account = Account { busy: Span::ZERO, held: Span::ZERO, clear_at: Time::ORIGIN };

/// An account at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) busy: Span,
    pub(super) held: Span,
}

/// The accounts of a port.
#[derive(Debug)]
pub(super) struct Accounts {
    flows: Vec<Account>,
    /// Those of the port itself, and of each class behind it.
    nodes: Vec<Account>,
    /// The levels of the packet in service.
    serving: Vec<Level>,
    /// Its flow, and the time at which its last bit is out.
    serving_flow: Option<FlowIx>,
    free_at: Time,
}

impl Accounts {
    /// The accounts of a port that has sent nothing.
    pub(super) fn new() -> Accounts {
        Accounts {
            flows: Vec::new(),
            nodes: Vec::new(),
            serving: Vec::new(),
            serving_flow: None,
            free_at: Time::ORIGIN,
        }
    }

    /// Notes that a packet of a flow starts, which occupies the line until `free_at`: `levels` are
    /// those that it passes, with the times at which their ceilings are clear.
    pub(super) fn start(
        &mut self,
        now: Time,
        free_at: Time,
        flow: FlowIx,
        levels: impl Iterator<Item = (Level, Time)>,
    ) {
        let mut serving = std::mem::take(&mut self.serving);
        serving.clear();
        levels.for_each(|(level, clear_at)| {
            serving.push(level);
            let account = self.account(flow, level);
            account.busy += free_at.since(now);
            account.hold(now, clear_at);
        });
        self.serving = serving;
        self.pass(free_at, flow);
    }

    /// Notes that a packet of a flow starts, which occupies the line until `free_at`, while no packet
    /// waits that has read an account.
    #[inline]
    pub(super) fn pass(&mut self, free_at: Time, flow: FlowIx) {
        (self.serving_flow, self.free_at) = (Some(flow), free_at);
    }

    /// Keeps accounts again from now on, beginning with the rest of the packet in service: `levels`
    /// are those of its flow.
    pub(super) fn resume<L: Iterator<Item = (Level, Time)>>(
        &mut self,
        now: Time,
        levels: impl FnOnce(FlowIx) -> L,
    ) {
        if let Some(flow) = self.serving_flow.filter(|_| self.free_at > now) {
            self.start(now, self.free_at, flow, levels(flow));
        }
    }

    /// The first reading of a level of a flow, whose ceiling is clear at `clear_at`. The packet that
    /// used it up may have started when accounts were not kept.
    pub(super) fn first(&mut self, now: Time, flow: FlowIx, level: Level, clear_at: Time) -> Reading {
        self.account(flow, level).hold(now, clear_at);
        self.read(now, flow, level)
    }

    /// The account of a level of a flow at a time.
    pub(super) fn read(&self, now: Time, flow: FlowIx, level: Level) -> Reading {
        let accounts = if level == Level::Flow { &self.flows } else { &self.nodes };
        let Some(account) = accounts.get(index(flow, level)) else { return Reading::default() };
        let in_service = self.serving.contains(&level)
            && (level != Level::Flow || self.serving_flow == Some(flow))
            && self.free_at > now;
        let to_come = if in_service { self.free_at.since(now) } else { Span::ZERO };
        Reading { busy: account.busy - to_come, held: account.held - account.clear_at.since(now) }
    }

    fn account(&mut self, flow: FlowIx, level: Level) -> &mut Account {
        let accounts = if level == Level::Flow { &mut self.flows } else { &mut self.nodes };
        let at = index(flow, level);
        if accounts.len() <= at {
            accounts.resize(at + 1, UNUSED);
        }
        &mut accounts[at]
    }
}

fn index(flow: FlowIx, level: Level) -> usize {
    match level {
        Level::Flow => flow.ix(),
        Level::Port => 0,
        Level::Class(class) => usize::from(class) + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::rng::Rng;

    fn at(millis: u64) -> Time {
        Time::ORIGIN + Span::from_millis(millis)
    }

    fn reading(busy: u64, held: u64) -> Reading {
        Reading { busy: Span::from_millis(busy), held: Span::from_millis(held) }
    }

    #[test]
    fn time_is_counted_as_it_passes() {
        let (mut accounts, one, other) = (Accounts::new(), FlowIx(0), FlowIx(1));
        let class = Level::Class(0);
        // 4 ms on the line, and 10 ms of the class's ceiling.
        accounts.start(at(0), at(4), one, [(Level::Flow, Time::ORIGIN), (class, at(10))].into_iter());
        let read = |accounts: &Accounts, now, level| accounts.read(at(now), one, level);
        assert_eq!(read(&accounts, 1, Level::Flow), reading(1, 0));
        assert_eq!(read(&accounts, 3, class), reading(3, 3));
        assert_eq!(accounts.read(at(3), other, Level::Flow), Reading::default());
        accounts.start(at(6), at(8), other, [(Level::Flow, Time::ORIGIN), (class, at(14))].into_iter());
        assert_eq!(read(&accounts, 7, Level::Flow), reading(4, 0));
        assert_eq!(read(&accounts, 7, class), reading(5, 7));
        assert_eq!(read(&accounts, 20, class), reading(6, 14));
        // A pause of the ceiling counts for nothing.
        accounts.start(at(30), at(31), one, [(class, at(32))].into_iter());
        assert_eq!(read(&accounts, 31, class), reading(7, 15));
    }

    /// A port of six flows in two classes, all with ceilings, at which packets start at random. Some
    /// read the accounts of their levels before they wait, and again at the end.
    #[test]
    fn accounts_that_pause_tell_the_same_as_those_that_never_do() {
        let mut rng = Rng::named(1, "accounts");
        let (mut paused, mut kept) = (Accounts::new(), Accounts::new());
        let (mut now, mut free_at) = (Time::ORIGIN, Time::ORIGIN);
        let mut clear = [Time::ORIGIN; 9];
        let places = |flow: usize| {
            [(Level::Flow, flow), (Level::Class(flow as u16 % 2), 6 + flow % 2), (Level::Port, 8)]
        };
        let mut waiting = Vec::new();
        let (mut pauses, mut compared) = (0, 0);
        for _ in 0..20_000 {
            now += Span::from_micros(rng.below(1500));
            let flow = rng.below(6) as usize;
            let ix = FlowIx(flow as u32);
            let levels = |clear: &[Time; 9], flow: usize| {
                places(flow).map(|(level, at)| (level, clear[at])).into_iter()
            };
            if rng.chance(0.1) {
                if waiting.is_empty() {
                    paused.resume(now, |serving| levels(&clear, serving.ix()));
                }
                for (level, clear_at) in levels(&clear, flow) {
                    let before = (paused.first(now, ix, level, clear_at), kept.read(now, ix, level));
                    waiting.push((ix, level, before));
                }
            }
            if now < free_at {
                continue;
            }
            if rng.chance(0.3) {
                compared += waiting.len();
                for (ix, level, before) in waiting.drain(..) {
                    let after = (paused.read(now, ix, level), kept.read(now, ix, level));
                    let since = |one: Reading, two: Reading| (two.busy - one.busy, two.held - one.held);
                    assert_eq!(since(before.0, after.0), since(before.1, after.1), "{ix:?} {level:?}");
                }
            }
            free_at = now + Span::from_micros(rng.below(2000));
            for (_, at) in places(flow) {
                clear[at] = clear[at].max(now) + Span::from_micros(rng.below(4000));
            }
            kept.start(now, free_at, ix, levels(&clear, flow));
            if waiting.is_empty() {
                pauses += 1;
                paused.pass(free_at, ix);
            } else {
                paused.start(now, free_at, ix, levels(&clear, flow));
            }
        }
        assert!(pauses > 1000 && compared > 1000, "{pauses} {compared}");
    }
}
