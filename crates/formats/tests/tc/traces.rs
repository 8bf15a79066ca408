//! Everything that `tc` shows is in the gate file, or among the differences.

use crate::configurations::{Folder, PARTS, RECORDED, import_of, recorded, told};
use std::collections::BTreeSet;

/// Keys by which nothing changes that a gate does: numbers of the kernel's, sizes of its tables,
/// and what stands for values that these files state (`quantum`, a queue of each class).
const WITHOUT_EFFECT: [&str; 15] = [
    "refcnt",
    "direct_packets_stat",
    "ver",
    "order",
    "not_in_hw",
    "key_ht",
    "mtu",
    "tsize",
    "depth",
    "divisor",
    "level",
    "leaf",
    "r2q",
    "direct_qlen",
    "flows",
];

/// The scalars of a JSON text or of the lines of classes: key, and the bytes of the value.
fn scalars(text: &str) -> Vec<(String, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    if text.starts_with("class ") {
        let mut at = 0;
        let words: Vec<(&str, usize)> = text
            .split_inclusive(char::is_whitespace)
            .map(|word| {
                at += word.len();
                (word.trim_end(), at - word.len())
            })
            .collect();
        for pair in words.windows(2) {
            if !pair[0].0.is_empty() && pair[1].0.starts_with(|c: char| c.is_ascii_digit()) {
                found.push((pair[0].0.to_owned(), pair[1].1..pair[1].1 + pair[1].0.len()));
            }
        }
        return found;
    }
    for (colon, _) in text.match_indices("\":") {
        let key = text[..colon].rsplit('"').next().unwrap().to_owned();
        let rest = &text[colon + 2..];
        let length = match rest.as_bytes()[0] {
            b'"' => rest[1..].find('"').unwrap() + 2,
            b'{' | b'[' => continue,
            _ => rest.find([',', '}', ']']).unwrap(),
        };
        found.push((key, colon + 2..colon + 2 + length));
    }
    found
}

/// Another value of the same kind.
fn changed(value: &str) -> String {
    let digit = |text: &str| text.find(|c: char| c.is_ascii_digit());
    match value {
        "true" => "false".to_owned(),
        "false" => "true".to_owned(),
        "null" => "1".to_owned(),
        text => match digit(text) {
            Some(at) => {
                let other = if text[at..].starts_with('1') { "2" } else { "1" };
                format!("{}{other}{}", &text[..at], &text[at + 1..])
            }
            None => format!("\"x{}", &text[1..]),
        },
    }
}

/// True if the object around a byte is a filter that matches nothing itself, or is left out.
fn is_left_out(text: &str, at: usize, told: &str) -> bool {
    const START: &str = "{\"parent\":";
    let start = text[..at].rfind(START).unwrap_or_default();
    let end = text[at..].find(START).map_or(text.len(), |end| at + end);
    let entry = &text[start..end];
    let after = |key: &str| {
        let rest = entry.split_once(&format!("\"{key}\":"))?.1.trim_start_matches('"');
        Some(rest.split(['"', ',', '}']).next().unwrap().to_owned())
    };
    let handle = after("fh").or(after("handle")).unwrap_or_default();
    let name = format!("filter of pref {}, {} {handle}", after("pref").unwrap(), after("kind").unwrap());
    let is_head = !entry.contains("flowid") && !entry.contains("classid");
    is_head
        || told.contains(&format!("{}: it is left out", name.trim_end()))
        || text[start..at].contains("\"actions\"")
}

/// True if nothing may follow from a value where it stands.
fn is_idle(
    name: &str,
    part: usize,
    text: &str,
    key: &str,
    bytes: &std::ops::Range<usize>,
    told: &str,
) -> bool {
    let (before, after) = (&text[..bytes.start], &text[bytes.end..]);
    match part {
        // A name of a qdisc that nothing refers to; overhead beside lengths as they are; a limit of
        // the line of packets in place of which another queue is.
        0 => {
            let is_of_htb = ["u32", "office", "lan0", "flower"].contains(&name);
            key == "handle" && !(is_of_htb && after.starts_with(",\"root\""))
                || before.ends_with("\"raw\":true,\"overhead\":")
                || name == "tbf" && key == "lat"
        }
        // Classes of a token bucket; what a class at the top may borrow, or one above the line's
        // rate; bursts of a clock's tick.
        1 => {
            let line = before.lines().last().unwrap_or_default().to_owned()
                + after.lines().next().unwrap_or_default();
            let full = ["ceil 9500Kbit", "ceil 100Mbit", "ceil 3Mbit"].iter().any(|ceil| {
                text.lines().any(|whole| {
                    whole.contains(ceil) && whole.starts_with(before.lines().last().unwrap_or_default())
                })
            });
            name.starts_with("tbf")
                || ["ceil", "cburst"].contains(&key) && (full || line.contains(" root "))
                || key == "burst" && !text[bytes.clone()].starts_with("100Kb")
        }
        _ => {
            let entry = before.rfind("{\"value\"").unwrap_or_default();
            is_left_out(text, bytes.start, told)
                || ["value", "off", "offmask"].contains(&key)
                    && text[entry..].starts_with("{\"value\":\"0\",\"mask\":\"0\"")
                || key == "value" && after.starts_with(",\"mask\":\"0\"")
        }
    }
}

#[test]
fn no_value_changes_without_a_trace() {
    let folder = Folder::new("traces");
    let mut checked = BTreeSet::new();
    let mut silent = Vec::new();
    for name in RECORDED {
        let texts = recorded(name);
        let usual = told(&import_of(&folder, &texts, true));
        for part in 0..3 {
            for (key, bytes) in scalars(&texts[part]) {
                let value = &texts[part][bytes.clone()];
                if WITHOUT_EFFECT.contains(&key.as_str())
                    || is_idle(name, part, &texts[part], &key, &bytes, &usual)
                {
                    continue;
                }
                let mut other = texts.clone();
                other[part].replace_range(bytes.clone(), &changed(value));
                let now = told(&import_of(&folder, &other, true));
                if now == usual {
                    silent.push(format!("{name}, {}: `{key}` is {value}, at {bytes:?}", PARTS[part]));
                }
                checked.insert(key);
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
    assert!(checked.len() >= 60, "{checked:?}");
}
