//! Filters: which packets belong to which class.

mod criteria;
mod flower;
mod u32;

pub(super) use criteria::{Criteria, Family};

use super::entry::{At, Entry};
use super::files::TEXT;
use crate::error::FormatErrors;
use crate::suggest::brief;

/// A filter that sends packets to a class.
pub(super) struct Filter {
    pub(super) at: At,
    /// Its place among the filters: the lowest is asked first.
    pub(super) pref: u64,
    /// Class, as `1:10`.
    pub(super) class: String,
    /// The packets, or the reason why a gate cannot tell them from others.
    pub(super) packets: Result<Criteria, String>,
    /// Further effects, which a gate has not.
    pub(super) notes: Vec<String>,
}

/// Kinds that look at something which a gate does not see or does not look at.
const OTHER_KINDS: [(&str, &str); 8] = [
    ("fw", "marks of the packet filter are not seen by a gate"),
    ("basic", "`tc` does not print its match as JSON"),
    ("bpf", "programs are not translated"),
    ("cgroup", "control groups of senders are not seen by a gate"),
    ("flow", "it computes a class from headers"),
    ("route", "realms of routes are not seen by a gate"),
    ("rsvp", "it has no counterpart"),
    ("tcindex", "marks of the kernel are not seen by a gate"),
];

/// Reads a filter of the qdisc `root`; `None` for the head of a list of filters, which matches
/// nothing itself.
pub(super) fn read(mut entry: Entry, root: &str) -> Result<Option<Filter>, FormatErrors> {
    let kind = entry.needed_text("kind")?;
    let protocol = entry.needed_text("protocol")?;
    let pref = entry.count("pref")?.unwrap_or_default();
    let parent = entry.text("parent")?;
    let chain = entry.count("chain")?.unwrap_or_default();
    entry.at.name = format!("filter of pref {pref}, {}", brief(&kind));
    let mut options = entry.inner("options")?;
    entry.end()?;
    let handle = match kind.as_str() {
        "u32" => options.text("fh")?,
        _ => options.take("handle").map(|handle| match handle {
            super::value::Value::Text(text) => text,
            super::value::Value::Number(number) => format!("{number}"),
            _ => String::new(),
        }),
    };
    if let Some(handle) = handle {
        entry.at.name = format!("{} {}", entry.at.name, brief(&handle));
    }
    let at = entry.at.clone();
    options.at = at.clone();
    let is_head = options.rest().next().is_none() || options.rest().all(|key| key == "ht_divisor");
    if is_head {
        return Ok(None);
    }
    let in_text = options.text(TEXT)?;
    let mut notes = Vec::new();
    let class = match &in_text {
        Some(words) => {
            let mut words = words.split_whitespace();
            words.find(|word| ["classid", "flowid"].contains(word)).and(words.next()).map(str::to_owned)
        }
        None => match options.text("classid")? {
            Some(class) => Some(class),
            None => options.text("flowid")?,
        },
    };
    if options.take("actions").is_some() {
        notes.push("its actions are left out".to_owned());
    }
    options.ignore(&[
        "not_in_hw",
        "in_hw",
        "skip_hw",
        "skip_sw",
        "in_hw_count",
        "order",
        "success",
        "rule_hit",
    ]);
    let family = Family::of(&protocol);
    let unseen = OTHER_KINDS.iter().find(|(name, _)| *name == kind).map(|(_, why)| (*why).to_owned());
    let packets = match (kind.as_str(), in_text, unseen) {
        _ if parent.as_deref() != Some(root) => Err(format!(
            "it is at `{}`, and filters of `{root}` alone are read",
            brief(parent.as_deref().unwrap_or("root"))
        )),
        _ if chain != 0 => Err(format!("it is in chain {chain}")),
        (_, _, Some(why)) => Err(why),
        (_, Some(_), _) => {
            return at
                .refuse_with("its match is text, not JSON", "`tc` of iproute2 5.0 or later prints JSON");
        }
        ("u32", ..) => u32::read(&mut options, family, &mut notes)?,
        ("flower", ..) => flower::read(&mut options, family)?,
        ("matchall", ..) => {
            options.end()?;
            family.map(Criteria::of)
        }
        _ => {
            return at.refuse_with(
                format!("`{}` is not known here", brief(&kind)),
                "it is not known what it matches, so nothing is translated",
            );
        }
    };
    let (class, packets) = match class {
        Some(class) => (class, packets),
        None => (String::new(), packets.and(Err("it names no class".to_owned()))),
    };
    Ok(Some(Filter { at, pref, class, packets, notes }))
}
