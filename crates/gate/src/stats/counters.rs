//! Counters of one direction, and the reasons for which frames are lost outside the switch.

use tidegate_core::context::Reason;
use tidegate_core::units::Span;

/// Reason for the loss of a frame before it reached the switch or after it left the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// No buffer was free.
    Memory,
    /// It is longer than the interfaces' MTU allows.
    TooLong,
    /// Its offloaded checksum or segmentation could not be completed.
    Offload,
    /// It is shorter than an Ethernet header.
    Malformed,
    /// It had waited too long before it was read.
    Late,
    /// The kernel refused to send it.
    Device,
    /// The emulated link lost it.
    Emulated,
}

impl LossReason {
    pub(crate) const ALL: [LossReason; 7] = [
        LossReason::Memory,
        LossReason::TooLong,
        LossReason::Offload,
        LossReason::Malformed,
        LossReason::Late,
        LossReason::Device,
        LossReason::Emulated,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            LossReason::Memory => "memory",
            LossReason::TooLong => "too-long",
            LossReason::Offload => "offload",
            LossReason::Malformed => "malformed",
            LossReason::Late => "late",
            LossReason::Device => "device",
            LossReason::Emulated => "emulated-loss",
        }
    }
}

/// Counters of one direction: `received = sent + dropped + held`, in frames as a network card would
/// send them (a super-packet counts as the frames that it is segmented into).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    /// Received super-packets, each of which was segmented into several frames.
    pub(crate) super_packets: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    lost: [u64; LossReason::ALL.len()],
    dropped: [u64; Reason::ALL.len()],
    /// Number of times that the link was served later than the engine can make up for, and the link
    /// time lost.
    pub(crate) stalls: u64,
    pub(crate) stalled: Span,
}

impl Counters {
    pub(crate) fn count_loss(&mut self, reason: LossReason) {
        self.lost[reason as usize] += 1;
    }

    pub(crate) fn count_drop(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }

    /// Frames that were lost for this reason.
    pub(crate) fn lost(&self, reason: LossReason) -> u64 {
        self.lost[reason as usize]
    }

    /// Dropped frames by the name of the reason: core's reasons, then those of [`LossReason`].
    pub(crate) fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let lost = LossReason::ALL.iter().map(|reason| (reason.name(), self.lost[*reason as usize]));
        let dropped = Reason::ALL.iter().map(|reason| (reason.name(), self.dropped[*reason as usize]));
        dropped.chain(lost)
    }

    /// All dropped frames.
    pub(crate) fn total_dropped(&self) -> u64 {
        self.drops().map(|(_, count)| count).sum()
    }
}
