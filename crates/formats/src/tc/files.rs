//! The files with the output of `tc qdisc show`, `tc class show` and `tc filter show`.

use super::entry::{At, Entry};
use super::value::Value;
use crate::error::{Complaint, FormatErrors, Origin, Place};
use crate::file::read_text;
use crate::json;
use crate::suggest::brief;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest output, in bytes.
const LARGEST: usize = 64 << 20;
const HELP: &str = "it is the output of `tc -d -j qdisc show dev IF`, of `class` or of `filter`";

/// The objects that `tc` shows of one interface.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) qdiscs: Vec<Entry>,
    pub(super) classes: Vec<Entry>,
    pub(super) filters: Vec<Entry>,
}

pub(super) fn read(paths: &[PathBuf]) -> Result<Shown, FormatErrors> {
    let mut shown = Shown::default();
    let mut device: Option<String> = None;
    for path in paths {
        let name = path.display().to_string();
        let refuse = |complaint: Complaint| -> FormatErrors {
            Origin::new(&name, "", &[]).error(Place::File, complaint).into()
        };
        let text = read_text(path, "tc output", "JSON", LARGEST).map_err(refuse)?;
        for mut entry in entries(&text, path)? {
            if let Some(found) = entry.text("dev")? {
                if device.as_ref().is_some_and(|before| *before != found) {
                    let message = format!(
                        "it is at `{}`, and others are at `{}`",
                        brief(&found),
                        brief(&device.unwrap_or_default())
                    );
                    return entry.at.refuse_with(message, "name one interface: `tc -d -j … show dev IF`");
                }
                device = Some(found);
            }
            let kind = match () {
                () if entry.has("class") => (&mut shown.classes, "class"),
                () if entry.has("pref") || entry.has("protocol") => (&mut shown.filters, "filter"),
                () => (&mut shown.qdiscs, "qdisc"),
            };
            kind.0.push(named(entry, kind.1)?);
        }
    }
    Ok(shown)
}

/// Names an entry by its kind and its handle.
fn named(mut entry: Entry, kind: &str) -> Result<Entry, FormatErrors> {
    if kind == "filter" {
        return Ok(entry);
    }
    let Some(handle) = entry.text("handle")? else {
        return entry.at.refuse_with(format!("this {kind} has no `handle`"), HELP);
    };
    entry.at.name = format!("{kind} {}", brief(&handle));
    entry.put("handle", handle);
    Ok(entry)
}

fn entries(text: &str, path: &Path) -> Result<Vec<Entry>, FormatErrors> {
    let file: Arc<str> = path.display().to_string().into();
    let at = |index: usize| At { file: Arc::clone(&file), name: format!("[{index}]") };
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.is_empty() {
        // A version without JSON for classes prints nothing where there are none.
        return Ok(Vec::new());
    }
    if trimmed.starts_with("class ") {
        return trimmed.lines().enumerate().map(|(index, line)| class_in_text(line, at(index))).collect();
    }
    let repaired = with_quoted_options(trimmed);
    let origin = Origin::new(&file, &repaired, &[]);
    let mut from = serde_json::Deserializer::from_str(&repaired);
    let read = serde::Deserialize::deserialize(&mut from).and_then(|read: Value| from.end().map(|()| read));
    let read = read.map_err(|error| json::mistake(&origin, &repaired, &error, HELP))?;
    let Value::List(all) = read else {
        let complaint = Complaint::new("this is not a list").help(HELP);
        return Err(origin.error(Place::File, complaint).into());
    };
    let one = |(index, value)| match value {
        Value::Object(keys) => Ok(Entry::new(at(index), keys)),
        _ => Err(at(index).says("this is not an object", Some(HELP.to_owned())).into()),
    };
    all.into_iter().enumerate().map(one).collect()
}

/// The key under which options are that `tc` printed as text.
pub(super) const TEXT: &str = "text";

/// Puts options in quotes which `tc` prints as text amid its JSON: `{handle 0x7 classid 1:21 }`.
fn with_quoted_options(text: &str) -> String {
    const OPTIONS: &str = "\"options\":{";
    let mut repaired = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPTIONS) {
        let (before, after) = rest.split_at(at + OPTIONS.len());
        repaired.push_str(before);
        rest = after;
        let is_text = after.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric());
        if let Some(end) = after.find('}').filter(|_| is_text) {
            let words = serde_json::Value::from(after[..end].trim());
            repaired.push_str(&format!("\"{TEXT}\":{words}"));
            rest = &after[end..];
        }
    }
    repaired + rest
}

/// A class as versions of `tc` before 6.2 print it, with `-j`, too: `class htb 1:10 parent 1:1
/// leaf 10: prio 0 rate 1Mbit ceil 9500Kbit burst 1725b cburst 2784b`.
fn class_in_text(line: &str, at: At) -> Result<Entry, FormatErrors> {
    if !line.starts_with("class ") {
        return at.refuse_with("this line is not that of a class", "run `tc` without `-s`");
    }
    let mut keys = Vec::new();
    let mut words = line.split_whitespace();
    let text = |word: Option<&str>| Value::Text(word.unwrap_or_default().to_owned());
    while let Some(word) = words.next() {
        match word {
            "root" => keys.push(("root".to_owned(), Value::Flag(true))),
            "class" => {
                keys.push(("class".to_owned(), text(words.next())));
                keys.push(("handle".to_owned(), text(words.next())));
            }
            _ => keys.push((word.to_owned(), text(words.next()))),
        }
    }
    Ok(Entry::new(at, keys))
}
