//! Keys that had another name before: a file with the old name gets a message with the new one.

use crate::error::Complaint;
use crate::record::Section;
use crate::tree::Content;
use crate::units::parse_time;

/// What is said of a key that the section does not know, but knew by this name before.
pub(crate) fn key(section: &Section, key: &str) -> Option<Complaint> {
    (key == "level" && section.field("priority").is_some()).then(|| {
        Complaint::new("`level` is now called `priority`").help("write priority = 1, 0 being the most urgent")
    })
}

/// What is said of a value that the key took while it meant something else.
pub(crate) fn value(key: &str, content: &Content) -> Option<Complaint> {
    let Content::Text(text) = content else { return None };
    (key == "priority" && parse_time(text).is_ok()).then(|| {
        Complaint::new("`priority` is an urgency level now; the head start is called `head_start`")
            .help(format!("write head_start = \"{text}\""))
    })
}
