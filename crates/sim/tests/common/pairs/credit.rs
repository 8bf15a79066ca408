//! Credit-based flow control.

use super::Draw;
use std::fmt::Write;

pub const KEY: &str = "credit";
pub const STATIC: &str = "credit";
pub const ADAPTIVE: &str = "adaptive-credit";
pub const VIRTUAL_LINK: &str = "virtual-link";

pub fn is_used(draw: &Draw<'_>) -> bool {
    draw.has(STATIC) || draw.has(ADAPTIVE) || draw.has(VIRTUAL_LINK)
}

/// The credit of a link, and the link back of a virtual one.
pub fn add(draw: &mut Draw<'_>, text: &mut String, (from, to): (&str, &str), rate: u64) {
    let (is_first, is_second) = ((from, to) == ("s1", "s2"), (from, to) == ("s2", "s3"));
    let cell = "cell = \"200B\"";
    if draw.has(VIRTUAL_LINK) && is_first {
        writeln!(text, "duplex = false\ncredit = {{ to = \"s3\", {cell}, queueing = \"20ms\" }}").unwrap();
        writeln!(text, "[[link]]\nfrom = \"{to}\"\nto = \"{from}\"\nrate = \"{rate}kbit\"").unwrap();
    } else if draw.has(STATIC) && !(draw.has(VIRTUAL_LINK) && is_second) && draw.rng.chance(0.7) {
        let check = draw.one(&["", ", check = \"0s\"", ", check = \"9ms\""]);
        writeln!(text, "credit = {{ {cell}, buffer = {}{check} }}", 1 + draw.rng.below(15)).unwrap();
    } else if draw.has(ADAPTIVE) && !is_second && draw.rng.chance(0.7) {
        let by = draw.one(&["sender", "receiver"]);
        writeln!(text, "credit = {{ {cell}, allocation = \"{by}\" }}").unwrap();
    }
}
