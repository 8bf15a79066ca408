use super::*;
use crate::columns::TABLES;
use std::collections::BTreeSet;
use tidegate_core::policies;

#[test]
fn every_registered_policy_is_written_everywhere() {
    let (schema, reference, python) = (schema().to_string(), reference(), python_types());
    for policy in policies::built_in() {
        assert!(schema.contains(&format!("\"const\":\"{}\"", policy.name)), "{}", policy.name);
        assert!(
            reference.contains(&format!("### `{}`\n\n**{}.** {}", policy.name, policy.title, policy.help))
        );
        assert!(reference.contains(&format!("Source: {}.", policy.source)), "{}", policy.name);
        assert!(
            python.contains(&format!("_kind: ClassVar[str | None] = \"{}\"", policy.name)),
            "{}",
            policy.name
        );
        for param in policy.params {
            assert!(reference.contains(&format!("| `{}` |", param.name)), "{}", param.name);
        }
    }
}

#[test]
fn every_column_is_written_everywhere() {
    let (reference, python) = (reference(), python_tables());
    let aliases = python.split(" = Literal[").skip(1).map(|rest| rest.split(']').next().unwrap());
    assert_eq!(aliases.clone().count(), TABLES.len());
    for (table, alias) in TABLES.iter().zip(aliases) {
        let columns: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(alias.split('"').skip(1).step_by(2).collect::<Vec<_>>(), columns, "{}", table.name);
        let heading = format!("### Table `{}`\n\n{}\n\n", table.name, table.help);
        let (_, section) = reference.split_once(&heading).unwrap();
        let rows = section.lines().skip(2).take_while(|line| !line.is_empty());
        let names: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
        assert_eq!(names, columns, "{}", table.name);
    }
    assert!(python.lines().all(|line| line.chars().count() <= 110));
}

#[test]
fn the_schema_refers_only_to_what_it_defines() {
    let schema = schema();
    assert_eq!(schema["properties"]["version"]["maximum"], 1);
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["version", "duration"]));
    let text = schema.to_string();
    for part in text.split("\"#/$defs/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schema["$defs"].get(name).is_some(), "{name}");
    }
    let bare = &schema["$defs"]["scheduler"]["oneOf"][0]["enum"];
    assert!(bare.as_array().unwrap().iter().any(|name| name == "fifo"), "{bare}");
    assert_eq!(schema["$defs"]["source-cbr"]["required"], serde_json::json!(["kind", "rate"]));
    assert_eq!(schema["$defs"]["envelope-token-bucket"]["required"], serde_json::json!([]));
    assert_eq!(schema["$defs"]["flow"]["properties"]["count"]["default"], 1);
}

#[test]
fn python_classes_are_unique_and_lines_are_short() {
    let python = python_types();
    let mut names = BTreeSet::new();
    for line in python.lines() {
        assert!(line.chars().count() <= 110, "{line}");
        assert_eq!(line, line.trim_end());
        let class = line.strip_prefix("class ").and_then(|rest| rest.split(['(', ':']).next());
        let alias = line.split_once(" = ").map(|(name, _)| name).filter(|name| !name.contains([' ', ':']));
        if let Some(name) = class.or(alias) {
            assert!(names.insert(name.to_owned()), "{name} is written twice");
        }
    }
    for name in ["Scenario", "Flow", "Fifo", "VirtualClock", "PacketTrain", "SourceKind", "TokenBucket"] {
        assert!(names.contains(name), "{name}");
    }
    assert!(python.contains("    from_: str\n") && python.contains("    class_: str | None = None\n"));
}

#[test]
fn the_reference_explains_every_key_and_column() {
    let reference = reference();
    for heading in
        ["## The file", "## `flow`", "## Kinds of source", "### `packet-train`", "### Table `flows`"]
    {
        assert!(reference.contains(heading), "{heading}");
    }
    assert!(reference.contains("Source: Zhang 1991, section 4.1.2."));
    assert!(reference.contains("| `duration` | time | required | Simulated time, above zero |"));
    assert!(!reference.contains("||"));
}
