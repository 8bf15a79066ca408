//! Ethernet frames as bytes: offloads that the kernel left undone, checksums, and header fields
//! that change.

pub(crate) mod checksum;
pub(crate) mod grouping;
pub(crate) mod offload;
pub(crate) mod rewrite;
pub(crate) mod spread;
pub(crate) mod super_packet;
