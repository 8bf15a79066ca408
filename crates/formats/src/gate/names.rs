//! Names in a gate file: the gate's own, and those of its interfaces.

use crate::error::{Complaint, Place, Report};
use crate::section::Placed;
use std::path::Path;

/// The longest name of an interface, in bytes (IFNAMSIZ without its closing zero).
const LONGEST_INTERFACE: usize = 15;

/// The name of a gate: its own, or that of its file. It stands at the beginning of each line of the
/// log, so that a letter that ends a line or changes the display is replaced by an underscore.
pub(super) fn name_of(own: Option<&str>, file_name: &str) -> String {
    let stem = || Path::new(file_name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = own.map(str::to_owned).or_else(stem).unwrap_or_default();
    name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// Returns true if a letter is shown in its place: no control character, no end of a line or
/// paragraph, and none that changes the direction of the text after it.
fn is_plain(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn check_name(stated: &Placed<Option<String>>, report: &mut Report) {
    let Some(name) = stated.as_deref() else { return };
    let complaint = match name.chars().count() {
        _ if !name.chars().all(is_plain) => Complaint::new("`name` has characters that the log cannot show"),
        1..=64 => return,
        _ => Complaint::new("`name` must have 1 to 64 characters"),
    };
    report.add(stated.place, complaint.help("it stands at the beginning of each line of the log"));
}

pub(super) fn check_interface(name: &str, place: Place, report: &mut Report) {
    let odd =
        |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace() || byte.is_ascii_control();
    if name.is_empty() || name.len() > LONGEST_INTERFACE || name.bytes().any(odd) {
        let complaint = Complaint::new("this is not the name of an interface")
            .help(format!("`ip link` lists them; a name has at most {LONGEST_INTERFACE} letters"));
        report.add(place, complaint);
    }
}
