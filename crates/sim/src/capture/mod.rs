//! Captures: the packets that leave a link, as a pcapng file that Wireshark reads.

mod files;
mod frame;
mod pcapng;

pub use files::{CaptureFiles, FileError, Wanted};
pub use frame::Unframed;
pub use pcapng::{CaptureError, CaptureFile};

use tidegate_core::endpoint::Payload;
use tidegate_core::packet::Mark;
use tidegate_core::units::Time;

/// A packet that has left a captured link.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket {
    /// Time at which its last bit was out.
    pub at: Time,
    /// Index of the link.
    pub link: u32,
    /// Index of its flow.
    pub flow: u32,
    /// Its number within its flow, from 0.
    pub sequence: u64,
    /// Its length in bytes.
    pub len: u32,
    /// Its marks on the link.
    pub mark: Mark,
    /// Place of the link in the route of its flow, from 0.
    pub place: u32,
    /// Its content.
    pub payload: Payload,
}
