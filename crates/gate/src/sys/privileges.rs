//! Privileges: dropped once everything is open.

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// Drops every capability of this thread and of those that it starts, permanently, including those
/// that a program which it runs could regain. Forwarding on open sockets needs none. With
/// `real_time`, CAP_SYS_NICE is kept unless RLIMIT_RTPRIO permits real-time scheduling, which is
/// given up under load and requested again.
///
/// # Errors
/// System errors.
pub(crate) fn drop_all(real_time: bool) -> Result<(), Errno> {
    set_no_new_privs(true)?;
    for bit in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Ok(()) => {}
            // There is no such capability, or none may be removed; then `set_no_new_privs`
            // suffices.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(error),
        }
    }
    match clear_ambient_capability_set() {
        // Before Linux 4.3 there is no ambient set.
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error),
    }
    let granted = getrlimit(Resource::Rtprio).current.is_none_or(|priority| priority >= 1);
    let kept = if real_time && !granted { CapabilitySet::SYS_NICE } else { CapabilitySet::empty() };
    let held = rustix::thread::capabilities(None)?.permitted & kept;
    set_capabilities(
        None,
        CapabilitySets { effective: held, permitted: held, inheritable: CapabilitySet::empty() },
    )
}
