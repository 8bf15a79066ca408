//! Suggested reservations for the traffic that the kernel forwards between the interfaces.
//!
//! The suggestion for a flow is its rate on the wire in its busiest second, plus five per cent,
//! rounded up to two digits. Over a second the rate of a voice or video flow is constant; within
//! it, VirtualClock permits bursts.

use crate::stats::NO_MATCH;
use crate::telemetry::monitor::round_rate;
use crate::telemetry::report::{Member, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::protocol_name;
use tidegate_core::classifier::rules::{Direction, Each, Key};
use tidegate_core::units::Span;
use tidegate_formats::units::show_rate;
use tidegate_formats::{ContractSpec, DirectionTerms, GateFile, GateFlow, Place, Within};

/// Ratio of a reservation to the measured rate, so that the flow is not at its limit.
const MARGIN: f64 = 1.05;
/// Maximum number of flows suggested for conversations that no flow of the file matches.
const MAX_NEW_FLOWS: usize = 8;

/// The file with one more rule, which opens a flow for each conversation that no flow of the file
/// matches.
pub(crate) fn with_unmatched_flow(mut file: GateFile) -> GateFile {
    file.flows.push(GateFlow {
        name: NO_MATCH.to_owned(),
        matching: Match::default(),
        each: Some(Each::FiveTuple),
        within: Within::None,
        circuits: None,
        nodes: 0..0,
        idle: Span::from_secs(3600),
        contract: ContractSpec { values: Vec::new() },
        terms: [DirectionTerms::default(); 2],
        class: None,
        set_dscp: None,
        place: Place::File,
    });
    file
}

/// Conversations of one service: the address inside, the protocol, and the port of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Conversation {
    inside: IpAddr,
    protocol: u8,
    /// The lower of the two ports, and whether it is inside.
    service: Option<(u16, bool)>,
}

impl Conversation {
    /// `None` for keys that are not IP.
    fn of(key: Key, direction: Direction) -> Option<Conversation> {
        let Key::Flow(FiveTuple::Ip { source, destination, ports, protocol }) = key else { return None };
        let up = direction == Direction::Up;
        let inside = if up { source } else { destination };
        let service = ports.map(|(from, to)| {
            let (own, far) = if up { (from, to) } else { (to, from) };
            (own.min(far), own < far)
        });
        Some(Conversation { inside, protocol, service })
    }

    fn name(&self) -> String {
        let mut name = protocol_name(self.protocol);
        if let Some((port, _)) = self.service {
            let _ = write!(name, "-{port}");
        }
        let _ = write!(name, "-{}", self.inside);
        name.replace(['.', ':'], "-")
    }

    fn matching(&self) -> String {
        let mut text =
            format!("inside = \"{}\", protocol = \"{}\"", self.inside, protocol_name(self.protocol));
        if let Some((port, inside)) = self.service {
            let _ = write!(text, ", {} = {port}", if inside { "inside_port" } else { "outside_port" });
        }
        text
    }
}

/// Totals at the last sample, with bytes on the wire, and the rate of the busiest second in bit/s.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    bytes: u64,
    packets: u64,
    peak: f64,
}

impl Peak {
    fn update(&mut self, bytes: u64, packets: u64, seconds: f64) {
        let more = bytes.saturating_sub(self.bytes);
        self.peak = self.peak.max(more as f64 * 8.0 / seconds.max(0.5));
        (self.bytes, self.packets) = (bytes, packets);
    }
}

/// Samples of an observing gate, one per second.
#[derive(Default)]
pub(crate) struct Observer {
    seconds: f64,
    flows: BTreeMap<(usize, usize), Peak>,
    members: BTreeMap<(usize, usize, Key), Peak>,
    last: Option<Report>,
}

impl Observer {
    /// Adds a sample; to be called every second.
    pub(crate) fn update(&mut self, report: Report, members: Vec<Member>) {
        let seconds = report.process.seconds - self.seconds;
        self.seconds = report.process.seconds;
        for (side, one) in report.directions.iter().enumerate() {
            for (ix, flow) in one.flows.iter().enumerate() {
                let arrived = flow.counters.arrived;
                self.flows.entry((side, ix)).or_default().update(arrived.bytes, arrived.packets, seconds);
            }
        }
        for Member { direction, rule, key, arrived } in members {
            let peak = self.members.entry((direction as usize, rule, key)).or_default();
            peak.update(arrived.bytes, arrived.packets, seconds);
        }
        self.last = Some(report);
    }

    /// The suggested reservation of every flow of the file, in bit/s; `None` for one that sent
    /// nothing.
    fn suggestions(&self, file: &GateFile) -> Vec<Option<u64>> {
        let wanted = |(ix, flow): (usize, &GateFlow)| {
            // The reservations of circuits are in their list.
            if flow.circuits.is_some() {
                return None;
            }
            let peaks: Vec<f64> = match flow.each {
                None => [0, 1]
                    .iter()
                    .filter_map(|side| self.flows.get(&(*side, ix)))
                    .map(|one| one.peak)
                    .collect(),
                Some(_) => self
                    .members
                    .iter()
                    .filter(|((_, rule, _), _)| *rule == ix)
                    .map(|(_, one)| one.peak)
                    .collect(),
            };
            peaks.into_iter().reduce(f64::max).filter(|peak| *peak > 0.0).map(suggested)
        };
        file.flows.iter().enumerate().map(wanted).collect()
    }

