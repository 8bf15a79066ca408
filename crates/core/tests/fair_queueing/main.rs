//! Fair queueing: what its papers promise.

#[path = "../common/mod.rs"]
mod common;
mod gps;
mod wfq;
