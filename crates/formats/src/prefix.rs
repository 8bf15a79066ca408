//! Addresses and prefixes, as a person writes them.

use crate::error::{Complaint, Place, Report};
use crate::suggest::brief;
use std::str::FromStr;
use tidegate_core::classifier::rules::{NotAPrefix, Prefix};

/// An address or a prefix under a key; `None` once a mistake has been reported.
pub(crate) fn read_prefix(key: &str, text: &str, place: Place, report: &mut Report) -> Option<Prefix> {
    let complaint = match Prefix::from_str(text) {
        Ok(prefix) => return Some(prefix),
        Err(NotAPrefix::Text) => Complaint::new(format!("`{key}` is neither an address nor a prefix"))
            .help("write it as in 10.0.0.1, 10.0.0.0/24 or 2001:db8::/32"),
        Err(NotAPrefix::HostBits(network)) => Complaint::new(format!("`{key}` has bits beyond its prefix"))
            .help(format!("did you mean `{network}`?")),
    };
    report.add(place, complaint);
    None
}

/// The addresses and prefixes in a field of a table, and a complaint of each word that is neither.
pub(crate) fn prefixes(field: &str) -> (Vec<Prefix>, Vec<Complaint>) {
    let texts = field.split([' ', ';', ',', '\t', '\n', '\r']).filter(|text| !text.is_empty());
    let (mut prefixes, mut complaints) = (Vec::new(), Vec::new());
    for text in texts {
        match text.parse() {
            Ok(prefix) => prefixes.push(prefix),
            Err(NotAPrefix::Text) => complaints.push(
                Complaint::new(format!("`{}` is neither an address nor a prefix", brief(text))).help(
                    "write it as in 10.0.0.1, 10.0.0.0/24 or 2001:db8::/32, several with spaces between them",
                ),
            ),
            Err(NotAPrefix::HostBits(network)) => complaints.push(
                Complaint::new(format!("`{}` has bits beyond its prefix", brief(text)))
                    .help(format!("did you mean `{network}`?")),
            ),
        }
    }
    (prefixes, complaints)
}
