//! May this link's sender send? Credit-based flow control of a link, by VC: no cell is lost for want of a buffer.
//!
//! [`sizing`] says which buffer a VC needs for a rate.
//!
//! H. T. Kung, Traffic management for high-speed networks, fourth lecture of the International Science Lecture Series,
//! National Academy Press 1997, section "Credit-based flow control".

pub mod sizing;

/// Credit records in one credit cell, at most (Kung 1997, section "Receiver-oriented adaptive buffer allocation").
pub const RECORDS_PER_CELL: usize = 6;
