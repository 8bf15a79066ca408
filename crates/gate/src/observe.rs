//! Looks on without touching a packet: what would have become of the traffic that the kernel forwards between
//! the interfaces, and what its flows should reserve.
//!
//! A reservation is suggested from the busiest second: what a flow sent in it on the wire, and five per cent
//! more, rounded up to two digits. Over a second, a voice or video flow's rate is its rate; within it,
//! VirtualClock lets a flow send in bursts.

use crate::orders::{Caller, Member};
use crate::report::{NO_MATCH, Report};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::protocol_name;
use tidegate_core::classifier::rules::{Direction, Each, Key, Match};
use tidegate_core::units::Span;
use tidegate_spec::units::show_rate;
use tidegate_spec::{ContractSpec, GateFile, GateFlow, Place, Terms};

/// More than was seen, so that a flow does not stand at its limit.
const MARGIN: f64 = 1.05;
/// Conversations that no flow of the file matches, and that are worth a flow of their own: at most so many.
const MOST_NEW: usize = 8;

/// The file with one more flow, which makes one for every conversation that nothing matches.
pub(crate) fn with_others(mut file: GateFile) -> GateFile {
    file.flows.push(GateFlow {
        name: NO_MATCH.to_owned(),
        matching: Match::default(),
        each: Some(Each::FiveTuple),
        circuits: None,
        idle: Span::from_secs(3600),
        contract: ContractSpec { values: Vec::new() },
        terms: [Terms::default(); 2],
        class: None,
        set_dscp: None,
        place: Place::File,
    });
    file
}

/// A conversation by what is lasting of it: the address inside, the protocol, and the port of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Talk {
    inside: IpAddr,
    protocol: u8,
    /// The lower of the two ports, and whether it is inside.
    service: Option<(u16, bool)>,
}

impl Talk {
    /// `None` for what is not IP.
    fn of(key: Key, direction: Direction) -> Option<Talk> {
        let Key::Flow(FiveTuple::Ip { source, destination, ports, protocol }) = key else { return None };
        let up = direction == Direction::Up;
        let inside = if up { source } else { destination };
        let service = ports.map(|(from, to)| {
            let (own, far) = if up { (from, to) } else { (to, from) };
            (own.min(far), own < far)
        });
        Some(Talk { inside, protocol, service })
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

/// What was seen of something: bytes on the wire until the last look, and the rate of the busiest second.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    bytes: u64,
    packets: u64,
    peak: f64,
}

impl Peak {
    fn see(&mut self, bytes: u64, packets: u64, seconds: f64) {
        let more = bytes.saturating_sub(self.bytes);
        self.peak = self.peak.max(more as f64 * 8.0 / seconds.max(0.5));
        (self.bytes, self.packets) = (bytes, packets);
    }
}

/// Looks every second until it has ended; what is left of the last second is for the caller to look at.
pub(crate) fn every_second(caller: &Caller, ended: &AtomicBool) -> Observer {
    const SHORT: Duration = Duration::from_millis(50);
    let mut observer = Observer::default();
    while !ended.load(Ordering::SeqCst) {
        if let (Some(report), Some(members)) = (caller.report(), caller.members()) {
            observer.see(report, members);
        }
        // A second, but no longer than it takes.
        (0..20).take_while(|_| !ended.load(Ordering::SeqCst)).for_each(|_| std::thread::sleep(SHORT));
    }
    observer
}

/// What is known after some looks.
#[derive(Default)]
pub(crate) struct Observer {
    seconds: f64,
    flows: BTreeMap<(usize, usize), Peak>,
    members: BTreeMap<(usize, usize, Key), Peak>,
    last: Option<Report>,
}

impl Observer {
    /// Takes in what was seen so far; to be called every second.
    pub(crate) fn see(&mut self, report: Report, members: Vec<Member>) {
        let seconds = report.process.seconds - self.seconds;
        self.seconds = report.process.seconds;
        for (side, one) in report.directions.iter().enumerate() {
            for (ix, flow) in one.flows.iter().enumerate() {
                let arrived = flow.counters.arrived;
                self.flows.entry((side, ix)).or_default().see(arrived.bytes, arrived.packets, seconds);
            }
        }
        for Member { direction, rule, key, arrived } in members {
            let peak = self.members.entry((direction as usize, rule, key)).or_default();
            peak.see(arrived.bytes, arrived.packets, seconds);
        }
        self.last = Some(report);
    }