    /// The busiest conversations that no flow of the file matches, with packets and suggested
    /// reservation.
    fn unmatched(&self, file: &GateFile) -> Vec<(Conversation, u64, u64)> {
        let unmatched = file.flows.len() - 1;
        // The conversations of one service and host are summed, separately for each direction.
        let mut conversations: BTreeMap<Conversation, [Peak; 2]> = BTreeMap::new();
        for ((side, rule, key), member) in &self.members {
            if *rule == unmatched
                && let Some(conversation) = Conversation::of(*key, Direction::BOTH[*side])
            {
                let sum = &mut conversations.entry(conversation).or_default()[*side];
                sum.peak += member.peak;
                sum.packets += member.packets;
            }
        }
        let mut conversations: Vec<_> = conversations
            .into_iter()
            .map(|(conversation, [up, down])| {
                (conversation, up.packets + down.packets, suggested(up.peak.max(down.peak)))
            })
            .collect();
        conversations.sort_by_key(|(conversation, _, rate)| (std::cmp::Reverse(*rate), *conversation));
        conversations.truncate(MAX_NEW_FLOWS);
        conversations
    }

    /// The gate file with the suggested reservation of every flow that sent packets, and a flow for
    /// each of the busiest conversations that matched none. Suggestions that do not fit are added
    /// as comments.
    pub(crate) fn file(&self, file: &GateFile, text: &str, name: &str, sets: &[(String, String)]) -> String {
        let mut sets = sets.to_vec();
        let named = file.flows.iter().zip(self.suggestions(file)).filter(|(flow, _)| flow.name != NO_MATCH);
        let wanted: Vec<_> = named
            .filter_map(|(flow, rate)| Some((format!("flow.{}.reserve", flow.name), show_rate(rate?))))
            .collect();
        let mut notes = String::new();
        let before = sets.len();
        sets.extend(wanted.iter().cloned());
        let mut written = match GateFile::parse(text, name, &sets) {
            Ok(file) => file.to_toml().to_owned(),
            Err(_) => {
                // The suggestions exceed the link, a class or a ceiling: the operator has to
                // decide.
                notes.push_str("\n# Not set, since it does not fit:\n");
                for (path, rate) in &wanted {
                    let _ = writeln!(notes, "# {path} = \"{rate}\"");
                }
                sets.truncate(before);
                GateFile::parse(text, name, &sets)
                    .map_or_else(|_| text.to_owned(), |file| file.to_toml().to_owned())
            }
        };
        for (conversation, packets, rate) in self.unmatched(file) {
            let flow = format!(
                "\n[[flow]] # observed: {packets} packets\nname = \"{}\"\nmatch = {{ {} }}\nreserve = \"{}\"\n",
                conversation.name(),
                conversation.matching(),
                show_rate(rate)
            );
            let longer = format!("{written}{flow}");
            if GateFile::parse(&longer, name, &[]).is_ok() {
                written = longer;
            } else {
                notes.extend(flow.lines().map(|line| format!("{}\n", format!("# {line}").trim_end())));
            }
        }
        written + &notes
    }

    /// The measurements as a table.
    pub(crate) fn table(&self, file: &GateFile) -> String {
        let mut text = String::new();
        let Some(report) = &self.last else { return text };
        let _ = writeln!(text, "{}: observed for {:.0} s", file.name, self.seconds);
        for (side, one) in report.directions.iter().enumerate() {
            let _ = writeln!(
                text,
                "{} at {}: {} frames, of which {} would have been dropped",
                one.direction.name(),
                show_rate(one.rate as u64),
                one.counters.received,
                one.counters.total_dropped()
            );
            let _ = writeln!(
                text,
                "  {:<20} {:>10} {:>12} {:>12} {:>12} {:>14}",
                "flow", "packets", "busiest s", "reserved", "p99 wait", "would be dropped"
            );
            for (ix, flow) in
                one.flows.iter().enumerate().filter(|(_, flow)| flow.counters.arrived.packets > 0)
            {
                let peak = self.flows.get(&(side, ix)).map_or(0.0, |one| one.peak);
                let [_, p99, _] = flow.statistics.delay_quantiles();
                let _ = writeln!(
                    text,
                    "  {:<20} {:>10} {:>12} {:>12} {:>12} {:>14}",
                    flow.name,
                    flow.counters.arrived.packets,
                    show_rate(round_rate(peak)),
                    flow.reserve.map_or("-".to_owned(), show_rate),
                    format!("{:.1} ms", p99 * 1e3),
                    flow.counters.dropped.packets,
                );
            }
        }
        text
    }

    /// The report and the suggestions as JSON.
    pub(crate) fn json(&self, file: &GateFile) -> Value {
        let mut json = self.last.as_ref().map_or(Value::Null, Report::json);
        let named = file.flows.iter().zip(self.suggestions(file)).filter(|(flow, _)| flow.name != NO_MATCH);
        let suggested: serde_json::Map<String, Value> =
            named.filter_map(|(flow, rate)| Some((flow.name.clone(), rate?.into()))).collect();
        let others: Vec<Value> = self
            .unmatched(file)
            .into_iter()
            .map(|(conversation, packets, rate)| {
                json!({ "name": conversation.name(), "match": conversation.matching(), "packets": packets, "reserve": rate })
            })
            .collect();
        json["suggested"] = suggested.into();
        json["others"] = others.into();
        json
    }
}

/// The reservation, in bit/s, for a flow that sent at this rate in its busiest second.
fn suggested(peak: f64) -> u64 {
    let wanted = (peak * MARGIN).max(1.0);
    let unit = 10_f64.powf((wanted.log10().floor() - 1.0).max(0.0));
    ((wanted / unit).ceil() * unit) as u64
}

#[cfg(test)]
#[path = "observer_tests.rs"]
mod tests;
