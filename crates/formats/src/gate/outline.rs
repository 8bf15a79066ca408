//! The part of a gate file that finds its running gate, even when the file has mistakes.

use super::names::name_of;
use crate::error::FormatErrors;
use crate::file;
use crate::keys;
use crate::tree::{self, Node};
use std::path::{Path, PathBuf};

/// The name of a gate, its interfaces and its control socket. A file with mistakes that were made
/// while its gate runs still has these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOutline {
    /// Its name, as [`GateFile::name`](super::GateFile::name).
    pub name: String,
    /// Interface towards the hosts that the link serves; `None` when the file does not state it.
    pub inside: Option<String>,
    /// Interface towards the rest of the world; `None` when the file does not state it.
    pub outside: Option<String>,
    /// Path of the control socket; `None` for the default path.
    pub socket: Option<PathBuf>,
}

impl GateOutline {
    /// Reads a file for its outline.
    ///
    /// # Errors
    /// When the file cannot be read as text.
    pub fn load(path: &Path) -> Result<GateOutline, FormatErrors> {
        let (text, file_name) = file::load(keys::gate(), path)?;
        Ok(GateOutline::of(&text, &file_name))
    }

    /// The outline of a file's text.
    pub fn of(text: &str, file_name: &str) -> GateOutline {
        let found = match tree::parse(text) {
            Ok(root) => Found::of(&root),
            Err(_) => Found::line_by_line(text),
        };
        GateOutline {
            name: name_of(found.name.as_deref(), file_name),
            inside: found.inside,
            outside: found.outside,
            socket: found.socket.map(PathBuf::from),
        }
    }
}

/// The values of an outline found so far.
#[derive(Default)]
struct Found {
    name: Option<String>,
    inside: Option<String>,
    outside: Option<String>,
    socket: Option<String>,
}

impl Found {
    fn of(root: &Node) -> Found {
        let within = |section: &str, key: &str| Some(root.get(section)?.value.text(key)?.to_owned());
        Found {
            name: root.text("name").map(str::to_owned),
            inside: within("gate", "inside"),
            outside: within("gate", "outside"),
            socket: within("control", "socket"),
        }
    }

    /// Reads every line that is TOML by itself, in the table whose header stands above it. The
    /// first value found for a key holds.
    fn line_by_line(text: &str) -> Found {
        let (mut all, mut header) = (Found::default(), "");
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                header = line;
            }
            let own = if line.starts_with('[') { String::new() } else { format!("{header}\n{line}") };
            let Ok(root) = tree::parse(&own) else { continue };
            let Found { name, inside, outside, socket } = Found::of(&root);
            for (found, more) in [
                (&mut all.name, name),
                (&mut all.inside, inside),
                (&mut all.outside, outside),
                (&mut all.socket, socket),
            ] {
                *found = found.take().or(more);
            }
        }
        all
    }
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
