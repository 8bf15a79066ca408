//! The packets of a file, by flow.

use super::error::TracePlace;
use super::mended::Mended;
use tidegate_core::headers::Headers;
use tidegate_core::units::Span;

/// The packets of a file, by flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The flows in the order of their first packet in the file; at least one.
    pub flows: Vec<TraceFlow>,
    /// Packets of all flows; at least one.
    pub packets: u64,
    /// Bytes of all flows.
    pub bytes: u64,
    /// From the first packet to the last one.
    pub span: Span,
    /// Packets of a capture that come after a packet with a later time; they were sorted. Always 0
    /// for lists, where this is an error.
    pub reordered: u64,
    /// The packet or line at which the file is cut off, which is left out.
    pub cut: Option<TracePlace>,
    /// Other differences from its file.
    pub mended: Mended,
}

/// One flow's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFlow {
    /// The 5-tuple as [`tidegate_core::classifier::FiveTuple`] writes it (captures;
    /// `other` for everything that is not IP), the flow column's text (CSV), or `all`.
    pub name: String,
    /// Time and size of each packet, in order of time: the span since the first packet of the file,
    /// and bytes. Never empty.
    ///
    /// In a capture the size is the packet's original length as the capture states it, whatever
    /// part of it was kept, as an Ethernet frame without preamble and frame check sequence: the
    /// pseudo-headers of other link types do not count, and Ethernet's 14 bytes do.
    pub packets: Vec<(Span, u32)>,
    /// The distance from one repetition of the file to the next: its span and one mean gap between
    /// its packets (of all flows). Zero when all its packets have one time.
    pub period: Span,
    /// Header fields that a gate reads, for captures read with [`load_frames`](super::load_frames).
    pub headers: Option<Headers>,
}

impl TraceFlow {
    /// Returns the bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// Returns the span from the flow's first packet to its last one.
    pub fn life(&self) -> Span {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => last.0 - first.0,
            _ => Span::ZERO,
        }
    }
}
