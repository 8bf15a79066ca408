//! Explicit-rate control of the ABR service.

use super::{Covered, pick};
use tidegate_core::rng::Rng;

const RATE_CONTROLS: &[&str] =
    &["efci", "relative-rate", "eprca", "erica", "{ kind = \"erica\", cells = 5 }"];

pub const COVERED: Covered = ("rate_control", 30);
pub const VCS_COVERED: Covered = ("vc", 500);

/// For the ports of switches.
pub fn ports(rng: &mut Rng, sets: &mut Vec<(String, String)>) {
    if rng.chance(0.35) {
        let control = RATE_CONTROLS[rng.below(RATE_CONTROLS.len() as u64) as usize];
        sets.push(("port.rate_control".to_owned(), control.to_owned()));
        if rng.chance(0.5) {
            sets.push(("port.vsvd".to_owned(), "{}".to_owned()));
        }
    }
}

/// Returns true for a transport that sends cells, which are not cut again.
pub fn sends_cells(transport: &str) -> bool {
    transport.contains("abr")
}

/// The VC that carries the cells of a connection, for most of them.
pub fn connection(rng: &mut Rng, keys: &mut Vec<String>) {
    if rng.chance(0.7) {
        let vcs =
            ["{}", "{ icr = \"50kbit\", rif = 1 }", "{ mcr = \"8kbit\", nrm = 2, crm = 1, adtf = \"1ms\" }"];
        keys.push(format!("vc = {}", pick(rng, &vcs)));
    }
}
