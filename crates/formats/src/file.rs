//! Reading a file of any kind, up to where its values fit their record.

use crate::error::{Complaint, FormatErrors, Origin, Place, Report, in_words};
use crate::keys;
use crate::read;
use crate::record::Section;
use crate::section::Keys;
use crate::set;
use crate::tree::{self, Content};
use std::io::Read;
use std::path::Path;

/// Largest file accepted, in bytes: a larger one is surely something else, a capture or a trace.
pub const LARGEST_FILE: usize = 8 << 20;

/// A file whose every value fits its record; the values are not yet checked against each other.
pub(crate) struct File<K> {
    pub(crate) origin: Origin,
    pub(crate) keys: K,
    /// The text with the overrides applied.
    pub(crate) effective: String,
    /// Every text that is a value in it, once and in order.
    pub(crate) texts: Vec<String>,
    pub(crate) report: Report,
}

impl<K: Keys> File<K> {
    pub(crate) fn read(
        section: &'static Section,
        text: &str,
        file_name: &str,
        sets: &[(String, String)],
    ) -> Result<File<K>, FormatErrors> {
        let what = section.title.to_lowercase();
        if text.len() > LARGEST_FILE {
            let origin = Origin::new(file_name, "", &[]);
            return Err(origin.error(Place::File, too_large(text.len() as u64, &what, LARGEST_FILE)).into());
        }
        let origin = Origin::new(file_name, text, sets);
        let placed = |(place, complaint)| FormatErrors::from(origin.error(place, complaint));
        let mut report = Report::default();
        let mut root = tree::parse(text).map_err(placed)?;
        check_kind(section, &root).map_err(placed)?;
        let effective = set::apply(section, text, &mut root, sets, &mut report);
        report.check(&origin)?;
        check_version(&root, &what).map_err(placed)?;
        let values = read::read(section, &root, &mut report);
        report.check(&origin)?;
        let texts = tree::texts(root);
        let keys = K::read(&values).ok_or_else(|| unexplained(&origin))?;
        Ok(File { origin, keys, effective, texts, report })
    }
}

/// The text of a file, and its name for messages.
pub(crate) fn load(section: &Section, path: &Path) -> Result<(String, String), FormatErrors> {
    let file_name = path.display().to_string();
    let what = section.title.to_lowercase();
    match read_text(path, what.strip_suffix(" file").unwrap_or(&what), "TOML", LARGEST_FILE) {
        Ok(text) => Ok((text, file_name)),
        Err(complaint) => Err(Origin::new(&file_name, "", &[]).error(Place::File, complaint).into()),
    }
}

/// The error for a value that is missing although no mistake was reported.
pub(crate) fn unexplained(origin: &Origin) -> FormatErrors {
    let complaint = Complaint::new("this cannot be read, for an unknown reason")
        .help("this is a mistake in tidegate: a record and its reader disagree");
    origin.error(Place::File, complaint).into()
}

/// The path by which other tools name standard input.
const STDIN: &str = "-";

/// The text of a file that is a `what` in the form `form`, of at most `largest` bytes.
pub(crate) fn read_text(path: &Path, what: &str, form: &str, largest: usize) -> Result<String, Complaint> {
    let failed = |error: std::io::Error| Complaint::new(format!("cannot be read: {}", in_words(&error)));
    let metadata = std::fs::metadata(path).map_err(|error| match path == Path::new(STDIN) {
        true => Complaint::new("standard input cannot be read here").help("name a file"),
        false => failed(error),
    })?;
    if metadata.is_dir() {
        return Err(Complaint::new(format!("is a folder, not a {what} file")));
    }
    if metadata.len() > largest as u64 {
        return Err(too_large(metadata.len(), what, largest));
    }
    // A file that is not regular has no size of its own, so reading stops at the limit too.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(largest as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > largest {
        return Err(too_large(bytes.len() as u64, what, largest));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Complaint::new(format!("is not text: line {line} is not UTF-8"))
            .help(format!("a {what} is a {form} file in UTF-8"))
    })
}

fn too_large(bytes: u64, what: &str, largest: usize) -> Complaint {
    let megabytes = bytes.div_ceil(1_000_000);
    let complaint = Complaint::new(format!(
        "is too large for a {what}: {megabytes} MB, and at most {} MiB are read",
        largest >> 20
    ));
    if what == keys::scenario().name {
        return complaint.help(
            "many flows alike are one [[flow]] with `count`, and recorded packets are a `trace` or \
                   `capture` source",
        );
    }
    complaint
}

/// Refuses a file of the other kind: all of its keys would be wrong.
fn check_kind(section: &Section, root: &tree::Node) -> Result<(), (Place, Complaint)> {
    let is_scenario = section.name == keys::scenario().name;
    let (other, found, command) = match is_scenario {
        true => ("gate file", root.get("gate"), "gate check"),
        false => ("scenario", root.get("duration").or_else(|| root.get("topology")), "check"),
    };
    found.map_or(Ok(()), |entry| {
        let complaint = Complaint::new(format!("this is a {other}"));
        Err((entry.key_place, complaint.help(format!("`tidegate {command} FILE` checks it"))))
    })
}

/// Checks the version first, since another version may spell anything differently.
fn check_version(root: &tree::Node, what: &str) -> Result<(), (Place, Complaint)> {
    let expected = keys::VERSION;
    let help = format!("this tidegate reads version {expected}");
    match root.get("version").map(|entry| &entry.value) {
        None => {
            let complaint = Complaint::new(format!("this {what} has no `version`"));
            Err((Place::File, complaint.help(format!("write version = {expected} in its first line"))))
        }
        Some(value) => match &value.content {
            Content::Integer(version) if *version == expected => Ok(()),
            Content::Integer(version) => {
                Err((value.place, Complaint::new(format!("this is a version {version} {what}")).help(help)))
            }
            other => {
                let message = format!("`version` is a whole number, not {}", other.describe());
                Err((value.place, Complaint::new(message).help(help)))
            }
        },
    }
}
