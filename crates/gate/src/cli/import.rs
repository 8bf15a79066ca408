//! `import`: translates files of other tools into a gate file.

use super::arguments::Import;
use crate::error::GateError;
use crate::sys::log::log;
use std::fs;
use std::io;
use std::path::Path;
use tidegate_formats::libreqos::{self, Line};
use tidegate_formats::{GateFile, MAX_REPORTED};

const GATE: &str = "gate.toml";
const CIRCUITS: &str = "circuits.csv";
/// Folder within that of the results in which they are checked before they are there.
const DRAFT: &str = ".import";

pub(super) fn run(asked: &Import) -> Result<String, GateError> {
    let line = Line { inside: &asked.inside, outside: &asked.outside, rates: [asked.up, asked.down] };
    let made = libreqos::import(&asked.devices, asked.network.as_deref(), &line)?;
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
    let existing = [GATE, CIRCUITS].map(|name| asked.out.join(name)).into_iter().find(|path| path.exists());
    if let Some(path) = existing.filter(|_| !asked.force) {
        return Err(GateError::FileExists(path));
    }
    write(&asked.out, &made)?;
    let gate = asked.out.join(GATE);
    Ok(format!(
        "{} and {}\n{}\n{}\n",
        counted(made.circuit_count, "circuit", "circuits"),
        counted(made.class_count, "class", "classes"),
        gate.display(),
        asked.out.join(CIRCUITS).display()
    ))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Writes both files, once a gate could run with them.
fn write(out: &Path, made: &libreqos::Import) -> Result<(), GateError> {
    let draft = out.join(DRAFT);
    let system = |error: io::Error| GateError::System { what: out.display().to_string(), error };
    let files = [(CIRCUITS, &made.circuits), (GATE, &made.gate)];
    let drafted = fs::create_dir_all(&draft)
        .and_then(|()| files.iter().try_for_each(|(name, text)| fs::write(draft.join(name), text)));
    let placed = drafted.map_err(system).and_then(|()| {
        GateFile::load(&draft.join(GATE), &[])?;
        let place = |(name, _): &(&str, &String)| fs::rename(draft.join(name), out.join(name));
        files.iter().try_for_each(place).map_err(system)
    });
    let _ = fs::remove_dir_all(&draft);
    if placed.is_err() {
        // Only a folder that is empty goes.
        let _ = fs::remove_dir(out);
    }
    placed
}
