//! Which flow sends next?

pub mod fifo;
pub mod strict_priority;
pub mod virtual_clock;

use crate::params::PolicyRecord;

/// Every built-in scheduler's record.
pub const RECORDS: &[PolicyRecord] = &[fifo::RECORD, strict_priority::RECORD, virtual_clock::RECORD];
