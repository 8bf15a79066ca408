//! Differentiated services code points by their names.

use crate::error::Complaint;
use crate::suggest::{brief, did_you_mean};

/// The names that a file may write for a codepoint of six bits: the default and the class selectors
/// (RFC 2474, sections 4.1 and 4.2.2), assured forwarding (RFC 2597, section 6), expedited
/// forwarding (RFC 3246), admitted voice (RFC 5865) and lower effort (RFC 8622).
pub(crate) const NAMES: &[(&str, u8)] = &[
    ("be", 0),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("ef", 46),
    ("va", 44),
    ("le", 1),
];

/// The accepted forms of a codepoint, in prose.
pub(crate) const TAKES: &str = "a name such as \"ef\" or \"af41\", or a whole number from 0 to 63";

/// The codepoint with this name.
pub(crate) fn named(name: &str) -> Result<i64, Complaint> {
    if let Some((_, codepoint)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Ok(i64::from(*codepoint));
    }
    let complaint = Complaint::new(format!("there is no codepoint `{}`", brief(name)));
    Err(match name.parse::<u8>() {
        Ok(number) => complaint.help(format!("write {number} without quotes")),
        Err(_) => Complaint { help: did_you_mean(name, NAMES.iter().map(|(known, _)| *known)), ..complaint },
    })
}

/// The codepoint with this number.
pub(crate) fn numbered(number: i64) -> Result<i64, Complaint> {
    match number {
        0..=63 => Ok(number),
        64..=255 => Err(Complaint::new(format!("{number} is out of range")).help(format!(
            "did you mean {}? A codepoint is the upper six bits of its byte, without ECN",
            number >> 2
        ))),
        _ => Err(Complaint::new(format!("{number} is out of range")).help(format!("it takes {TAKES}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2474: CSn is n, three bits up. RFC 2597: AFxy is class x, three bits up, and drop
    /// precedence y, one bit up.
    #[test]
    fn names_follow_their_patterns() {
        for (name, codepoint) in NAMES {
            let digits: Vec<u8> = name.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
            let expected = match (&name[..2], &digits[..]) {
                ("cs", [class]) => class << 3,
                ("af", [class, precedence]) => class << 3 | precedence << 1,
                ("be", []) => 0b00_0000,
                ("ef", []) => 0b10_1110,
                ("va", []) => 0b10_1100,
                ("le", []) => 0b00_0001,
                other => panic!("{other:?}"),
            };
            assert_eq!((*codepoint, named(name)), (expected, Ok(i64::from(expected))));
        }
        assert_eq!(NAMES.len(), 24);
        assert!((0..64).all(|number| numbered(number) == Ok(number)));
    }
}
