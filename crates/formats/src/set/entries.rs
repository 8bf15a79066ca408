//! Entries of lists of tables, by their names.

use crate::error::Complaint;
use crate::suggest::{brief, did_you_mean};
use crate::tree::{Content, Node};

/// The one entry of a list of tables that has this name.
pub(super) fn entry_named<'n>(
    key: &str,
    name: &str,
    list: Option<&'n Node>,
) -> Result<(usize, &'n Node), Complaint> {
    let entries: &[Node] = match list {
        Some(Node { content: Content::List(entries), .. }) => entries,
        _ => &[],
    };
    let mut found = entries.iter().enumerate().filter(|(_, entry)| entry_name(entry) == name);
    match (found.next(), found.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(_), Some(_)) => Err(Complaint::new(format!("there is more than one {key} `{name}`"))),
        (None, _) => {
            let names: Vec<String> = entries.iter().map(entry_name).collect();
            let mut complaint = Complaint::new(format!("this scenario has no {key} `{}`", brief(name)));
            complaint.help = did_you_mean(name, names.iter().map(String::as_str));
            Err(complaint)
        }
    }
}

/// A table's name; a link has none and goes by its ends, as `s1-s2`.
fn entry_name(entry: &Node) -> String {
    match (entry.text("name"), entry.text("from"), entry.text("to")) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(from), Some(to)) => format!("{from}-{to}"),
        _ => String::new(),
    }
}
