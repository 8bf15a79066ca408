//! `import`: translates files of other tools into a gate file.

use super::arguments::Import;
use crate::error::GateError;
use crate::sys::log::log;
use std::fs;
use std::io;
use std::path::Path;
use tidegate_formats::{FormatError, GateFile, MAX_REPORTED, libreqos, tc};

const GATE: &str = "gate.toml";
/// The configuration that was translated, for the simulator.
const BEFORE: &str = "before.toml";
/// Folder within that of the results in which they are checked before they are there.
const DRAFT: &str = ".import";

/// A translation of any tool's files.
struct Translation {
    /// Number of its parts, in words.
    summary: String,
    /// Names and texts of its files.
    files: Vec<(&'static str, String)>,
    losses: Vec<FormatError>,
}

impl Translation {
    /// Writes the losses, which were accepted, into the gate file.
    fn record_losses(&mut self) {
        if self.losses.is_empty() {
            return;
        }
        let lines = self.losses.iter().map(|loss| format!("#   {}\n", loss.summary()));
        let record: String =
            std::iter::once("# Accepted, although it is not as in the files that were read:\n".to_owned())
                .chain(lines)
                .collect();
        for (_, text) in self.files.iter_mut().filter(|(name, _)| *name == GATE) {
            text.insert_str(0, &record);
        }
    }
}

pub(super) fn run(asked: &Import) -> Result<String, GateError> {
    let mut made = match (&asked.devices, asked.up, asked.down) {
        (Some(devices), Some(up), Some(down)) => {
            let line = libreqos::Line { inside: &asked.inside, outside: &asked.outside, rates: [up, down] };
            of_libreqos(libreqos::import(devices, asked.network.as_deref(), &line)?)
        }
        _ => {
            let rates = [asked.up, asked.down];
            let line = tc::Line { inside: &asked.inside, outside: &asked.outside, rates };
            of_tc(tc::import(&[asked.tc_up.clone(), asked.tc_down.clone()], &line)?)
        }
    };
    for loss in made.losses.iter().take(MAX_REPORTED) {
        log(&loss.to_string());
    }
    if let Some(more) = made.losses.len().checked_sub(MAX_REPORTED).filter(|more| *more > 0) {
        log(&format!("and {more} more"));
    }
    if !made.losses.is_empty() && !asked.accept_losses {
        let count = made.losses.len();
        let things = if count == 1 { "1 thing is".to_owned() } else { format!("{count} things are") };
        return Err(GateError::Losses(format!("{things} not as in the files that were read")));
    }
    made.record_losses();
    let paths: Vec<_> = made.files.iter().map(|(name, _)| asked.out.join(name)).collect();
    if let Some(existing) = paths.iter().find(|path| path.exists() && !asked.force) {
        return Err(GateError::FileExists(existing.clone()));
    }
    write(&asked.out, &made.files)?;
    let listed = paths.iter().map(|path| format!("{}\n", path.display()));
    Ok(std::iter::once(format!("{}\n", made.summary)).chain(listed).collect())
}

fn of_libreqos(made: libreqos::Import) -> Translation {
    let circuits = counted(made.circuit_count, "circuit", "circuits");
    let classes = counted(made.class_count, "class", "classes");
    Translation {
        summary: format!("{circuits} and {classes}"),
        files: vec![(GATE, made.gate), (tc::CIRCUITS, made.circuits)],
        losses: made.losses,
    }
}

fn of_tc(made: tc::Import) -> Translation {
    let classes = counted(made.class_count, "class", "classes");
    let flows = counted(made.flow_count, "flow", "flows");
    let mut summary = format!("{classes} and {flows}");
    let mut files = vec![(GATE, made.gate)];
    files.extend(made.circuits.map(|circuits| (tc::CIRCUITS, circuits)));
    match made.before {
        Ok(before) => {
            files.push((BEFORE, before.file));
            before.notes.iter().for_each(|note| summary += &format!("\nin {BEFORE}, {note}"));
        }
        Err(why) => summary += &format!("\nno {BEFORE}: {why}"),
    }
    Translation { summary, files, losses: made.losses }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Writes the files, once a gate could run with them.
fn write(out: &Path, files: &[(&str, String)]) -> Result<(), GateError> {
    let draft = out.join(DRAFT);
    let system = |error: io::Error| GateError::System { what: out.display().to_string(), error };
    let drafted = fs::create_dir_all(&draft)
        .and_then(|()| files.iter().try_for_each(|(name, text)| fs::write(draft.join(name), text)));
    let placed = drafted.map_err(system).and_then(|()| {
        for (name, _) in files.iter().filter(|(name, _)| name.ends_with(".toml")) {
            GateFile::load(&draft.join(name), &[])?;
        }
        let place = |(name, _): &(&str, String)| fs::rename(draft.join(name), out.join(name));
        files.iter().try_for_each(place).map_err(system)
    });
    let _ = fs::remove_dir_all(&draft);
    if placed.is_err() {
        // Only a folder that is empty goes.
        let _ = fs::remove_dir(out);
    }
    placed
}
