//! `check`: checks a gate file and summarises it.

use super::arguments::Check;
use super::summary::{describe, fails};
use crate::config::losses;
use crate::config::oversubscription;
use crate::config::promises;
use crate::config::unmatched;
use crate::error::GateError;

pub(super) fn run(asked: &Check) -> Result<String, GateError> {
    let file = &asked.source;
    let read = file.source().load()?;
    let warnings = [losses::warnings(&read), unmatched::warnings(&read)].concat();
    let promised: String = promises::lines(&read).iter().map(|line| format!("{line}\n")).collect();
    let summary = promised + &oversubscription::summary(&read);
    if asked.json {
        let [up, down] = read.rates.map(|rate| rate.bits_per_second().round() as u64);
        let document = serde_json::json!({
            "file": file.file.to_string_lossy(), "inside": read.inside, "outside": read.outside,
            "up": up, "down": down, "fail": fails(&read), "warnings": warnings, "notes": summary.lines().collect::<Vec<_>>(),
        });
        return Ok(format!("{document:#}\n"));
    }
    let warnings: String = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    Ok(format!("{}: in order\n{}\n{warnings}{summary}", file.file.display(), describe(&read)))
}
