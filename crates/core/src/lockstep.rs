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
//! A step is 256 ns. The packet in service takes no room: a recorded limit is that of the packets
//! that wait.

use crate::context::{Ctx, Effect};
use crate::contract::Refused;
use crate::packet::{BodyId, Leg, Mark, Packet, PortIx};
use crate::rng::Rng;
use crate::switch::Switch;
use crate::switch::plan::{FlowPlan, SwitchPlan};
use crate::units::{Span, Time};

/// A step of the clock of records.
pub const STEP: Span = Span::from_ticks(25_600);

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
}

/// Fate of a packet: the opportunity at which it was sent, in steps, and its mark.
type Fate = Option<(u64, bool)>;

/// Sends the packets of a record through the only port of a switch.
///
/// # Errors
/// When the switch cannot have this plan or these flows.
pub fn follow(plan: &SwitchPlan, flows: &[FlowPlan], record: &[Recorded]) -> Result<Outcome, Refused> {
    let mut port = Follower {
        switch: Switch::new(Time::ORIGIN, plan)?,
        rng: Rng::named(1, "lockstep"),
        out: Vec::new(),
        fates: vec![None; record.len()],
    };
    let legs: Vec<Leg> =
        flows.iter().map(|flow| port.switch.open(Time::ORIGIN, PortIx(0), flow)).collect::<Result<_, _>>()?;
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
        port.arrive(legs[packet.flow], ix, packet);
        if let Some((at, _)) = due.next_if_eq(&(packet.arrived, ix)) {
            port.start(at);
        }
    }
    due.for_each(|(at, _)| port.start(at));
    Ok(port.outcome(record))
}

struct Follower {
    switch: Switch,
    rng: Rng,
    out: Vec<Effect>,
    fates: Vec<Fate>,
}

impl Follower {
    fn arrive(&mut self, leg: Leg, ix: usize, packet: &Recorded) {
        let mut arriving = Packet::new(BodyId(ix as u32), packet.len);
        arriving.mark = Mark::from_ip(0, if packet.is_capable { 0b10 } else { 0 });
        let mut cx = Ctx { now: at(packet.arrived), rng: &mut self.rng, out: &mut self.out };
        _ = self.switch.arrive(&mut cx, &[leg], arriving);
        self.out.clear();
    }

    /// Lets the line take a packet, and be done with it at once.
    fn start(&mut self, step: u64) {
        let mut cx = Ctx { now: at(step), rng: &mut self.rng, out: &mut self.out };
        if self.switch.start(&mut cx, PortIx(0)).is_some()
            && let Some((packet, _)) = self.switch.finish(&mut cx, PortIx(0))
        {
            self.fates[packet.body.0 as usize] = Some((step, packet.mark.is_congested()));
        }
        self.out.clear();
    }

    fn outcome(&self, record: &[Recorded]) -> Outcome {
        let mut outcome = Outcome { packets: record.len(), ..Outcome::default() };
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
