//! RM cells, which their ends and ports with VS/VD take for themselves.

/// Some of these packets were absorbed.
pub fn check_absorbed(absorbed: u64, runs: u64) {
    assert!(absorbed > runs / 20, "{absorbed} absorbed in {runs} runs");
}
