//! The state of a flow under deficit round robin: the bytes that it may send, and the number of
//! quanta until it may.

/// Fractional bits of a byte.
pub(super) const FRACTION: u32 = 24;

/// The scale of a quantum that is outdated.
pub(super) const STALE: u64 = u64::MAX;

/// Progress of a flow's turn.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Turn {
    /// It has not begun.
    #[default]
    Ahead,
    /// It has begun, with the quantum added to this deficit, and nothing has been sent yet.
    Begun(u64),
    /// A packet has been sent. Without a packet, the flow keeps the turn until the next packet is
    /// selected.
    Sending,
}

#[derive(Clone, Copy, Default)]
pub(super) struct DrrFlow {
    pub(super) weight: u64,
    /// Quantum of a turn, in 2⁻²⁴ bytes, as is the deficit.
    pub(super) quantum: u64,
    /// The scale for which the quantum was computed.
    pub(super) scale: u64,
    pub(super) deficit: u64,
    pub(super) turn: Turn,
    /// The round of the first turn for which it rests; set only while it rests.
    pub(super) rests_from: Option<u64>,
    /// The length of the packet that it rests for.
    pub(super) awaits: u32,
    /// Its rank among flows that rest until the same round.
    pub(super) nth_rest: u64,
}

impl DrrFlow {
    /// Number of further quanta after which it may send this number of bytes.
    pub(super) fn turns_for(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(1 << FRACTION).saturating_sub(self.deficit).div_ceil(self.quantum)
    }

    /// Returns true if a packet of this length needs more than one further quantum: without the
    /// division of [`turns_for`](Self::turns_for).
    #[inline]
    pub(super) fn needs_turns(&self, len: u32) -> bool {
        self.deficit.saturating_add(self.quantum) < u64::from(len) << FRACTION
    }

    /// Returns true if its deficit covers a packet of this length.
    #[inline]
    pub(super) fn may_send(&self, len: u32) -> bool {
        self.deficit >= u64::from(len) << FRACTION
    }

    #[inline]
    pub(super) fn give(&mut self, quanta: u64) {
        self.deficit = self.deficit.saturating_add(self.quantum.saturating_mul(quanta));
    }

    /// Begins its turn, with a quantum.
    #[inline]
    pub(super) fn begin_turn(&mut self) {
        self.turn = Turn::Begun(self.deficit);
        self.give(1);
    }

    /// Takes back a turn in which nothing has been sent, when the flow is held.
    pub(super) fn interrupt_turn(&mut self) {
        if let Turn::Begun(before) = self.turn {
            (self.deficit, self.turn) = (before, Turn::Ahead);
        }
    }

    /// Clears its deficit and its turn, when no packet of it is left or it is absent.
    pub(super) fn forget_turn(&mut self) {
        (self.deficit, self.turn) = (0, Turn::Ahead);
    }
}
