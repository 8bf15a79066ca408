//! Packet sockets (packet(7)): frames from and to one interface, in batches.
//!
//! Each interface has sockets that receive, and one that sends past the queueing discipline. A
//! virtio-net header precedes every frame: on receipt it describes the offloads that are left to
//! do, and on sending the segmentation of a super-packet.

mod buffer;
mod receiver;
mod sender;
mod socket;

pub(super) use buffer::Buffer;
pub(crate) use receiver::Receiver;
pub(super) use receiver::{Batch, vlan_tag};
pub(crate) use sender::Sender;
#[cfg(feature = "xdp")]
pub(super) use socket::promiscuous;
pub(super) use socket::{missed, open, receive_at, rejoin};
