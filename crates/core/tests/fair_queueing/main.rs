//! Fair queueing: the promises of its papers.

#[path = "../common/mod.rs"]
mod common;
mod delays;
mod fairness;
mod gps;
mod server;
mod trees;
mod wfq;
