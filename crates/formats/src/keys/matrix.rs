//! The keys of a traffic matrix.

use crate::section::{Names, section};
use std::path::PathBuf;

section! {
    /// Demands between pairs of nodes, in a text file, plain or gzip. Either each line of a CSV file
    /// is one of them, with the header `from,to,demand`; or the file has whole matrices, a row of
    /// which has the demands of the node that sends, with as many numbers as nodes on each line or
    /// with a whole matrix on each. Numbers are apart by blanks or commas. Demands of a node to
    /// itself do not count.
    pub(crate) struct Matrix = "matrix", "Traffic matrix" {
        /// The file
        file: PathBuf,
        /// Nodes of the rows, and of the columns, in order; required unless the file names them
        nodes: Option<Names>,
        /// Number of the matrix, from 1, in a file with one on each line
        line: u32 as Integer(1, 1_000_000_000) = "1",
    }
}
