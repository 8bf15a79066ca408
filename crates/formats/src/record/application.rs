//! The applications that give connections their data.

use super::{OneOf, Section, Shape, defaulted, optional, rate, required, time};
use tidegate_core::params::Kind;

/// The values that `data` takes.
pub(super) fn shape() -> Shape {
    let options = vec![
        Section::new("bulk", "Bulk data", "Endless data.", Vec::new()),
        Section::new(
            "transfers",
            "Transfers",
            "Finite transfers, one after another on the same connection with its window: the next starts a \
             think time after the previous one has been acknowledged. Either `size` or `file` gives their \
             lengths.",
            vec![
                optional(
                    "size",
                    Shape::Value(Kind::Size),
                    "Bytes of data of a transfer; required without a `file`",
                ),
                defaulted(
                    "sizes",
                    Shape::Value(Kind::Word(&["fixed", "exponential"])),
                    "fixed",
                    "Whether every transfer has the `size`, or `size` is the mean of an exponential \
                     distribution",
                ),
                optional(
                    "file",
                    Shape::File,
                    "Distribution function of sizes: each line has a number of bytes and the percentage of \
                     transfers of at most that size, both rising, interpolated between lines, the last at \
                     100; required without a `size`",
                ),
                defaulted(
                    "think",
                    time(),
                    "0s",
                    "Think time between the end of a transfer and the start of the next: its mean, or its \
                     constant value, according to `thinks`",
                ),
                defaulted(
                    "thinks",
                    Shape::Value(Kind::Word(&["exponential", "fixed"])),
                    "exponential",
                    "Whether `think` is the mean of exponential times or constant",
                ),
            ],
        ),
        Section::new(
            "on-off-data",
            "On-off data",
            "Alternates between a constant rate and silence, starting with the connection. Data are written \
             one packet's worth at a time, and the rest at the end of an on period; data that the \
             connection cannot carry wait at the sender, without limit.",
            vec![
                required("rate", rate(), "Rate at which data are written in an on period, without headers"),
                required("on", time(), "Length of an on period, above 0"),
                required("off", time(), "Length of an off period, above 0"),
                defaulted(
                    "periods",
                    Shape::Value(Kind::Word(&["exponential", "fixed"])),
                    "exponential",
                    "Whether `on` and `off` are means of exponential times or constant",
                ),
            ],
        ),
        Section::new(
            "trace-data",
            "Trace data",
            "Writes data at the times and with the sizes of a file, as the source `trace` sends packets: lines of a time \
             in seconds and a size in bytes. Times count from the first line, at the connection's start. Data that the \
             connection cannot carry wait at the sender, without limit.",
            vec![
                required("file", Shape::File, "File to play"),
                defaulted(
                    "speed",
                    Shape::Value(Kind::Number(0.001, 1000.0)),
                    "1",
                    "Speed of playback: at 2, gaps are half as long",
                ),
            ],
        ),
    ];
    Shape::OneOf(OneOf { what: "application", default_kind: None, options })
}
