//! The message about a mistake: its place, the mistake, and the correct form.

use crate::suggest::brief;
use std::fmt;
use std::sync::Arc;

/// Place of a mistake. Ordered as a reader meets them: the file as a whole, its text, then `--set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The file as a whole.
    File,
    /// Bytes of the file, from `start` up to `end`.
    Text {
        /// First byte.
        start: u32,
        /// One past the last byte.
        end: u32,
    },
    /// The override with this index.
    Set(u32),
}

/// A mistake without its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The mistake, as a phrase without a full stop.
    pub message: String,
    /// The correct form.
    pub help: Option<String>,
}

impl Complaint {
    /// A complaint without help.
    pub fn new(message: impl Into<String>) -> Complaint {
        Complaint { message: message.into(), help: None }
    }

    /// States the correct form; replaces an earlier statement.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Complaint {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.help {
            Some(help) => write!(f, "{} ({help})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// The texts that places point into: the file as it was read, and the overrides.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    file: Arc<str>,
    text: Arc<str>,
    sets: Arc<[(String, String)]>,
}

impl Origin {
    pub(crate) fn new(file: &str, text: &str, sets: &[(String, String)]) -> Origin {
        Origin { file: file.into(), text: text.into(), sets: sets.into() }
    }

    /// The file's text.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    pub(crate) fn error(&self, place: Place, complaint: Complaint) -> FormatError {
        let mut error = FormatError {
            file: self.file.to_string(),
            line: 0,
            column: 0,
            message: printable(&complaint.message),
            help: complaint.help.as_deref().map(printable),
            excerpt: None,
        };
        match place {
            Place::File => {}
            Place::Set(index) => {
                if let Some((path, value)) = self.sets.get(index as usize) {
                    error.file = printable(&format!("--set {}={}", brief(path), brief(value)));
                }
            }
            Place::Text { start, end } => self.locate(&mut error, start as usize, end as usize),
        }
        error
    }

    fn locate(&self, error: &mut FormatError, start: usize, end: usize) {
        let start = floor_boundary(&self.text, start);
        let end = floor_boundary(&self.text, end).max(start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        error.line = before.matches('\n').count() + 1;
        error.column = self.text[line_start..start].chars().count() + 1;
        error.excerpt =
            Some(excerpt(&self.text[line_start..line_end], start - line_start, end.min(line_end) - start));
    }
}

/// The system's message for an error, without the number that Rust adds: `No such file or
/// directory`.
pub fn in_words(error: &std::io::Error) -> String {
    without_numbers(&error.to_string())
}

/// A message without the numbers of errors of the system: `(os error 2)`.
pub fn without_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                said.push_str(rest);
            }
            _ => {
                said.push_str(" (os error ");
                said.push_str(part);
            }
        }
    }
    said
}

/// The last character boundary at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Characters of an excerpt: before the mistake, and in all, so that a long line stays readable.
const SHOWN_BEFORE: usize = 60;
const SHOWN: usize = 110;

/// The source line around the mistake (`from` and `bytes` within `line`) and where the caret goes.
fn excerpt(line: &str, from: usize, bytes: usize) -> Excerpt {
    let before = line[..from].chars().count();
    let marked = line[from..from + bytes].chars().count().max(1);
    let skipped = before.saturating_sub(SHOWN_BEFORE);
    let shown: String = line.trim_end_matches('\r').chars().skip(skipped).take(SHOWN).collect();
    Excerpt {
        text: printable(&shown),
        indent: before - skipped,
        marked: marked.min(SHOWN - (before - skipped)),
    }
}

/// The text with each control character replaced by a space, so that none moves a terminal's
/// cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A source line with a mark under part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    indent: usize,
    marked: usize,
}

/// One mistake in a person's text, with its place.
///
/// Displays as `FILE:LINE:COLUMN: message`, the source line with a caret, and a line of help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The file's name as it was given, or the override: `--set duration=10`.
    pub file: String,
    /// Line, from 1; 0 when the mistake is not at one line.
    pub line: usize,
    /// Column in characters, from 1; 0 when the mistake is not at one line.
    pub column: usize,
    /// The mistake.
    pub message: String,
    /// The correct form, if known.
    pub help: Option<String>,
    excerpt: Option<Excerpt>,
}

