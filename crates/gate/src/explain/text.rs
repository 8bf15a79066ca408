//! Explanations as text, at most five lines for each.

use serde_json::Value;
use std::fmt::Write as _;
use tidegate_formats::units::show_rate;

/// The most causes that are shown of each flow, host or circuit: with the lines around them, five.
const MAX_CAUSES: usize = 3;

/// The text of explanations, of what has a name or of those that waited most.
pub(crate) fn text(answers: &Value, name: Option<&str>) -> String {
    let answers = answers.as_array().map(Vec::as_slice).unwrap_or_default();
    if answers.is_empty() {
        return match name {
            Some(name) => format!("no packet of {name} has passed in the last minute\n"),
            None => "no packet has passed in the last minute\n".to_owned(),
        };
    }
    answers.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(answer: &Value) -> String {
    let (name, flow) = (word(&answer["name"]), word(&answer["flow"]));
    let of = if name == flow { String::new() } else { format!(" of {flow}") };
    let mut text = format!(
        "{} {name}{of}: {:.1} ms wait on average, {:.1} at most ({} packets looked at in {:.0} s){}{}\n",
        word(&answer["direction"]),
        1e3 * number(&answer["wait_mean"]),
        1e3 * number(&answer["wait_max"]),
        answer["packets"],
        number(&answer["seconds"]),
        dropped(&answer["dropped"]),
        round_trips(&answer["round_trips"]),
    );
    for cause in list(&answer["causes"]).iter().take(MAX_CAUSES) {
        let _ = writeln!(text, "{:5.0} %  {}", 100.0 * number(&cause["share"]), clause(cause));
    }
    let _ = writeln!(text, "  =>  {}", word(&answer["verdict"]));
    text
}

/// A cause, with its senders.
fn clause(cause: &Value) -> String {
    let at = word(&cause["at"]);
    let limit = cause["ceiling"].as_u64().map_or_else(String::new, |rate| format!(" of {}", show_rate(rate)));
    let what = match word(&cause["cause"]) {
        "own-packets" => "packets of its own".to_owned(),
        "own-conversations" => "other conversations of its own".to_owned(),
        "own-ceiling" => format!("its own ceiling{limit}"),
        "ceiling" => format!("the ceiling{limit} of {at}"),
        "others" => format!("packets of others on {at}"),
        "outage" => "an outage of the link".to_owned(),
        _ => "the times of its scheduler".to_owned(),
    };
    let sender = |one: &Value| format!("{} {:.0} %", word(&one["name"]), 100.0 * number(&one["share"]));
    match list(&cause["senders"]) {
        [] => what,
        senders => format!("{what}: {}", senders.iter().map(sender).collect::<Vec<_>>().join(", ")),
    }
}

/// The drops by reason, behind a comma; nothing without any.
fn dropped(dropped: &Value) -> String {
    let reasons = dropped.as_object().into_iter().flatten();
    let reasons: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    if reasons.is_empty() { String::new() } else { format!(", dropped: {}", reasons.join(", ")) }
}

/// The round-trip times, behind a comma; nothing without any.
fn round_trips(trips: &Value) -> String {
    if trips.is_null() {
        return String::new();
    }
    let [mean, least] = ["mean", "least"].map(|key| 1e3 * number(&trips[key]));
    format!(", round trips {}: {mean:.1} ms, {least:.1} at least", word(&trips["side"]))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}
