//! A port beside a recorded one, on the same packets: they arrive at the recorded times, and the
//! line is free at the recorded times of service. So both are asked at the same instants, and
//! a difference is one of the policy.
//!
//! ```text
//! # a comment
//! start 4711                 step of the clock at which the next line's time begins
//! 37 2 1514 ecn 12           37 steps later a packet of flow 2 arrives; it starts after 12 steps
//! 5 0 100 - 40m              one that is not ECN-capable, and is marked nevertheless
//! 9 1 576 - x                one that is dropped
//! ```
//!
//! A step is 256 ns, and the line takes one for a byte. The packet in service takes no room: a
//! recorded limit is that of the packets that wait.

use crate::context::{Ctx, Effect};
use crate::contract::Refused;
use crate::packet::{BodyId, Leg, Mark, Packet, PortIx};
use crate::rng::Rng;
use crate::switch::Switch;
use crate::switch::plan::{FlowPlan, SwitchPlan};
use crate::units::{Span, Time};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// A step of the clock of records.
pub const STEP: Span = Span::from_ticks(25_600);

/// Time by which a record may be ahead of a shaper or a ceiling: its clock has steps.
const AHEAD: Span = Span::from_micros(1);

/// A packet of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it reached the port, in steps.
    pub arrived: u64,
    /// Index of its flow.
    pub flow: usize,
    /// Length in bytes.
    pub len: u32,
    /// True if it is ECN-capable.
    pub is_capable: bool,
    /// Steps for which it waited for its service; `None` if it was dropped.
    pub waited: Option<u64>,
    /// True if it was marked.
    pub is_marked: bool,
}

/// Reads a record.
///
/// # Errors
/// The first line that is not as it should be.
pub fn parse(text: &str) -> Result<Vec<Recorded>, String> {
    let (mut now, mut packets) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || format!("`{line}` is no packet of a record");
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        match words[..] {
            ["start", at] => now = number(at)?,
            [gap, flow, len, ecn, fate] => {
                now += number(gap)?;
                let waited = fate.trim_end_matches('m');
                packets.push(Recorded {
                    arrived: now,
                    flow: number(flow)? as usize,
                    len: number(len)? as u32,
                    is_capable: ecn == "ecn",
                    waited: if waited == "x" { None } else { Some(number(waited)?) },
                    is_marked: fate.ends_with('m'),
                });
            }
            _ => return Err(wrong()),
        }
    }
    Ok(packets)
}

/// Outcome of the same packets at a port and in its record: the record's figure comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Packets of the record.
    pub packets: usize,
    /// Packets that were dropped.
    pub dropped: (usize, usize),
    /// Packets that were marked.
    pub marked: (usize, usize),
    /// Packets that were dropped or marked by one of them only, and those that one of them sent
    /// at an opportunity at which the other sent another.
    pub differing: usize,
    /// The first of these.
    pub first: Option<usize>,
    /// The greatest time between a start of service and the port's own, at which the line was free
    /// and a packet could be sent.
    pub apart: Span,
}

/// Fate of a packet: the opportunity at which it was sent, in steps, and its mark.
type Fate = Option<(u64, bool)>;

/// Sends the packets of a record through the only port of a switch.
///
/// # Errors
/// When the switch cannot have this plan or these flows.
pub fn follow(plan: &SwitchPlan, flows: &[FlowPlan], record: &[Recorded]) -> Result<Outcome, Refused> {
    let mut switch = Switch::new(Time::ORIGIN, plan)?;
    let legs =
        flows.iter().map(|flow| switch.open(Time::ORIGIN, PortIx(0), flow)).collect::<Result<_, _>>()?;
    let mut port = Follower {
        switch,
        legs,
        rng: Rng::named(1, "lockstep"),
        out: Vec::new(),
        now: Time::ORIGIN,
        wake_at: Time::NEVER,
        ready_at: None,
        free_at: Time::ORIGIN,
        apart: Span::ZERO,
        fates: vec![None; record.len()],
    };
    let mut starts: Vec<(u64, usize)> = record
        .iter()
        .enumerate()
        .filter_map(|(ix, packet)| packet.waited.map(|waited| (packet.arrived + waited, ix)))
        .collect();
    starts.sort_unstable();
    let mut due = starts.into_iter().peekable();
    for (ix, packet) in record.iter().enumerate() {
        // At one step, the line's timer was set first.
        while let Some((at, _)) = due.next_if(|(at, sent)| *at <= packet.arrived && *sent < ix) {
            port.start(at);
        }
        port.arrive(port.legs[packet.flow], ix, packet);
        if let Some((at, _)) = due.next_if_eq(&(packet.arrived, ix)) {
            port.start(at);
        }
    }
    due.for_each(|(at, _)| port.start(at));
    Ok(port.outcome(record))
}

