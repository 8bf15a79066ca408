//! A report of all counters and statistics, as text and as JSON.

use crate::engine::Engine;
use crate::stats::{Counters, FlowStatistics, LossReason, NO_MATCH};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use tidegate_core::classifier::rules::{Direction, Key};
use tidegate_core::context::Reason;
use tidegate_core::stats::Count;
use tidegate_core::switch::FlowCounters;
use tidegate_core::units::Span;
use tidegate_formats::GateFile;
use tidegate_formats::units::show_rate;

/// A report warns when the 99 % quantile of the lateness is above this, in seconds.
const LATE: f64 = 1e-3;

/// Counters and statistics since the start of a gate.
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) process: Process,
    pub(crate) directions: [DirectionReport; 2],
}

/// Resources that the process has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    /// Seconds since it opened its interfaces.
    pub(crate) seconds: f64,
    /// User and system time.
    pub(crate) cpu_seconds: f64,
    /// True if real-time scheduling was granted.
    pub(crate) real_time: bool,
}

/// One direction.
pub(crate) struct DirectionReport {
    pub(crate) direction: Direction,
    from: String,
    to: String,
    /// In bit/s.
    pub(crate) rate: f64,
    pub(crate) counters: Counters,
    pub(crate) held: u64,
    pub(crate) missed: u64,
    /// The MTU that the gate was started for, and the current MTU of the interface that frames come
    /// from, if larger.
    pub(crate) raised_mtu: Option<(usize, usize)>,
    /// The current name of that interface, if it is not that of the file.
    pub(crate) renamed: Option<String>,
    pub(crate) overflowed: u64,
    /// Lateness in seconds: median, 99 % quantile, maximum.
    pub(crate) lateness: [f64; 3],
    pub(crate) flows: Vec<FlowReport>,
}

/// One flow of the file in one direction, or the packets that match none.
pub(crate) struct FlowReport {
    pub(crate) name: String,
    /// True for one flow, and not one for each host, subscriber, 5-tuple or circuit.
    pub(crate) single: bool,
    pub(crate) flows: usize,
    /// Reserved rate and ceiling of the flow, or of each of its flows, in bit/s.
    pub(crate) reserve: Option<u64>,
    pub(crate) ceiling: Option<u64>,
    /// Bound on the delay of its packets, in seconds, as long as they are within its envelope.
    pub(crate) bound: Option<f64>,
    pub(crate) counters: FlowCounters,
    pub(crate) statistics: FlowStatistics,
    pub(crate) lead: Span,
}

impl Report {
    pub(crate) fn new(
        file: &GateFile,
        engine: &Engine,
        lateness: &[Histogram<u64>; 2],
        missed: [u64; 2],
        process: Process,
    ) -> Report {
        let directions = Direction::BOTH.map(|direction| {
            let side = direction as usize;
            let (from, to) = match direction {
                Direction::Up => (&file.inside, &file.outside),
                Direction::Down => (&file.outside, &file.inside),
            };
            let bounds: BTreeMap<usize, Span> = file.delay_bounds(direction).collect();
            let named = file.flows.iter().enumerate().map(|(ix, flow)| {
                let (counters, flows) = engine.rule(direction, ix);
                FlowReport {
                    name: flow.name.clone(),
                    single: flow.each.is_none() && flow.circuits.is_none(),
                    flows,
                    reserve: flow.terms[side].reserve,
                    ceiling: flow.terms[side].ceiling,
                    bound: bounds.get(&ix).map(|bound| bound.as_secs_f64()),
                    counters,
                    statistics: engine.statistics(direction, ix).clone(),
                    lead: engine.lead(direction, ix),
                }
            });
            let rest = file.rest(direction).contract.reserve;
            let rest = FlowReport {
                name: NO_MATCH.to_owned(),
                single: true,
                flows: 1,
                reserve: rest.map(|rate| rate.bits_per_second().round() as u64),
                ceiling: None,
                bound: None,
                counters: engine.rest(direction),
                statistics: engine.statistics(direction, file.flows.len()).clone(),
                lead: Span::ZERO,
            };
            let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
            let late = &lateness[side];
            DirectionReport {
                direction,
                from: from.clone(),
                to: to.clone(),
                rate: file.rates[side].bits_per_second(),
                counters: *engine.counters(direction),
                held: engine.held(direction),
                missed: missed[side],
                raised_mtu: None,
                renamed: None,
                overflowed: engine.overflowed(direction),
                lateness: [
                    seconds(late.value_at_quantile(0.5)),
                    seconds(late.value_at_quantile(0.99)),
                    seconds(late.max()),
                ],
                flows: named.chain([rest]).collect(),
            }
        });
        Report { name: file.name.clone(), process, directions }
    }

