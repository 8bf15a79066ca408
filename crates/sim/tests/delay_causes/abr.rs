//! Delays in the queues of VCs, which are shapers on the way.

/// Some packets waited there.
pub fn check_held(held: u64) {
    assert!(held > 0);
}
