//! `docs/names.md` lists the meaning of each name, and the names of other tools for it: the records
//! agree.

mod common;

use common::parse;
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::endpoint::tcp::congestion;
use tidegate_core::params::{Kind, Marking, NamedPolicy, PolicyRecord, Role, Service};
use tidegate_core::{abr, composite, detector, dropper, endpoint, meter, scheduler, shaper};

const PAGE: &str = include_str!("../../../docs/names.md");

/// The sections of the page that have a row for each record, by their headings.
const SECTIONS: &[(&str, &[PolicyRecord])] = &[
    ("Schedulers", scheduler::RECORDS),
    ("Schedulers with droppers", composite::RECORDS),
    ("Droppers", dropper::RECORDS),
    ("Meters", meter::RECORDS),
    ("Detectors", detector::RECORDS),
    ("Envelopes", shaper::RECORDS),
    ("Transports", endpoint::RECORDS),
    ("Congestion controls", congestion::RECORDS),
    ("Rate control", abr::RECORDS),
    ("Couplings", abr::coupling::RECORDS),
];

/// The rows of the table under a heading, by their cells.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let section = PAGE.split("\n## ").find_map(|section| section.strip_prefix(&format!("{heading}\n")));
    let section = section.unwrap_or_else(|| panic!("no section `{heading}`"));
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The composition of a policy, by its record.
fn consists(record: &PolicyRecord) -> String {
    match record.role {
        Role::Composite(consists) => format!("`{consists}`"),
        Role::Scheduler { service: Service::WorkConserving } => "a scheduler".to_owned(),
        Role::Scheduler { service: Service::Regulated } => "a scheduler that holds packets".to_owned(),
        Role::Scheduler { service: Service::Slotted } => "a scheduler with slots".to_owned(),
        Role::Dropper => {
            let example = BuiltInDropper::examples().into_iter().find(|one| one.record().name == record.name);
            match example.map(|example| example.marking()) {
                Some(Marking::EcnCapable { .. } | Marking::DualQueue) => {
                    "a dropper that marks ECN-capable packets".to_owned()
                }
                _ => "a dropper".to_owned(),
            }
        }
        Role::Meter { colours: true } => "a meter that colours".to_owned(),
        Role::Meter { colours: false } => "a meter".to_owned(),
        Role::Detector => "a detector".to_owned(),
        Role::Shaper => "a shaper".to_owned(),
        Role::Transport { responsive: true } => {
            "both ends of a connection, which respond to the network".to_owned()
        }
        Role::Transport { responsive: false } => "both ends of a connection".to_owned(),
        Role::RateControl => "a switch algorithm".to_owned(),
        Role::CongestionControl => "a congestion control".to_owned(),
        Role::Coupling => "a coupling of control loops".to_owned(),
        Role::Stage => "a stage".to_owned(),
        Role::Source => "a source".to_owned(),
    }
}

#[test]
fn every_policy_has_a_row_that_says_what_its_record_says() {
    for (heading, records) in SECTIONS {
        let expected: BTreeMap<String, (String, &str)> = records
            .iter()
            .map(|record| (format!("`{}`", record.name), (consists(record), record.source)))
            .collect();
        let rows = rows(heading);
        let found: BTreeMap<String, (String, &str)> =
            rows.iter().map(|row| (row[0].to_owned(), (row[1].to_owned(), row[row.len() - 1]))).collect();
        assert_eq!(found, expected, "{heading}");
        assert_eq!(rows.len(), records.len(), "{heading}");
    }
    let headings: BTreeSet<&str> =
        PAGE.split("\n## ").skip(1).filter_map(|part| part.lines().next()).collect();
    assert!(SECTIONS.iter().all(|(heading, _)| headings.contains(heading)));
}

/// Each word of a transport's settings that are neither on nor off has a row, and the help of its
/// setting cites the same source.
#[test]
fn every_setting_of_tcp_has_a_row_with_its_source() {
    let mut expected = BTreeMap::new();
    for param in endpoint::RECORDS.iter().flat_map(|record| record.params) {
        let Kind::Word(words) = param.kind else { continue };
        if !words.contains(&"off") {
            expected.extend(words.iter().map(|word| (format!("`{} = \"{word}\"`", param.name), param.help)));
        }
    }
    assert!(expected.len() >= 5, "{expected:?}");
    let rows = rows("Settings of TCP");
    let found: BTreeSet<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(found, expected.keys().cloned().collect());
    for row in rows {
        assert!(expected[row[0]].contains(row[3]), "{}: {}", row[0], row[3]);
    }
}

/// Words in code within a cell.
fn words(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

/// The message for a scenario with this policy; `None` where it is accepted.
fn answer(policy: &str) -> Option<String> {
    let text = format!("version = 1\nduration = \"1s\"\nport = \"{policy}\"\n");
    parse(&text, &[]).err().map(|errors| errors.to_string())
}

/// A word of Linux or ns-3 in a row is accepted there, or is answered with the name of the row.
#[test]
fn what_other_tools_call_a_policy_leads_to_its_name() {
    let false_friends: BTreeSet<&str> =
        rows("False friends").iter().map(|row| row[0].trim_matches('`')).collect();
    let mut tried = 0;
    for (heading, _) in &SECTIONS[..3] {
        for row in rows(heading) {
            let name = row[0].trim_matches('`');
            for word in row[2..4].iter().flat_map(|cell| words(cell)) {
                assert!(!false_friends.contains(word), "{word}");
                match answer(word) {
                    None => assert_eq!(word, name),
                    Some(said) => assert!(
                        said.contains(&format!("\"{name}")) || said.contains(&format!("`{name}`")),
                        "{word}: {said}"
                    ),
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

/// A word with another meaning elsewhere is a name here; the page's substitute for the other
/// meaning is a policy.
#[test]
fn false_friends_are_names_here() {
    let all: BTreeSet<&str> =
        SECTIONS.iter().flat_map(|(_, records)| records.iter().map(|record| record.name)).collect();
    let rows = rows("False friends");
    assert!(!rows.is_empty());
    for row in rows {
        assert!(all.contains(row[0].trim_matches('`')), "{}", row[0]);
        for policy in words(row[3]) {
            assert_eq!(answer(policy), None, "{policy}");
        }
    }
}
