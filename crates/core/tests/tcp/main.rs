//! TCP against the texts of the RFCs: which segment leaves at each acknowledgement.

mod cubic;
mod ecn;
mod newreno;
mod reno;
mod sack;
mod timeouts;
mod wire;
