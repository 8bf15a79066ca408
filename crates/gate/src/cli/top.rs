//! `top`: tables of each flow's rates and waiting time.

use crate::control::client::Client;
use crate::error::GateError;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};
use std::time::Duration;
use tidegate_formats::units::show_rate;

const PERIOD: Duration = Duration::from_secs(1);
/// Clears the screen and goes to its upper left corner (ECMA-48).
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints a table, or JSON on one line, every second, `times` times or until it is interrupted or
/// the gate stops.
///
/// # Errors
/// When the gate does not answer.
pub(super) fn run(client: &mut Client, times: Option<u32>, json: bool) -> Result<(), GateError> {
    let mut shown = 0;
    let screen = std::io::stdout().is_terminal() && !json;
    while times.is_none_or(|times| shown < times) {
        if shown > 0 {
            std::thread::sleep(PERIOD);
        }
        let status = client.ask("status")?;
        let clear = if screen { CLEAR } else { "" };
        let mut out = std::io::stdout().lock();
        let text = if json { status.to_string() } else { table(&status) };
        match writeln!(out, "{clear}{text}").and_then(|()| out.flush()) {
            Ok(()) => shown += 1,
            // The reader has closed the pipe.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(GateError::system("writing", error)),
        }
    }
    Ok(())
}

/// The flows that have had packets, by arrival rate, the highest first.
pub(super) fn table(status: &Value) -> String {
    let mut text = String::new();
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let cpu = 100.0 * number(&status["cpu_seconds"]) / number(&status["seconds"]).max(1e-9);
    let _ = writeln!(
        text,
        "{}: {:.0} s, {cpu:.1} % of a core",
        word(&status["name"]),
        number(&status["seconds"])
    );
    for direction in ["up", "down"] {
        let one = &status["directions"][direction];
        let late = number(&one["lateness"]["p99"]) * 1e6;
        let _ = writeln!(
            text,
            "\n{direction} {} -> {} at {}: held {}, dropped {}, late by {late:.0} us (99 %)",
            word(&one["from"]),
            word(&one["to"]),
            rate(&one["rate"]),
            one["held"],
            one["dropped"],
        );
        let _ = writeln!(
            text,
            "  {:<20} {:>6} {:>12} {:>12} {:>12} {:>10} {:>10} {:>10}",
            "flow", "flows", "sends", "gets", "reserved", "p99 wait", "dropped", "ahead"
        );
        let none = Vec::new();
        let mut flows: Vec<&Value> = one["flows"].as_array().unwrap_or(&none).iter().collect();
        flows.retain(|flow| number(&flow["arrived_packets"]) > 0.0);
        flows.sort_by(|a, b| number(&b["recent"]["arriving"]).total_cmp(&number(&a["recent"]["arriving"])));
        for flow in flows {
            let recent = &flow["recent"];
            let _ = writeln!(
                text,
                "  {:<20} {:>6} {:>12} {:>12} {:>12} {:>10} {:>10} {:>10}",
                word(&flow["name"]),
                number(&flow["flows"]),
                rate(&recent["arriving"]),
                rate(&recent["sending"]),
                flow["reserve"].as_u64().map_or("-".to_owned(), show_rate),
                format!("{:.1} ms", number(&recent["delay_p99"]) * 1e3),
                number(&flow["dropped_packets"]),
                format!("{:.1} s", number(&flow["lead"])),
            );
            if recent["starved"] == true {
                let _ = writeln!(
                    text,
                    "  ^ sends {} on the wire but reserved {}: it is starved",
                    rate(&recent["arriving"]),
                    flow["reserve"].as_u64().map_or_else(String::new, show_rate),
                );
            }
        }
    }
    text
}

/// The counters of circuits, one circuit per line.
pub(super) fn circuits(list: &Value) -> String {
    let none = Vec::new();
    let mut text = format!(
        "{:<32} {:>14} {:>12} {:>14} {:>12}\n",
        "circuit", "up bytes", "dropped", "down bytes", "dropped"
    );
    for one in list.as_array().unwrap_or(&none) {
        let of = |direction: &str, key: &str| one[direction][key].as_u64().unwrap_or(0);
        let _ = writeln!(
            text,
            "{:<32} {:>14} {:>12} {:>14} {:>12}",
            one["circuit"].as_str().unwrap_or("?"),
            of("up", "sent_bytes"),
            of("up", "dropped_packets"),
            of("down", "sent_bytes"),
            of("down", "dropped_packets"),
        );
    }
    text
}

fn rate(value: &Value) -> String {
    match value.as_f64() {
        Some(rate) if rate >= 1.0 => show_rate(crate::telemetry::monitor::round_rate(rate)),
        _ => "-".to_owned(),
    }
}
