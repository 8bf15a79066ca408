//! TCP against the texts of the RFCs: which segment leaves at each acknowledgement.

#[path = "../common/mod.rs"]
mod common;
mod cubic;
mod ecn;
mod newreno;
mod properties;
mod reno;
mod sack;
mod throughput;
mod timeouts;
mod wire;
