//! A warning as it is found: its place and its text.

use crate::error::{Complaint, Place};

/// A setting that is seldom intended, and its place.
pub(super) type Found = (Place, Complaint);

/// `a`, `a and 3 more flows`.
pub(super) fn and_more(first: &str, more: usize, noun: &str) -> String {
    let ending = if noun.ends_with('s') { "es" } else { "s" };
    match more {
        0 => format!("`{first}`"),
        1 => format!("`{first}` and 1 more {noun}"),
        more => format!("`{first}` and {more} more {noun}{ending}"),
    }
}
