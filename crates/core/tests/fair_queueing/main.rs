//! Fair queueing: what its papers promise.

#[path = "../common/mod.rs"]
mod common;
mod delays;
mod fairness;
mod gps;
mod server;
mod trees;
mod wfq;
