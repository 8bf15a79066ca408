//! Waiting of a forwarder for the next frame, departure or command.

use super::Forwarder;
use crate::error::GateError;
use crate::runtime::batching::{Batching, Frames, SLEEP};
use crate::runtime::commands::CommandQueue;
use crate::runtime::wait::{self, Pause, Ready};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::{Span, Time};

/// Longest time that received frames may stay in the kernel's buffer while their link is busy.
const MAX_DEFERRAL: Span = Span::from_millis(5);

/// Longest wait while the sending threads accept no more frames: half the time in which a thread
/// sends a batch.
const HAND_OVER: Span = Span::from_micros(30);

impl Forwarder {
    /// Waits for something to do; returns the receivers that are to be read now.
    ///
    /// # Errors
    /// When the system fails to wait.
    pub(super) fn wait(
        &self,
        commands: &CommandQueue,
        batching: &mut Batching,
        now: Time,
        pause: Pause,
    ) -> Result<Ready, GateError> {
        let checks = pause.until.min(self.interface_check_at).min(self.receiver_check_at);
        let due = self.engine.next_due().min(checks);
        // Frames for a busy link are needed at its next departure, not before.
        let deferrable = due.since(now) <= MAX_DEFERRAL;
        let polled = Direction::BOTH.map(|direction| !(deferrable && self.engine.is_busy(direction)));
        let frames = match pause.idle && !pause.waits && pause.coalesce == Span::ZERO {
            true => batching.frames(
                now,
                Direction::BOTH.map(|direction| self.engine.frames_wait(direction)),
                || Direction::BOTH.map(|direction| self.engine.sent(direction)),
            ),
            false => [Frames::OneByOne; 2],
        };
        let mut ready = if frames.contains(&Frames::Together) {
            // Those of a direction that sends few are read and sent when they come.
            let one_by_one = frames.map(|frames| frames == Frames::OneByOne);
            let own = Direction::BOTH.into_iter().filter(|direction| one_by_one[*direction as usize]);
            let due = own.map(|direction| self.engine.next_due_in(direction)).fold(checks, Time::min);
            let apart = [0, 1].map(|side| polled[side] && one_by_one[side]);
            let mut ready = wait::wait(&self.receivers, commands, apart, due.since(now).min(SLEEP))?;
            for (ready, one_by_one) in ready.receivers.iter_mut().zip(one_by_one) {
                *ready |= !one_by_one;
            }
            ready
        } else {
            let asleep = if pause.idle && !pause.waits { pause.coalesce } else { Span::ZERO };
            if asleep > Span::ZERO {
                wait::sleep(asleep);
            }
            let span = match (pause.idle, pause.waits) {
                (true, false) => due.since(now + asleep),
                (true, true) => {
                    let free = Direction::BOTH.into_iter().filter(|way| !pause.blocked[*way as usize]);
                    let due =
                        free.map(|direction| self.engine.next_due_in(direction)).fold(checks, Time::min);
                    due.since(now).min(HAND_OVER)
                }
                (false, _) => Span::ZERO,
            };
            let polled = [0, 1].map(|side| polled[side] && !pause.blocked[side]);
            wait::wait(&self.receivers, commands, polled, span)?
        };
        for ((ready, polled), blocked) in ready.receivers.iter_mut().zip(polled).zip(pause.blocked) {
            *ready = (*ready || !polled) && !blocked;
        }
        Ok(ready)
    }
}
