//! What gives a connection its data.

use crate::error::{Complaint, Report};
use crate::input_file::file;
use crate::values::Values;
use std::path::{Path, PathBuf};
use tidegate_core::units::Span;

/// The application at the sending end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Application {
    /// Data without end.
    Bulk,
    /// Finite transfers, one after the other.
    Transfers {
        /// How long they are.
        sizes: TransferSizes,
        /// Mean of the exponential time between them.
        think: Span,
    },
}

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferSizes {
    /// All of so many bytes.
    Fixed(u64),
    /// Exponential with a mean of so many bytes.
    Exponential(u64),
    /// By the distribution function in a file, resolved against the scenario's folder; it could be opened.
    File(PathBuf),
}

impl Application {
    /// Whether it sends finite transfers.
    pub(crate) fn is_finite(&self) -> bool {
        matches!(self, Application::Transfers { .. })
    }
}

/// Builds the application of a connection. `None` after something was reported.
pub(crate) fn build(values: &Values, base_dir: &Path, report: &mut Report) -> Option<Application> {
    match values.section.name {
        "bulk" => Some(Application::Bulk),
        "transfers" => Some(Application::Transfers {
            sizes: sizes(values, base_dir, report)?,
            think: values.time("think")?,
        }),
        _ => None,
    }
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
            Complaint::new("`sizes` says nothing of transfers whose sizes are in a `file`")
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
