//! The applications that give connections their data.

use super::{OneOf, Section, Shape, defaulted, optional, time};
use tidegate_core::params::Kind;

/// What `data` takes.
pub(super) fn shape() -> Shape {
    let options = vec![
        Section::new("bulk", "Bulk data", "Data without end.", Vec::new()),
        Section::new(
            "transfers",
            "Transfers",
            "Finite transfers, one after the other: the next begins when all of the one before is acknowledged and the \
             application has thought, on the same connection with its window. Either `size` or `file` says how long they are.",
            vec![
                optional(
                    "size",
                    Shape::Value(Kind::Size),
                    "Bytes of data of a transfer; required unless a `file` is given",
                ),
                defaulted(
                    "sizes",
                    Shape::Value(Kind::Word(&["fixed", "exponential"])),
                    "fixed",
                    "Whether every transfer has the `size`, or that is the mean of exponential sizes",
                ),
                optional(
                    "file",
                    Shape::File,
                    "Distribution function of sizes: lines of a number of bytes and the percentage of transfers of at most so \
                     many, both rising, linear between lines, the last at 100; required unless a `size` is given",
                ),
                defaulted(
                    "think",
                    time(),
                    "0s",
                    "Mean of the exponential time between the end of a transfer and the beginning of the next",
                ),
            ],
        ),
    ];
    Shape::OneOf(OneOf { what: "application", default_kind: None, options })
}