    /// The warnings, each with a key that stays the same while it holds.
    pub(crate) fn warnings_by_kind(&self) -> Vec<(String, String)> {
        let of = |one: &DirectionReport| {
            let name = one.direction.name();
            let warnings = one.warnings().into_iter();
            warnings.map(move |(kind, text)| (format!("{name} {kind}"), format!("{name}: {text}"))).collect()
        };
        self.directions.iter().flat_map(|one| -> Vec<_> { of(one) }).collect()
    }

    /// Everything, by name; times in seconds, rates in bit/s.
    pub(crate) fn json(&self) -> Value {
        let directions: serde_json::Map<String, Value> =
            self.directions.iter().map(|one| (one.direction.name().to_owned(), one.json())).collect();
        json!({
            "name": self.name,
            "seconds": self.process.seconds,
            "cpu_seconds": self.process.cpu_seconds,
            "real_time": self.process.real_time,
            "directions": directions,
        })
    }
}

impl DirectionReport {
    fn json(&self) -> Value {
        let counters = &self.counters;
        let drops: serde_json::Map<String, Value> =
            counters.drops().map(|(reason, count)| (reason.to_owned(), count.into())).collect();
        let [p50, p99, max] = self.lateness;
        let flows: Vec<_> = self.flows.iter().map(FlowReport::json).collect();
        json!({
            "from": self.from,
            "to": self.to,
            "rate": self.rate,
            "received": counters.received,
            "received_bytes": counters.received_bytes,
            "super_packets": counters.super_packets,
            "sent": counters.sent,
            "sent_bytes": counters.sent_bytes,
            "dropped": counters.total_dropped(),
            "drops": drops,
            "held": self.held,
            "missed": self.missed,
            "without_flow": self.overflowed,
            "stalls": counters.stalls,
            "stalled": counters.stalled.as_secs_f64(),
            "lateness": { "p50": p50, "p99": p99, "max": max },
            "flows": flows,
        })
    }

    fn warnings(&self) -> Vec<(&'static str, String)> {
        let mut warnings = Vec::new();
        let Counters { stalls, stalled, .. } = self.counters;
        if stalls > 0 {
            let lost = stalled.as_secs_f64() * 1e3;
            let text = format!("fell behind {stalls} times: {lost:.1} ms of the link's time were lost");
            warnings.push(("stalls", text));
        }
        if self.lateness[1] > LATE {
            let text = format!("1 % of the frames were more than {:.1} ms late", self.lateness[1] * 1e3);
            warnings.push(("lateness", text));
        }
        let late = self.counters.lost(LossReason::Late);
        if late > 0 {
            let text = format!("{late} frames were dropped because they had waited too long to be read");
            warnings.push(("late", text));
        }
        if self.missed > 0 {
            let text = format!(
                "{} frames came faster than they could be read, and were lost before the gate",
                self.missed
            );
            warnings.push(("missed", text));
        }
        if let Some((before, now)) = self.raised_mtu {
            let text = format!(
                "the MTU of {} is {now} now, and frames beyond {before} are dropped: restart the gate, or \
                 set it back",
                self.from
            );
            warnings.push(("mtu", text));
        }
        if let Some(name) = &self.renamed {
            let text = format!(
                "interface {} is called {name} now: the gate goes on with it, and its next start needs the name \
                 in its file",
                self.from
            );
            warnings.push(("renamed", text));
        }
        if self.overflowed > 0 {
            let text = format!(
                "{} packets shared a queue because there was no room for flows of their own",
                self.overflowed
            );
            warnings.push(("flows", text));
        }
        warnings
    }
}

