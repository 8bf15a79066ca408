//! Is this packet dropped or marked?

pub mod drop_tail;

use crate::params::PolicyRecord;

/// Every built-in dropper's record.
pub const RECORDS: &[PolicyRecord] = &[drop_tail::RECORD];
