//! Keys that had another name before: a file with the old name gets a message with the new one.

use crate::error::Complaint;
use crate::record::Section;
use crate::tree::Content;
use crate::units::parse_time;

/// The complaint about a key that the section does not know, but once knew by this name; `content`
/// is its value in the file.
pub(crate) fn key(section: &Section, key: &str, content: Option<&Content>) -> Option<Complaint> {
    let knows = |name| section.field(name).is_some();
    match key {
        "level" if knows("priority") => Some(
            Complaint::new("`level` is now called `priority`")
                .help("write priority = 1, 0 being the most urgent"),
        ),
        "variant" if knows("congestion") && knows("recovery") => {
            let complaint = Complaint::new("`variant` is now two settings, `congestion` and `recovery`");
            Some(complaint.help(match content {
                Some(Content::Text(word)) => variant(word),
                _ => variant(""),
            }))
        }
        _ => None,
    }
}

/// The two settings that replace a word of `variant`.
fn variant(word: &str) -> String {
    let (congestion, recovery) = match word {
        "cubic" => ("cubic", "sack"),
        "sack" => ("reno", "sack"),
        "newreno" => ("reno", "newreno"),
        "reno" => ("reno", "reno-1990"),
        _ => return "as in congestion = \"cubic\", recovery = \"sack\"".to_owned(),
    };
    format!("variant = \"{word}\" was congestion = \"{congestion}\", recovery = \"{recovery}\"")
}

/// The complaint about a value from the time when the key meant something else.
pub(crate) fn value(key: &str, content: &Content) -> Option<Complaint> {
    let Content::Text(text) = content else { return None };
    (key == "priority" && parse_time(text).is_ok()).then(|| {
        Complaint::new("`priority` is an urgency level now; the head start is called `head_start`")
            .help(format!("write head_start = \"{text}\""))
    })
}
