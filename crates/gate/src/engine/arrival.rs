//! The arrival times of a frame.

use tidegate_core::units::Time;

/// The arrival times of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Arrival at the switch: after the last [`advance`](super::Engine::advance) and before the switch's
    /// next event, which a late gate carries out after the arrival.
    pub(crate) switch: Time,
    /// Arrival at this host. The frame's waiting time since then counts as its delay.
    pub(crate) kernel: Time,
    /// The time at which the gate read the frame: an emulated link delays it from then on.
    pub(crate) read: Time,
}

impl Arrival {
    /// The arrival of a frame that was read as soon as it came.
    #[cfg(any(test, fuzzing, feature = "bench"))]
    pub(crate) fn at(now: Time) -> Arrival {
        Arrival { switch: now, kernel: now, read: now }
    }
}
