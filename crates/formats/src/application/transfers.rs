//! Finite transfers: their sizes, and the times at which they begin.

use super::lasts::{Lasts, lasts};
use crate::error::{Complaint, Place, Report};
use crate::input_file::file;
use crate::keys::application::{Arrivals, SizeDistribution, Transfers};
use std::path::{Path, PathBuf};

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferSizes {
    /// Constant, in bytes.
    Fixed(u64),
    /// One of several, in bytes, with equal probability.
    OneOf(Vec<u64>),
    /// Exponential with this mean, in bytes.
    Exponential(u64),
    /// As measured in web search.
    WebSearch,
    /// As measured with Hadoop.
    Hadoop,
    /// Distribution function in a file, resolved against the scenario's folder; the file could be
    /// opened.
    File(PathBuf),
}

/// Times at which transfers begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TransferArrivals {
    /// Each this time after the end of the one before, on the same connection.
    AfterThink(Lasts),
    /// By a Poisson process, on the same connection.
    Poisson {
        /// Bytes of all members of the group over those that the slowest link on the way carries.
        load: f64,
    },
    /// A single one on each connection, at its start.
    Once {
        /// The load by which the connections of the group start, as that of `Poisson`; `None` where
        /// the connections state their starts.
        load: Option<f64>,
    },
}

/// The sizes, or `None` once a mistake has been reported.
pub(super) fn sizes(
    keys: &Transfers,
    place: Place,
    base_dir: &Path,
    report: &mut Report,
) -> Option<TransferSizes> {
    let Transfers { size, sizes, file: named, .. } = keys;
    let complaint = match (&***size, named.as_ref(), **sizes) {
        ([], None, SizeDistribution::WebSearch) => return Some(TransferSizes::WebSearch),
        ([], None, SizeDistribution::Hadoop) => return Some(TransferSizes::Hadoop),
        ([bytes], None, SizeDistribution::Fixed) => return Some(TransferSizes::Fixed(*bytes)),
        (several @ [_, ..], None, SizeDistribution::Fixed) => {
            return Some(TransferSizes::OneOf(several.to_vec()));
        }
        ([bytes], None, SizeDistribution::Exponential) => return Some(TransferSizes::Exponential(*bytes)),
        ([_, _, ..], None, SizeDistribution::Exponential) => (
            size.place,
            Complaint::new("`size` is a list, and an exponential distribution has one mean")
                .help("leave out `sizes`, or give one size"),
        ),
        ([_, ..], None, SizeDistribution::WebSearch | SizeDistribution::Hadoop) => (
            size.place,
            Complaint::new("`size` has no effect on transfers of a published distribution")
                .help("leave out `size` or `sizes`"),
        ),
        ([], Some(path), _) if !sizes.given => {
            return file(path, named.place, base_dir, report).map(TransferSizes::File);
        }
        ([], Some(_), _) => (
            sizes.place,
            Complaint::new("`sizes` has no effect on transfers whose sizes are in a `file`")
                .help("leave it out"),
        ),
        (_, Some(_), _) => (
            named.place,
            Complaint::new("transfers have a `size`, or a `file` of sizes, and not both")
                .help("leave one of them out"),
        ),
        ([], None, _) => (
            place,
            Complaint::new("transfers need a `size`, or a `file` with the distribution of sizes")
                .help("give them a size, as in size = \"100kB\""),
        ),
    };
    report.add(complaint.0, complaint.1);
    None
}

/// The times at which transfers begin, or `None` once a mistake has been reported.
pub(super) fn arrivals(keys: &Transfers, place: Place, report: &mut Report) -> Option<TransferArrivals> {
    let Transfers { arrivals, load, once, think, thinks, .. } = keys;
    let is_poisson = **arrivals == Arrivals::Poisson;
    if is_poisson && load.is_none() {
        let complaint = Complaint::new("`arrivals = \"poisson\"` needs a `load`");
        report.add(place, complaint.help("the load of the slowest link on the route, as in load = 0.5"));
        return None;
    }
    if !is_poisson && load.given {
        let complaint = Complaint::new("`load` has no effect without `arrivals = \"poisson\"`");
        report.add(load.place, complaint.help("add arrivals = \"poisson\", or leave it out"));
        return None;
    }
    let no_thinking = if is_poisson {
        "with `arrivals = \"poisson\"`"
    } else if **once {
        "on connections with a single transfer"
    } else {
        return Some(TransferArrivals::AfterThink(lasts(**think, **thinks)));
    };
    if let Some((key, place)) = think.written().or(thinks.written()) {
        report
            .add(place, Complaint::new(format!("`{key}` has no effect {no_thinking}")).help("leave it out"));
        return None;
    }
    Some(match **load {
        Some(load) if !**once => TransferArrivals::Poisson { load },
        load => TransferArrivals::Once { load },
    })
}
