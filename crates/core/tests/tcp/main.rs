//! TCP against the texts of the RFCs: the segment that leaves at each acknowledgement.

mod bbr;
mod bbr_draft;
mod bbr_oracle;
#[path = "../common/mod.rs"]
mod common;
mod cubic;
mod delivery_rate;
mod ecn;
mod events;
mod frto;
mod newreno;
mod opening;
mod path;
mod properties;
mod rack;
mod rack_paths;
mod reno;
mod rfc9438;
mod sack;
mod stack;
mod throughput;
mod timeouts;
mod wire;
