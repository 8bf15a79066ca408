//! Policies of every record, ports, classes and contracts.

use super::{Manner, pick};
use tidegate_core::dropper::BuiltInDropper;
use tidegate_core::meter::BuiltInMeter;
use tidegate_core::params::{Kind, NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::BuiltInScheduler;
use tidegate_formats::units::show_value;

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// A value as TOML: now and then drawn anew.
fn setting(rng: &mut Rng, manner: Manner, kind: Kind, value: &Value) -> String {
    let given = match value {
        Value::Integer(_) | Value::Number(_) => show_value(value),
        _ => quoted(&show_value(value)),
    };
    if rng.chance(manner.wild) {
        return wild(rng, kind, given);
    }
    match (kind, value) {
        _ if !rng.chance(0.4) => given,
        (Kind::Word(words), _) => quoted(pick(rng, words)),
        (Kind::Limit, _) if manner.wild == 0.0 => quoted(pick(rng, &["2p", "3p", "8p", "4kB", "12kB"])),
        (Kind::Time, _) => quoted(pick(rng, &["1ms", "10ms", "40ms"])),
        (Kind::Integer(..), Value::Integer(value)) => {
            (value / 2 + rng.below(*value as u64) as i64).to_string()
        }
        _ => given,
    }
}

/// A value of all that its kind takes, its ends included, and beyond.
fn wild(rng: &mut Rng, kind: Kind, given: String) -> String {
    match kind {
        Kind::Rate => quoted(pick(rng, &["1bit", "10kbit", "1mbit", "333333bit", "10tbit", "11tbit"])),
        Kind::Time => quoted(pick(rng, &["0s", "0.01ns", "1ms", "10h"])),
        Kind::Size => quoted(pick(rng, &["1B", "100B", "1500B", "1MB", "4294967295B", "4294967296B"])),
        Kind::Limit => quoted(pick(rng, &["1p", "3p", "1000p", "1B", "2kB", "1MB", "0p"])),
        Kind::Integer(low, high) => {
            let beyond = [low, low + 1, (low + high) / 2, high, high.saturating_add(1)];
            beyond[rng.below(5) as usize].to_string()
        }
        Kind::Number(low, high) => {
            [low, (low + high) / 2.0, high, high * 2.0][rng.below(4) as usize].to_string()
        }
        Kind::Dscp => pick(rng, &["0", "63", "64", "\"ef\"", "\"eff\""]).to_owned(),
        Kind::Word(words) => quoted(pick(rng, words)),
        Kind::Policy(_) | Kind::Text => given,
    }
}

/// A policy of a role, any of its records: its example, with some values changed or left out.
pub(super) fn policy<B: NamedPolicy>(rng: &mut Rng, manner: Manner) -> String {
    let examples = B::examples();
    let one = &examples[rng.below(examples.len() as u64) as usize];
    let record = one.record();
    let mut text = format!("{{ kind = \"{}\"", record.name);
    for (name, value) in one.values() {
        let param = record.params.iter().find(|param| param.name == name).unwrap();
        if !rng.chance(manner.wild / 2.0) {
            text.push_str(&format!(", {name} = {}", setting(rng, manner, param.kind, &value)));
        }
    }
    // Parameters that the example leaves out are set now and then.
    for param in record.params.iter().filter(|param| one.values().iter().all(|(name, _)| *name != param.name))
    {
        if rng.chance(0.2) {
            let value = match param.kind {
                Kind::Rate => Value::Rate(1_000_000),
                Kind::Time => Value::Time(tidegate_core::units::Span::from_millis(3)),
                Kind::Size => Value::Size(1_500),
                _ => continue,
            };
            text.push_str(&format!(", {} = {}", param.name, setting(rng, manner, param.kind, &value)));
        }
    }
    text + " }"
}

/// The keys of a contract.
pub(super) fn contract(rng: &mut Rng, manner: Manner, keys: &mut Vec<String>) {
    if manner.promises || rng.chance(0.6) {
        let rate = pick(rng, &["10kbit", "20kbit", "50kbit", "100kbit", "250kbit", "600kbit"]);
        keys.push(format!("reserve = \"{rate}\""));
        if !manner.promises && rng.chance(0.2) {
            keys.push(format!("head_start = \"{}\"", pick(rng, &["0s", "5ms", "100h"])));
        }
        if !manner.promises && rng.chance(0.5) {
            keys.push(format!("workahead = \"{}\"", pick(rng, &["2kB", "10kB", "100kB"])));
            keys.push(format!("peak = \"{}\"", pick(rng, &["600kbit", "1mbit", "10tbit"])));
        }
    }
    if !manner.promises && rng.chance(0.3) {
        keys.push(format!("deadline = \"{}\"", pick(rng, &["0s", "1ms", "30ms"])));
    }
    if rng.chance(0.3) {
        keys.push(format!("priority = {}", rng.below(8)));
    }
    if !manner.promises && rng.chance(0.15) {
        keys.push(format!("ceiling = \"{}\"", pick(rng, &["100kbit", "600kbit", "1mbit"])));
    }
}

/// Up to five classes, each perhaps part of one before it, and the names of those that flows may be
/// in.
pub(super) fn classes(rng: &mut Rng, manner: Manner) -> (String, Vec<String>) {
    let (mut text, mut names, mut parents) = (String::new(), Vec::<String>::new(), Vec::new());
    for ix in 0..rng.below(6) * rng.below(2) {
        let mut keys = vec![
            format!("name = \"c{ix}\""),
            format!("scheduler = {}", policy::<BuiltInScheduler>(rng, manner)),
        ];
        if let Some(parent) = names.last().filter(|_| rng.chance(0.4)) {
            keys.push(format!("parent = \"{parent}\""));
            parents.push(parent.clone());
        }
        contract(rng, manner, &mut keys);
        guards(rng, manner, &mut keys);
        text.push_str(&format!("[[class]]\n{}\n", keys.join("\n")));
        names.push(format!("c{ix}"));
    }
    if manner.wild == 0.0 {
        // A class of classes has no flows of its own.
        names.retain(|name| !parents.contains(name));
    }
    (text, names)
}

/// A dropper and a meter, each now and then.
pub(super) fn guards(rng: &mut Rng, manner: Manner, keys: &mut Vec<String>) {
    if rng.chance(0.3) {
        keys.push(format!("dropper = {}", policy::<BuiltInDropper>(rng, manner)));
    }
    if rng.chance(0.3) {
        keys.push(format!("meter = {}", policy::<BuiltInMeter>(rng, manner)));
    }
}

/// The ports of switches or of hosts.
pub(super) fn ports(rng: &mut Rng, manner: Manner, of: &str) -> String {
    if manner.promises {
        return format!("{of} = {{ scheduler = \"virtual-clock\" }}\n");
    }
    let mut keys = vec![format!("scheduler = {}", policy::<BuiltInScheduler>(rng, manner))];
    guards(rng, manner, &mut keys);
    format!("{of} = {{ {} }}\n", keys.join(", "))
}