struct Follower {
    switch: Switch,
    legs: Vec<Leg>,
    rng: Rng,
    out: Vec<Effect>,
    now: Time,
    /// When the port asked to be woken.
    wake_at: Time,
    /// Since when a packet has been queued behind the one in service.
    ready_at: Option<Time>,
    /// When the line is free again.
    free_at: Time,
    apart: Span,
    fates: Vec<Fate>,
}

impl Follower {
    fn arrive(&mut self, leg: Leg, ix: usize, packet: &Recorded) {
        self.wake(at(packet.arrived));
        let mut arriving = Packet::new(BodyId(ix as u32), packet.len);
        arriving.mark = Mark::from_ip(0, if packet.is_capable { 0b10 } else { 0 });
        let mut cx = Ctx { now: at(packet.arrived).max(self.now), rng: &mut self.rng, out: &mut self.out };
        _ = self.switch.arrive(&mut cx, &[leg], arriving);
        self.listen(at(packet.arrived));
    }

    /// Lets the line take a packet, and be done with it at once. The record may be ahead by
    /// [`AHEAD`].
    fn start(&mut self, step: u64) {
        let now = at(step);
        self.wake(now);
        if !self.take(now, step) && self.wake_at.since(now) <= AHEAD {
            let late = self.wake_at;
            self.wake(late);
            if self.take(late, step) {
                self.apart = self.apart.max(late.since(now));
            }
        }
    }

    fn take(&mut self, now: Time, step: u64) -> bool {
        let own = self.ready(now);
        let mut cx = Ctx { now: now.max(self.now), rng: &mut self.rng, out: &mut self.out };
        let started = self.switch.start(&mut cx, PortIx(0)).is_some();
        if started && let Some((packet, _)) = self.switch.finish(&mut cx, PortIx(0)) {
            self.ready_at = None;
            self.apart = self.apart.max(now.since(own));
            self.free_at = at(step + u64::from(packet.len));
            self.fates[packet.body.0 as usize] = Some((step, packet.mark.is_congested()));
            // The rest may wait for a shaper or a ceiling, and asks to be woken.
            _ = self.switch.timer(&mut cx, PortIx(0));
        }
        self.listen(now);
        started
    }

    /// Returns when the port could have started its next packet: the line was free, and neither the
    /// ceiling of the port nor one above a queued packet held it. `now` where nothing is queued.
    fn ready(&self, now: Time) -> Time {
        let free = self.free_at.max(self.ready_at.unwrap_or(now));
        let free = self.switch.at_ceiling_until(free, PortIx(0)).unwrap_or(free);
        let of = |leg: &Leg| {
            let at = free.max(self.switch.packet_of(*leg)?.arrived);
            Some(self.switch.blocked(at, *leg).map_or(at, |(_, until)| until))
        };
        self.legs.iter().filter_map(of).min().unwrap_or(now)
    }

    /// Wakes the port at the times for which it asked, until `now`.
    fn wake(&mut self, now: Time) {
        let mut woken = Time::ORIGIN;
        // A port that asks for the same time again waits for the line.
        while self.wake_at <= now && self.wake_at > woken {
            woken = self.wake_at;
            let mut cx = Ctx { now: woken.max(self.now), rng: &mut self.rng, out: &mut self.out };
            self.wake_at = Time::NEVER;
            _ = self.switch.timer(&mut cx, PortIx(0));
            let at = cx.now;
            self.listen(at);
        }
        self.now = self.now.max(now);
    }

    fn listen(&mut self, now: Time) {
        for effect in self.out.drain(..) {
            if let Effect::Wake { at, .. } = effect {
                self.wake_at = at;
            }
        }
        let is_waiting = self.switch.backlog(PortIx(0)).packets > 0;
        self.ready_at = is_waiting.then(|| self.ready_at.unwrap_or(now));
    }

    fn outcome(&self, record: &[Recorded]) -> Outcome {
        let mut outcome = Outcome { packets: record.len(), apart: self.apart, ..Outcome::default() };
        for (ix, (packet, ours)) in record.iter().zip(&self.fates).enumerate() {
            let theirs: Fate = packet.waited.map(|waited| (packet.arrived + waited, packet.is_marked));
            for (fate, dropped, marked) in [
                (&theirs, &mut outcome.dropped.0, &mut outcome.marked.0),
                (ours, &mut outcome.dropped.1, &mut outcome.marked.1),
            ] {
                *dropped += usize::from(fate.is_none());
                *marked += usize::from(fate.is_some_and(|(_, is_marked)| is_marked));
            }
            if theirs != *ours {
                outcome.differing += 1;
                outcome.first.get_or_insert(ix);
            }
        }
        outcome
    }
}

fn at(step: u64) -> Time {
    Time::ORIGIN + Span::from_ticks(step * STEP.ticks())
}
