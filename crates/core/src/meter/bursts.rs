//! The check of the burst sizes of profiles.

use crate::params::{Fault, Member, NodeContext};
use alloc::format;

/// Checks that each profile with a rate has a committed burst, and that no burst is smaller than a
/// packet of the profile: such packets would never conform (RFC 2697 and 2698, section 2).
///
/// # Errors
/// At the member of the first that has none, or too small a one.
pub(super) fn check_bursts(node: &NodeContext<'_>) -> Result<(), Fault> {
    for (index, Member { contract, largest, .. }) in node.members.iter().enumerate() {
        if contract.reserve.is_none() {
            continue;
        }
        let Some(committed) = contract.committed_burst() else {
            let message = "it has no committed burst size (CBS): state its `workahead`, or its `interval`";
            return Err(Fault::of(index, 0, "workahead", message));
        };
        let bursts = [("workahead", Some(committed)), ("peak_burst", contract.peak_burst)];
        for (key, burst) in bursts {
            if let Some(burst) = burst.filter(|burst| burst < largest) {
                let message =
                    format!("its `{key}` ({burst}B) is smaller than its largest packet ({largest}B)");
                return Err(Fault::of(index, 0, key, message));
            }
        }
    }
    Ok(())
}
