//! One value of a parameter's kind: read, and its range checked.

use crate::dscp;
use crate::error::Complaint;
use crate::suggest::{brief, did_you_mean};
use crate::tree::Content;
use crate::units::{parse_limit, parse_rate, parse_size, parse_time};
use std::fmt::Display;
use std::ops::RangeInclusive;
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::params::{Kind, PolicyValue, Value};

/// Reads `content` as a value of `kind` for the key `name`.
pub(crate) fn read(kind: Kind, name: &str, content: &Content) -> Result<Value, Complaint> {
    if let (Kind::Word(words), Content::Text(word)) = (kind, content) {
        return one_of(words, name, word);
    }
    let quantity = |text: &str| match kind {
        Kind::Rate => parse_rate(text).map(Value::Rate),
        Kind::Time => parse_time(text).map(Value::Time),
        Kind::Size => parse_size(text).map(Value::Size),
        Kind::Limit => parse_limit(text).map(Value::Limit),
        Kind::Integer(..) | Kind::Number(..) => Err(unquoted(text)),
        Kind::Dscp => dscp::named(text).map(Value::Integer),
        Kind::Text | Kind::Word(_) => Ok(Value::Text(text.to_owned())),
        Kind::Policy(_) => Ok(Value::Policy(PolicyValue { name: text.to_owned(), values: Vec::new() })),
    };
    let value = match (kind, content) {
        (_, Content::Text(text)) => quantity(text),
        (Kind::Integer(low, high), Content::Integer(number)) => {
            in_range(kind, low..=high, *number).map(Value::Integer)
        }
        (Kind::Dscp, Content::Integer(number)) => dscp::numbered(*number).map(Value::Integer),
        (Kind::Number(low, high), Content::Integer(number)) => {
            in_range(kind, low..=high, *number as f64).map(Value::Number)
        }
        (Kind::Number(low, high), Content::Number(number)) => {
            in_range(kind, low..=high, *number).map(Value::Number)
        }
        // A quantity without its unit gets the complaint about the missing unit.
        (Kind::Rate | Kind::Time | Kind::Size | Kind::Limit, Content::Integer(number)) => {
            quantity(&number.to_string())
        }
        (Kind::Rate | Kind::Time | Kind::Size | Kind::Limit, Content::Number(number)) => {
            quantity(&number.to_string())
        }
        (_, other) => Err(Complaint::new(format!("takes {}, not {}", describe(kind), other.describe()))),
    };
    value.map_err(|complaint| named(name, complaint))
}

/// Reads ports for the key `name`: a number, or the first and the last of a range as text.
pub(crate) fn ports(name: &str, content: &Content) -> Result<PortRange, Complaint> {
    const PORT: Kind = Kind::Integer(0, 65_535);
    let port = |number| in_range(PORT, 0..=65_535, number).map(|port| port as u16);
    let bound = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| digits)
    };
    let range = |text: &str| match text.split_once('-').map(|(first, last)| (bound(first), bound(last))) {
        Some((Some(first), Some(last))) => PortRange::new(port(first)?, port(last)?)
            .ok_or_else(|| Complaint::new(format!("{text} ends before it begins"))),
        _ if bound(text).is_some() => Err(unquoted(text)),
        _ => Err(Complaint::new(format!("`{}` is not a range of ports", brief(text)))
            .help("write it as in \"5000-5100\"")),
    };
    let ports = match content {
        Content::Integer(number) => port(*number).map(PortRange::from),
        Content::Text(text) => range(text),
        other => Err(Complaint::new(format!("takes {}, not {}", describe(PORT), other.describe()))),
    };
    ports.map_err(|complaint| named(name, complaint))
}

fn one_of(words: &[&str], name: &str, word: &str) -> Result<Value, Complaint> {
    if words.contains(&word) {
        return Ok(Value::Text(word.to_owned()));
    }
    let mut complaint = Complaint::new(format!("there is no {name} `{}`", brief(word)));
    complaint.help = did_you_mean(word, words.iter().copied());
    Err(complaint)
}

/// Puts the key in front of a complaint about its value.
fn named(name: &str, complaint: Complaint) -> Complaint {
    let joint = if complaint.message.starts_with("takes ") { " " } else { ": " };
    Complaint { message: format!("`{name}`{joint}{}", complaint.message), help: complaint.help }
}

fn unquoted(text: &str) -> Complaint {
    let complaint = Complaint::new(format!("takes a number, not the text `{}`", brief(text)));
    match text.parse::<f64>() {
        Ok(_) => complaint.help(format!("write {} without quotes", brief(text))),
        Err(_) => complaint,
    }
}

fn in_range<N: PartialOrd + Copy + Display>(
    kind: Kind,
    range: RangeInclusive<N>,
    number: N,
) -> Result<N, Complaint> {
    // NaN is in no range.
    if range.contains(&number) {
        return Ok(number);
    }
    Err(Complaint::new(format!("{number} is out of range")).help(format!("it takes {}", describe(kind))))
}

/// The values that a kind takes, in prose.
pub(crate) fn describe(kind: Kind) -> String {
    match kind {
        Kind::Rate => "a rate such as \"400kbit\"".to_owned(),
        Kind::Time => "a time such as \"5ms\"".to_owned(),
        Kind::Size => "a size such as \"250B\"".to_owned(),
        Kind::Limit => "a limit such as \"100p\" or \"64kB\"".to_owned(),
        Kind::Integer(low, high) if low == high => low.to_string(),
        Kind::Integer(low, high) => format!("a whole number from {low} to {high}"),
        Kind::Number(low, high) => format!("a number from {low} to {high}"),
        Kind::Dscp => dscp::TAKES.to_owned(),
        Kind::Word(words) => format!("one of {}", words.join(", ")),
        Kind::Text => "text".to_owned(),
        Kind::Policy(role) => format!("a {role}"),
    }
}

/// A value of this kind as TOML, where a made-up one helps.
pub(crate) fn example(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Rate => Some("\"400kbit\""),
        Kind::Time => Some("\"5ms\""),
        Kind::Size => Some("\"250B\""),
        Kind::Limit => Some("\"100p\""),
        Kind::Dscp => Some("\"ef\""),
        Kind::Integer(..) | Kind::Number(..) | Kind::Word(_) | Kind::Policy(_) | Kind::Text => None,
    }
}

/// A record's default as it would be written in a file.
pub(crate) fn content_of_default(kind: Kind, text: &str) -> Content {
    let as_number = match kind {
        Kind::Integer(..) | Kind::Dscp => text.parse().ok().map(Content::Integer),
        Kind::Number(..) => text.parse().ok().map(Content::Number),
        Kind::Rate | Kind::Time | Kind::Size | Kind::Limit | Kind::Word(_) | Kind::Policy(_) | Kind::Text => {
            None
        }
    };
    as_number.unwrap_or_else(|| Content::Text(text.to_owned()))
}