    /// What every flow of the file should reserve, by its place in the file: `None` for one that sent nothing.
    fn suggestions(&self, file: &GateFile) -> Vec<Option<u64>> {
        let wanted = |(ix, flow): (usize, &GateFlow)| {
            // What circuits reserve is in their list.
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

    /// The conversations that nothing in the file matches: the busiest ones, and what they should reserve.
    fn others(&self, file: &GateFile) -> Vec<(Talk, u64, u64)> {
        let others = file.flows.len() - 1;
        // A service's conversations of one host add up, each direction for itself.
        let mut talks: BTreeMap<Talk, [Peak; 2]> = BTreeMap::new();
        for ((side, rule, key), seen) in &self.members {
            if *rule == others
                && let Some(talk) = Talk::of(*key, Direction::BOTH[*side])
            {
                let sum = &mut talks.entry(talk).or_default()[*side];
                sum.peak += seen.peak;
                sum.packets += seen.packets;
            }
        }
        let mut talks: Vec<_> = talks
            .into_iter()
            .map(|(talk, [up, down])| (talk, up.packets + down.packets, suggested(up.peak.max(down.peak))))
            .collect();
        talks.sort_by_key(|(talk, _, rate)| (std::cmp::Reverse(*rate), *talk));
        talks.truncate(MOST_NEW);
        talks
    }

    /// The gate file as it could be: every flow that was seen with the reservation that is suggested, and a
    /// flow for each of the busiest conversations that had none. What would not fit stands there as comments.
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
                // More than the link or a class has, or above a ceiling: a person has to decide.
                notes.push_str("\n# Not set, since it does not fit:\n");
                for (path, rate) in &wanted {
                    let _ = writeln!(notes, "# {path} = \"{rate}\"");
                }
                sets.truncate(before);
                GateFile::parse(text, name, &sets)
                    .map_or_else(|_| text.to_owned(), |file| file.to_toml().to_owned())
            }
        };
        for (talk, packets, rate) in self.others(file) {
            let flow = format!(
                "\n[[flow]] # seen: {packets} packets\nname = \"{}\"\nmatch = {{ {} }}\nreserve = \"{}\"\n",
                talk.name(),
                talk.matching(),
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

    /// The same as a table for a person.
    pub(crate) fn table(&self, file: &GateFile) -> String {
        let mut text = String::new();
        let Some(report) = &self.last else { return text };
        let _ = writeln!(text, "{}: seen for {:.0} s", file.name, self.seconds);
        for (side, one) in report.directions.iter().enumerate() {
            let _ = writeln!(
                text,
                "{} at {}: {} frames, of which {} would have been dropped",
                one.direction.name(),
                show_rate(one.rate as u64),
                one.counters.received,
                one.counters.dropped()
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
                let [_, p99, _] = flow.seen.delay_quantiles();
                let _ = writeln!(
                    text,
                    "  {:<20} {:>10} {:>12} {:>12} {:>12} {:>14}",
                    flow.name,
                    flow.counters.arrived.packets,
                    show_rate(crate::watch::round(peak)),
                    flow.reserve.map_or("-".to_owned(), show_rate),
                    format!("{:.1} ms", p99 * 1e3),
                    flow.counters.dropped.packets,
                );
            }
        }
        text
    }

    /// The same for a program.
    pub(crate) fn json(&self, file: &GateFile) -> Value {
        let mut json = self.last.as_ref().map_or(Value::Null, Report::json);
        let named = file.flows.iter().zip(self.suggestions(file)).filter(|(flow, _)| flow.name != NO_MATCH);
        let suggested: serde_json::Map<String, Value> =
            named.filter_map(|(flow, rate)| Some((flow.name.clone(), rate?.into()))).collect();
        let others: Vec<Value> = self
            .others(file)
            .into_iter()
            .map(|(talk, packets, rate)| {
                json!({ "name": talk.name(), "match": talk.matching(), "packets": packets, "reserve": rate })
            })
            .collect();
        json["suggested"] = suggested.into();
        json["others"] = others.into();
        json
    }
}

/// A reservation for a flow that sent so fast in its busiest second.
fn suggested(peak: f64) -> u64 {
    let wanted = (peak * MARGIN).max(1.0);
    let unit = 10_f64.powf((wanted.log10().floor() - 1.0).max(0.0));
    ((wanted / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_has_two_digits_and_some_room() {
        assert_eq!(
            [84_000.0, 96_000.0, 1.0, 0.0, 9_999_999.0].map(suggested),
            [89_000, 110_000, 2, 1, 11_000_000]
        );
    }

    #[test]
    fn a_talk_is_the_same_in_both_directions() {
        let flow = |text: &str| Key::Flow(text.parse().unwrap());
        let up = Talk::of(flow("10.0.0.2:40000>192.0.2.1:5060/udp"), Direction::Up).unwrap();
        let down = Talk::of(flow("192.0.2.1:5060>10.0.0.2:41000/udp"), Direction::Down).unwrap();
        assert_eq!(up, down);
        assert_eq!(up.name(), "udp-5060-10-0-0-2");
        assert_eq!(up.matching(), "inside = \"10.0.0.2\", protocol = \"udp\", outside_port = 5060");
        assert_eq!(Talk::of(Key::Other, Direction::Up), None);
    }

    #[test]
    fn the_file_is_written_with_what_was_seen() {
        let text = "version = 1 # mine\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }\n\
                    [[flow]]\nname = \"voice\" # keep\nmatch = { outside_port = 9 }\nreserve = \"10kbit\"\n";
        let file = with_others(GateFile::parse(text, "x.toml", &[]).unwrap());
        let mut observer = Observer::default();
        observer.flows.insert((0, 0), Peak { bytes: 1, packets: 1, peak: 90_000.0 });
        let talk = |port: u16| Key::Flow(format!("10.0.0.2:40000>192.0.2.1:{port}/tcp").parse().unwrap());
        observer.members.insert((0, 1, talk(80)), Peak { bytes: 1, packets: 7, peak: 200_000.0 });
        observer.members.insert((0, 1, talk(81)), Peak { bytes: 1, packets: 8, peak: 2_000_000.0 });
        let written = observer.file(&file, text, "x.toml", &[]);
        assert!(
            written.contains("version = 1 # mine") && written.contains("name = \"voice\" # keep"),
            "{written}"
        );
        let read = GateFile::parse(&written, "x.toml", &[]).unwrap();
        let reserved: Vec<_> =
            read.flows.iter().map(|flow| (flow.name.as_str(), flow.contract.reserve_bits())).collect();
        assert_eq!(reserved, [("voice", Some(95_000)), ("tcp-80-10-0-0-2", Some(210_000))]);
        // What the link has not is left to a person.
        assert!(written.contains("# name = \"tcp-81-10-0-0-2\""), "{written}");
    }
}
