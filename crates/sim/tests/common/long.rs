//! The long tier of tests, which `make verify` runs.

/// True in the long tier.
pub fn is_long() -> bool {
    std::env::var_os("TIDEGATE_VERIFY").is_some_and(|set| set == "1")
}
