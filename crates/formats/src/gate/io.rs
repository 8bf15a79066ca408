//! Input and output of a gate's frames.

use super::Fail;
use crate::error::{Complaint, Report};
use crate::values::Values;

/// Input and output of a gate's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Packet sockets, many frames at a time.
    Packet,
    /// Packet sockets with a ring of slots to receive from.
    Ring,
    /// Packet sockets with a ring of blocks to receive from.
    RingBatch,
    /// TAP devices, which the gate makes.
    Tap,
    /// AF_XDP sockets.
    Xdp,
}

impl Io {
    /// Reads the kind from `[gate]`; `None` only once a mistake has been reported.
    pub(super) fn read(gate: &Values, fail: Fail, report: &mut Report) -> Option<Io> {
        let io = match gate.text("io")? {
            "ring" => Io::Ring,
            "ring-batch" => Io::RingBatch,
            "tap" => Io::Tap,
            "xdp" => Io::Xdp,
            _ => Io::Packet,
        };
        if io == Io::Tap && fail == Fail::Open {
            let complaint =
                Complaint::new("a TAP device disappears with its gate, so no traffic can pass without one")
                    .help("write fail = \"closed\" beside it");
            report.add(gate.place_of("io"), complaint);
        }
        Some(io)
    }
}
