//! The applications that give connections their data.

mod lasts;
mod transfers;

pub use lasts::Lasts;
pub use transfers::{TransferArrivals, TransferSizes};

use crate::error::{Complaint, Report};
use crate::input_file::file;
use crate::keys::application as keys;
use crate::section::Placed;
use lasts::lasts;
use std::path::{Path, PathBuf};
use tidegate_core::units::Span;

/// The application at the sending end of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Unlimited data.
    Bulk,
    /// Finite transfers.
    Transfers {
        /// Sizes of the transfers.
        sizes: TransferSizes,
        /// Times at which they begin.
        arrivals: TransferArrivals,
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
        keys::Application::Transfers(keys) => {
            let arrivals = transfers::arrivals(keys, data.place, report);
            Application::Transfers {
                sizes: transfers::sizes(keys, data.place, base_dir, report)?,
                arrivals: arrivals?,
            }
        }
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
