//! A received frame, and the sizes of frames.

use crate::frame::offload::{HEADER, Offloaded};
use crate::stats::LossReason;

/// Frames that a packet socket receives, and that are handed over for sending, in one call.
pub(crate) const BATCH: usize = 32;
/// Bytes of a VLAN tag, kept free in front of a frame for the tag that is put back.
pub(super) const TAG: usize = 4;
/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
/// Bytes of the longest super-packet: 64 KB behind an Ethernet header with two tags.
pub(super) const MAX_FRAME: usize = (1 << 16) + 22;

/// A received frame. Its bytes start [`TAG`] bytes into `bytes`.
pub(crate) struct Received<'r> {
    /// The virtio-net header.
    pub(super) header: [u8; HEADER],
    /// Room for a tag, then the frame.
    pub(super) bytes: &'r mut [u8],
    /// Time at which the kernel received the frame, in nanoseconds of CLOCK_REALTIME; `None` if
    /// unknown.
    pub(crate) stamp: Option<u64>,
    /// The VLAN tag that the kernel has removed from the frame.
    pub(super) tag: Option<[u8; TAG]>,
    /// The reason for which the frame is lost, if it is.
    pub(super) loss: Option<LossReason>,
}

impl<'r> Received<'r> {
    /// The frame with its tag and its offloads.
    ///
    /// # Errors
    /// The reason for which the frame is lost.
    pub(crate) fn offloaded(self) -> Result<Offloaded<'r>, LossReason> {
        let Received { header, bytes, tag, loss, .. } = self;
        if let Some(reason) = loss {
            return Err(reason);
        }
        if bytes.len() < TAG + ETHERNET {
            return Err(LossReason::Malformed);
        }
        let (frame, inserted) = match tag {
            None => (&bytes[TAG..], 0),
            Some(tag) => {
                // The addresses move forward into the room for the tag.
                bytes.copy_within(TAG..TAG + 12, 0);
                bytes[12..12 + TAG].copy_from_slice(&tag);
                (&*bytes, TAG)
            }
        };
        Offloaded::new(&header, frame, inserted).map_err(|_| LossReason::Offload)
    }
}
