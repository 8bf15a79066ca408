//! Readiness of a port: the driver starts an idle port that may have something to send.

/// True if a port is idle and may have something to send: the driver then asks it to
/// [`start`](super::Switch::start), as soon as its link is free.
#[must_use = "an idle port that is ready has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready(pub(super) bool);

impl Ready {
    /// No port is idle.
    pub(super) const NO: Ready = Ready(false);

    /// Returns true if the driver should ask the port to start.
    #[inline(always)]
    pub fn should_start(self) -> bool {
        self.0
    }
}

/// The fate of a packet that has arrived at one port.
#[must_use = "a packet in service departs, and an idle port that is ready has to be started"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartOutcome {
    /// Its first bit leaves now: it is in service.
    Started,
    /// It waits or is dropped; the value tells whether the port is ready.
    Waits(Ready),
}

impl StartOutcome {
    /// Readiness of the port; not ready if the packet is in service already.
    #[inline(always)]
    pub(super) fn ready(self) -> Ready {
        match self {
            StartOutcome::Waits(ready) => ready,
            StartOutcome::Started => Ready::NO,
        }
    }
}