impl FormatError {
    /// The place and the mistake, in one line without control characters.
    pub fn summary(&self) -> String {
        printable(&match self.line {
            0 => format!("{}: {}", self.file, self.message),
            line => format!("{}:{line}:{}: {}", self.file, self.column, self.message),
        })
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if let Some(Excerpt { text, indent, marked }) = &self.excerpt {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n  {number} | {text}")?;
            write!(f, "\n  {margin} | {}{}", " ".repeat(*indent), "^".repeat(*marked))?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FormatError {}

/// Every mistake found, the first in the file first; never empty, at most [`MAX_REPORTED`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatErrors {
    /// The mistakes.
    pub errors: Vec<FormatError>,
    /// True if there may be more mistakes than are listed.
    pub truncated: bool,
}

/// The most mistakes that are listed at once.
pub const MAX_REPORTED: usize = 20;

impl fmt::Display for FormatErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        if self.truncated {
            write!(f, "\nonly the first {MAX_REPORTED} mistakes are listed")?;
        }
        Ok(())
    }
}

impl std::error::Error for FormatErrors {}

impl From<FormatError> for FormatErrors {
    fn from(error: FormatError) -> FormatErrors {
        FormatErrors { errors: vec![error], truncated: false }
    }
}

/// Collects mistakes while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<(Place, Complaint)>,
    /// Mistakes in files that this one names.
    elsewhere: Vec<FormatError>,
}

impl Report {
    /// Notes a mistake; more than [`MAX_REPORTED`] are not kept.
    pub(crate) fn add(&mut self, place: Place, complaint: Complaint) {
        if !self.is_full() {
            self.found.push((place, complaint));
        }
    }

    /// Notes mistakes in a file that this one names; they are listed after its own.
    pub(crate) fn say_elsewhere(&mut self, errors: FormatErrors) {
        // A truncated list counts as one mistake more than the limit, which stands for the unlisted
        // ones.
        let beyond = errors.errors.last().filter(|_| errors.truncated).cloned();
        self.elsewhere.extend(errors.errors.into_iter().chain(beyond));
    }

    /// Returns true if further search is pointless: one mistake more than is listed has been found.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() + self.elsewhere.len() > MAX_REPORTED
    }

    /// `Err` with every mistake noted so far, if there are any.
    pub(crate) fn check(&mut self, origin: &Origin) -> Result<(), FormatErrors> {
        if self.found.is_empty() && self.elsewhere.is_empty() {
            return Ok(());
        }
        let truncated = self.is_full();
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(place, _)| *place);
        let own = found.into_iter().map(|(place, complaint)| origin.error(place, complaint));
        let errors = own.chain(std::mem::take(&mut self.elsewhere)).take(MAX_REPORTED).collect();
        Err(FormatErrors { errors, truncated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_shows_its_line_and_a_caret() {
        let origin = Origin::new("a.toml", "x = 1\nrate = \"4é\"\r\n", &[]);
        let error = origin.error(Place::Text { start: 13, end: 18 }, Complaint::new("wrong").help("right"));
        let expected = "a.toml:2:8: wrong\n  2 | rate = \"4é\"\n    |        ^^^^\n  help: right";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        let origin = Origin::new("a.toml", "é", &[]);
        for (start, end) in [(0, 99), (1, 1), (99, 0), (2, 2)] {
            let error = origin.error(Place::Text { start, end }, Complaint::new("odd\u{1b}[31m"));
            assert!(error.to_string().starts_with("a.toml:1:"), "{error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
        assert_eq!(origin.error(Place::Set(3), Complaint::new("gone")).to_string(), "a.toml: gone");
    }

    #[test]
    fn long_lines_are_cut_around_the_mistake() {
        let text = "y".repeat(5_000);
        let origin = Origin::new("a.toml", &text, &[]);
        let error = origin.error(Place::Text { start: 4_000, end: 5_000 }, Complaint::new("long"));
        assert!(error.to_string().lines().all(|line| line.len() < 130), "{error}");
    }
}
