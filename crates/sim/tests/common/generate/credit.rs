//! Credit-based flow control.

use super::Covered;
use tidegate_core::rng::Rng;

const CREDITS: &[&str] = &[
    "{}",
    "{ buffer = 5 }",
    "{ per = \"link\", buffer = 9, n2 = 3 }",
    "{ allocation = \"receiver\" }",
    "{ allocation = \"sender\", n2 = 2, cell = \"100B\" }",
    "{ protocol = \"incremental\", cell = \"64B\" }",
];

/// One draw in 17 has it: of 900, some 53.
pub const COVERED: Covered = ("credit", 25);

/// For the ports of switches, of hosts, or of both.
pub fn ports(rng: &mut Rng, sets: &mut Vec<(String, String)>) {
    for of in ["port", "host"] {
        if rng.chance(0.25) {
            let credit = CREDITS[rng.below(CREDITS.len() as u64) as usize];
            sets.push((format!("{of}.credit"), credit.to_owned()));
        }
    }
}
