//! Sending of departures.

use super::Forwarder;
use crate::error::GateError;
use crate::io::BATCH;
use crate::runtime::sending::SendingThread;
use crate::sys::clock::TICKS_PER_NANOSECOND;
use tidegate_core::classifier::rules::Direction;

impl Forwarder {
    /// Starts the sending threads if there is a second processor and frames are sent through packet
    /// sockets.
    pub(super) fn start_threads(&mut self) -> Result<(), GateError> {
        if self.failover.is_none() || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
            return Ok(());
        }
        for (sender, thread) in self.senders.iter().zip(&mut self.threads) {
            let failed = |error| GateError::system("a thread that sends", error);
            if let Some(socket) = sender.another().map_err(failed)? {
                *thread = Some(SendingThread::start(socket, self.clock).map_err(failed)?);
            }
        }
        Ok(())
    }

    /// Counts the frames that the direction's thread has sent.
    pub(super) fn collect(&mut self, direction: Direction) {
        let Forwarder { threads, engine, lateness, .. } = self;
        let Some(thread) = &mut threads[direction as usize] else { return };
        thread.collect(|batch| {
            for late in batch.lateness() {
                lateness[direction as usize].saturating_record(late.ticks() / TICKS_PER_NANOSECOND);
            }
            batch.refused().for_each(|length| engine.refused(direction, length));
        });
    }

    /// Hands due frames to the kernel, or to the sending thread for as long as it accepts them.
    pub(super) fn send(&mut self, direction: Direction) {
        let side = direction as usize;
        self.collect(direction);
        loop {
            self.engine.group_departures(direction);
            let Forwarder { engine, threads, clock, lateness, .. } = self;
            let departures = engine.departures(direction);
            let departures = &departures[..departures.len().min(BATCH)];
            if departures.is_empty() {
                return;
            }
            // While the thread holds frames, later frames must not overtake them.
            let thread = threads[side].as_mut().filter(|thread| self.divided || thread.is_sending());
            if let Some(thread) = thread {
                let frames =
                    departures.iter().map(|departure| (engine.frame(direction, *departure), departure.due));
                let taken = thread.hand_over(frames);
                if taken == 0 {
                    return;
                }
                engine.complete(direction, taken, 0);
                continue;
            }
            let now = clock.now();
            for departure in departures {
                lateness[side].saturating_record(now.since(departure.due).ticks() / TICKS_PER_NANOSECOND);
            }
            let frames = departures.iter().map(|departure| engine.frame(direction, *departure));
            let (sent, refused) = match &self.failover {
                None => (departures.len(), 0),
                Some(_) => match self.senders[side].send(frames) {
                    Ok(sent) => (sent, 0),
                    Err(_) => (0, 1),
                },
            };
            engine.complete(direction, sent, refused);
        }
    }
}
