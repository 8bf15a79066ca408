//! The applications that give connections their data.

use crate::error::{Complaint, Report};
use crate::input_file::file;
use crate::values::Values;
use std::path::{Path, PathBuf};
use tidegate_core::units::Span;

/// The application at the sending end of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Unlimited data.
    Bulk,
    /// Finite transfers in sequence.
    Transfers {
        /// Sizes of the transfers.
        sizes: TransferSizes,
        /// Time from the end of a transfer to the beginning of the next.
        think: Lasts,
    },
    /// Alternating periods of a constant rate and of silence.
    OnOff {
        /// Rate of the data in an on period, in bit/s.
        rate: u64,
        /// Duration of an on period.
        on: Lasts,
        /// Duration of an off period.
        off: Lasts,
    },
    /// The data of a file, at its recorded times.
    Trace {
        /// Path, resolved against the scenario's folder; the file could be opened.
        file: PathBuf,
        /// Factor by which the replay is faster than the recording.
        speed: f64,
    },
}

/// Distribution of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// Constant.
    Fixed(Span),
    /// Exponential with this mean.
    Exponential(Span),
}

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferSizes {
    /// Constant, in bytes.
    Fixed(u64),
    /// Exponential with this mean, in bytes.
    Exponential(u64),
    /// Distribution function in a file, resolved against the scenario's folder; the file could be
    /// opened.
    File(PathBuf),
}

impl Application {
    /// Returns true if the application has unlimited data.
    pub fn is_endless(&self) -> bool {
        *self == Application::Bulk
    }
}

/// Builds the application of a connection; `None` once a mistake has been reported.
pub(crate) fn build(values: &Values, base_dir: &Path, report: &mut Report) -> Option<Application> {
    match values.section.name {
        "bulk" => Some(Application::Bulk),
        "transfers" => Some(Application::Transfers {
            sizes: sizes(values, base_dir, report)?,
            think: lasts(values, "think", "thinks")?,
        }),
        "on-off-data" => {
            for key in ["on", "off"].into_iter().filter(|key| values.time(key) == Some(Span::ZERO)) {
                report.add(values.place_of(key), Complaint::new(format!("`{key}` is zero")));
            }
            let period = |key| lasts(values, key, "periods");
            Some(Application::OnOff { rate: values.rate("rate")?, on: period("on")?, off: period("off")? })
        }
        "trace-data" => {
            Some(Application::Trace { file: file(values, base_dir, report)?, speed: values.number("speed")? })
        }
        _ => None,
    }
}

/// The duration under `key`, with the distribution that the key `kind` names.
fn lasts(values: &Values, key: &str, kind: &str) -> Option<Lasts> {
    let span = values.time(key)?;
    Some(if values.text(kind)? == "fixed" { Lasts::Fixed(span) } else { Lasts::Exponential(span) })
}

fn sizes(values: &Values, base_dir: &Path, report: &mut Report) -> Option<TransferSizes> {
    let is_exponential = values.text("sizes")? == "exponential";
    let complaint = match (values.size("size"), values.given("file")) {
        (Some(bytes), false) if is_exponential => return Some(TransferSizes::Exponential(bytes)),
        (Some(bytes), false) => return Some(TransferSizes::Fixed(bytes)),
        (None, true) if !values.given("sizes") => {
            return file(values, base_dir, report).map(TransferSizes::File);
        }
        (None, true) => (
            values.place_of("sizes"),
            Complaint::new("`sizes` has no effect on transfers whose sizes are in a `file`")
                .help("leave it out"),
        ),
        (Some(_), true) => (
            values.place_of("file"),
            Complaint::new("transfers have a `size`, or a `file` of sizes, and not both")
                .help("leave one of them out"),
        ),
        (None, false) => (
            values.place,
            Complaint::new("transfers need a `size`, or a `file` with the distribution of sizes")
                .help("give them a size, as in size = \"100kB\""),
        ),
    };
    report.add(complaint.0, complaint.1);
    None
}