impl FlowReport {
    /// Packets dropped, by reason.
    pub(crate) fn drops(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL.iter().map(|reason| (*reason, self.statistics.dropped[*reason as usize]))
    }

    fn json(&self) -> Value {
        let drops: serde_json::Map<String, Value> =
            self.drops().map(|(reason, count)| (reason.name().to_owned(), count.into())).collect();
        let [p50, p99, max] = self.statistics.delay_quantiles();
        let mut json = counters(self.counters);
        let more = json!({
            "name": self.name,
            "flows": self.flows,
            "reserve": self.reserve,
            "ceiling": self.ceiling,
            "drops": drops,
            "marked": self.statistics.marked,
            "warnings": self.statistics.warned,
            "non_responsive": { "named": self.statistics.named, "released": self.statistics.released },
            "delay": { "p50": p50, "p99": p99, "max": max },
            "largest_delay": self.statistics.largest_delay.as_secs_f64(),
            "delay_bound": self.bound,
            "beyond_envelope": self.statistics.envelope.as_ref().map(|envelope| envelope.beyond),
            "lead": self.lead.as_secs_f64(),
        });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        json
    }
}

/// A flow that a packet has opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) direction: Direction,
    /// Its rule's place in the file.
    pub(crate) rule: usize,
    pub(crate) key: Key,
    /// Packets that have arrived for it, and their bytes on the wire.
    pub(crate) arrived: Count,
}

/// The counters of a circuit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CircuitCounters {
    /// Its rule's place in the file.
    pub(crate) rule: usize,
    /// Its number in the rule's list.
    pub(crate) circuit: u32,
    /// By direction, up first.
    pub(crate) counters: [FlowCounters; 2],
}

/// A flow's counters as JSON; bytes are those on the wire.
pub(crate) fn counters(counters: FlowCounters) -> Value {
    let FlowCounters { arrived, sent, dropped, .. } = counters;
    json!({
        "arrived_packets": arrived.packets,
        "arrived_bytes": arrived.bytes,
        "sent_packets": sent.packets,
        "sent_bytes": sent.bytes,
        "dropped_packets": dropped.packets,
        "dropped_bytes": dropped.bytes,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { seconds, cpu_seconds, real_time } = self.process;
        let share = 100.0 * cpu_seconds / seconds.max(1e-9);
        let how = if real_time { ", real-time" } else { "" };
        writeln!(f, "{}: {seconds:.1} s, {share:.1} % of a core{how}", self.name)?;
        for one in &self.directions {
            let Counters { received, sent, super_packets, .. } = one.counters;
            let rate = show_rate(one.rate.round() as u64);
            writeln!(f, "{:<5} {} -> {} at {rate}", one.direction.name(), one.from, one.to)?;
            let dropped = one.counters.total_dropped();
            writeln!(f, "      received {received} = sent {sent} + dropped {dropped} + held {}", one.held)?;
            for (reason, count) in one.counters.drops().filter(|(_, count)| *count > 0) {
                writeln!(f, "      dropped {count}: {reason}")?;
            }
            if super_packets > 0 {
                writeln!(
                    f,
                    "      {super_packets} of the received frames were super-packets, and were segmented"
                )?;
            }
            if sent > 0 {
                let [p50, p99, max] = one.lateness.map(|seconds| seconds * 1e6);
                writeln!(
                    f,
                    "      left late by {p50:.0} us (median), {p99:.0} us (99 %), {max:.0} us (most)"
                )?;
            }
            for (_, warning) in one.warnings() {
                writeln!(f, "      warning: {warning}")?;
            }
            for flow in one.flows.iter().filter(|flow| flow.counters.arrived.packets > 0) {
                let FlowCounters { arrived, sent, dropped, .. } = flow.counters;
                writeln!(
                    f,
                    "      {:<16} arrived {}, sent {}, dropped {}",
                    flow.name, arrived.packets, sent.packets, dropped.packets
                )?;
            }
        }
        Ok(())
    }
}
