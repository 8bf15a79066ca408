//! Receiving of frames.

use super::Forwarder;
use crate::error::GateError;
use crate::runtime::reading::Reading;
use crate::stats::LossReason;
use crate::sys::clock::Clock;
use std::io;
use tidegate_core::classifier::rules::Direction;

impl Forwarder {
    /// Receives frames and returns true if there may be more.
    pub(super) fn receive(&mut self, direction: Direction) -> Result<bool, GateError> {
        let Forwarder { receivers, engine, clock, all_read_at, lateness, .. } = self;
        let side = direction as usize;
        let reading = Reading { now: clock.now(), wall: Clock::wall(), earliest: all_read_at[side] };
        let lateness = &mut lateness[side];
        let received = receivers[side]
            .receive(|received| reading.take(received, engine, direction, lateness, || clock.now()));
        if !matches!(received, Ok(true)) {
            all_read_at[side] = reading.now;
        }
        received.or_else(|error| self.receive_failed(direction, &error).map(|()| false))
    }

    #[cold]
    fn receive_failed(&mut self, direction: Direction, error: &io::Error) -> Result<(), GateError> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            // The kernel dropped a super-packet of a kind that a virtio-net header cannot describe.
            Some(libc::EINVAL) => {
                self.engine.count_lost(direction, LossReason::Offload);
                Ok(())
            }
            Some(libc::EBADFD) => {
                Err(GateError::InterfaceRemoved(self.names()[direction as usize].to_owned()))
            }
            Some(libc::ENETDOWN) => {
                self.interface_check_at = self.clock.now();
                Ok(())
            }
            _ => Err(GateError::system(
                format!("receiving from `{}`", self.names()[direction as usize]),
                io::Error::from(error.kind()),
            )),
        }
    }
}
