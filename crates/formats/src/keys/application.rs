//! The applications that give connections their data.

use crate::section::{OneOrMore, kinds, section, words};
use std::path::PathBuf;
use tidegate_core::units::Span;

kinds! {
    /// The application that writes the data of a connection.
    pub(crate) enum Application = "application" {
        Bulk,
        Transfers,
        OnOffData,
        TraceData,
    }
}

section! {
    /// Endless data.
    pub(crate) struct Bulk = "bulk", "Bulk data" {}
}

section! {
    /// Finite transfers, in a closed or an open loop: one after another on the same connection with
    /// its window, or with `once` each on a connection of its own. Either `size`, or `file`, or a
    /// published distribution gives their lengths.
    pub(crate) struct Transfers = "transfers", "Transfers" {
        /// Bytes of data of a transfer, or a list of sizes with equal probability; required without
        /// a `file`, unless `sizes` names a published distribution
        size: OneOrMore<u64> as Size,
        /// Distribution of sizes: every transfer has the `size`, or `size` is the mean of an
        /// exponential distribution; or that of web search (Alizadeh et al. 2010, a mean of 1.7 MB)
        /// or of Hadoop (Roy et al. 2015, 120 kB)
        sizes: SizeDistribution = "fixed",
        /// Distribution function of sizes: each line has a number of bytes and the percentage of
        /// transfers of at most that size, both rising, interpolated between lines, the last at
        /// 100; required without a `size`
        file: Option<PathBuf>,
        /// Start of transfers: a `think` time after the previous one was acknowledged (closed
        /// loop), or by a Poisson process of a `load`, whatever the network does (open loop)
        arrivals: Arrivals = "think",
        /// Load with `arrivals = "poisson"`, which needs it: data of all `count` connections
        /// together, without headers, over the rate of the slowest link on the route; `among`
        /// hosts, over the links of all that send or of all that receive, whichever are less
        load: Option<f64> as Number(0.0001, 10.0),
        #[doc = "Whether each of the `count` connections carries a single transfer, from its own start; with \
                 `arrivals = \"poisson\"` the connections start by that process"]
        once: bool = "false",
        /// Think time between the end of a transfer and the start of the next: its mean, or its
        /// constant value, according to `thinks`
        think: Span = "0s",
        #[doc = "Whether `think` is the mean of exponential times or constant"]
        thinks: Distribution = "exponential",
    }
}

section! {
    /// Alternates between a constant rate and silence, starting with the connection. Data are
    /// written one packet's worth at a time, and the rest at the end of an on period; data that the
    /// connection cannot carry wait at the sender, without limit.
    pub(crate) struct OnOffData = "on-off-data", "On-off data" {
        /// Rate at which data are written in an on period, without headers
        rate: u64 as Rate,
        /// Length of an on period, above 0
        on: Span,
        /// Length of an off period, above 0
        off: Span,
        #[doc = "Whether `on` and `off` are means of exponential times or constant"]
        periods: Distribution = "exponential",
    }
}

section! {
    /// Writes data at the times and with the sizes of a file, as the source `trace` sends packets:
    /// lines of a time in seconds and a size in bytes. Times count from the first line, at the
    /// connection's start. Data that the connection cannot carry wait at the sender, without limit.
    pub(crate) struct TraceData = "trace-data", "Trace data" {
        /// File to play
        file: PathBuf,
        /// Speed of playback: at 2, gaps are half as long
        speed: f64 as Number(0.001, 1000.0) = "1",
    }
}

words! {
    /// The distribution of sizes of transfers.
    pub enum SizeDistribution {
        /// Equal, or from a list.
        Fixed = "fixed",
        /// Exponential, with a mean.
        Exponential = "exponential",
        /// As measured in web search.
        WebSearch = "web-search",
        /// As measured with Hadoop.
        Hadoop = "hadoop",
    }
}

words! {
    /// The process by which transfers begin.
    pub enum Arrivals {
        /// Each a think time after the one before.
        Think = "think",
        /// A Poisson process.
        Poisson = "poisson",
    }
}

words! {
    /// The distribution of times.
    pub enum Distribution {
        /// Exponential, with a mean.
        Exponential = "exponential",
        /// Constant.
        Fixed = "fixed",
    }
}
