//! The applications that give connections their data.

use crate::error::{Complaint, Place, Report};
use crate::input_file::file;
use crate::keys::application::{self as keys, Distribution};
use crate::section::Placed;
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
pub(crate) fn build(
    data: &Placed<keys::Application>,
    base_dir: &Path,
    report: &mut Report,
) -> Option<Application> {
    Some(match &**data {
        keys::Application::Bulk(_) => Application::Bulk,
        keys::Application::Transfers(transfers) => Application::Transfers {
            sizes: sizes(transfers, data.place, base_dir, report)?,
            think: lasts(*transfers.think, *transfers.thinks),
        },
        keys::Application::OnOffData(keys::OnOffData { rate, on, off, periods }) => {
            for period in [on, off].into_iter().filter(|period| ***period == Span::ZERO) {
                report.add(period.place, Complaint::new(format!("`{}` is zero", period.key)));
            }
            Application::OnOff { rate: **rate, on: lasts(**on, **periods), off: lasts(**off, **periods) }
        }
        keys::Application::TraceData(keys::TraceData { file: named, speed }) => {
            Application::Trace { file: file(named, named.place, base_dir, report)?, speed: **speed }
        }
    })
}

/// The duration with this value and this distribution.
fn lasts(span: Span, distribution: Distribution) -> Lasts {
    match distribution {
        Distribution::Fixed => Lasts::Fixed(span),
        Distribution::Exponential => Lasts::Exponential(span),
    }
}

fn sizes(
    keys: &keys::Transfers,
    place: Place,
    base_dir: &Path,
    report: &mut Report,
) -> Option<TransferSizes> {
    let keys::Transfers { size, sizes, file: named, .. } = keys;
    let complaint = match (**size, named.as_ref()) {
        (Some(bytes), None) => {
            return Some(match **sizes {
                Distribution::Fixed => TransferSizes::Fixed(bytes),
                Distribution::Exponential => TransferSizes::Exponential(bytes),
            });
        }
        (None, Some(path)) if !sizes.given => {
            return file(path, named.place, base_dir, report).map(TransferSizes::File);
        }
        (None, Some(_)) => (
            sizes.place,
            Complaint::new("`sizes` has no effect on transfers whose sizes are in a `file`")
                .help("leave it out"),
        ),
        (Some(_), Some(_)) => (
            named.place,
            Complaint::new("transfers have a `size`, or a `file` of sizes, and not both")
                .help("leave one of them out"),
        ),
        (None, None) => (
            place,
            Complaint::new("transfers need a `size`, or a `file` with the distribution of sizes")
                .help("give them a size, as in size = \"100kB\""),
        ),
    };
    report.add(complaint.0, complaint.1);
    None
}
