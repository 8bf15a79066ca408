//! Sending of departures.

use super::Forwarder;
use crate::error::GateError;
use crate::frame::grouping::MOST;
use crate::io::BATCH;
use crate::runtime::sending::{Batch, SendingThread};
use crate::sys::clock::TICKS_PER_NANOSECOND;
use tidegate_core::classifier::rules::Direction;

impl Forwarder {
    /// Starts a sending thread for both directions if there is a second processor and frames are sent
    /// through packet sockets, and one for each direction if there is a third one.
    pub(super) fn start_threads(&mut self) -> Result<(), GateError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if self.failover.is_none() || processors < 2 {
            return Ok(());
        }
        let failed = |error| GateError::system("a thread that sends", error);
        let mut sockets = Vec::new();
        for sender in &self.senders {
            let Some(socket) = sender.another().map_err(failed)? else { return Ok(()) };
            sockets.push(socket);
        }
        let start = |sockets| SendingThread::start(sockets, self.clock).map_err(failed);
        let threads = if processors > 2 {
            let each = sockets.into_iter().map(|socket| start(vec![socket]));
            each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        } else {
            start(sockets)?
        };
        for (place, thread) in self.threads.iter_mut().zip(threads) {
            *place = Some(thread);
        }
        Ok(())
    }

    /// Counts the frames that the direction's thread has sent; if it is `last`, all that were handed
    /// over, and nothing is handed over afterwards.
    pub(super) fn collect(&mut self, direction: Direction, last: bool) {
        let Forwarder { threads, engine, lateness, .. } = self;
        let Some(thread) = &mut threads[direction as usize] else { return };
        let see = |batch: &Batch| {
            for late in batch.lateness() {
                lateness[direction as usize].saturating_record(late.ticks() / TICKS_PER_NANOSECOND);
            }
            batch.refused().for_each(|length| engine.refused(direction, length));
        };
        if last { thread.finish(see) } else { thread.collect(see) }
    }

    /// The most frames of a direction that are due and not yet handed over: those of one call, or of
    /// two while two threads send.
    pub(super) fn most_due(&self) -> usize {
        if self.divided { MOST } else { BATCH }
    }

    /// Hands due frames to the kernel, and those of its share to the sending thread for as long as
    /// it accepts them.
    pub(super) fn send(&mut self, direction: Direction) {
        self.collect(direction, false);
        loop {
            self.engine.group_departures(direction);
            let due = self.engine.departures(direction).len().min(MOST);
            let own = self.hand_over(direction, due);
            if own > 0 {
                self.send_own(direction, own);
            } else if due == 0 || self.engine.departures(direction).len() >= due {
                // The thread has to send others before it accepts these.
                return;
            }
        }
    }

    /// Hands those of the first `due` frames to the sending thread that are in its share. Returns the
    /// number of the frames that the forwarding thread is to send itself, which are the first now.
    fn hand_over(&mut self, direction: Direction, due: usize) -> usize {
        let Forwarder { engine, threads, shares, clock, divided, .. } = self;
        let side = direction as usize;
        // While the thread holds frames, later frames of the same conversations must not overtake
        // them.
        let thread = threads[side].as_mut().filter(|thread| *divided || thread.is_sending());
        let Some(thread) = thread.filter(|_| due > 0) else { return due };
        let share = &mut shares[side];
        let mut due = due;
        if share.look(clock.now(), thread.room()) {
            let mut count = engine.part_departures(direction, due, |frame| share.has(frame));
            while count > 0 {
                let departures = &engine.departures(direction)[..count];
                let frames =
                    departures.iter().map(|departure| (engine.frame(direction, *departure), departure.due));
                let taken = thread.hand_over(frames);
                if taken == 0 {
                    break;
                }
                engine.complete(direction, taken, 0);
                (count, due) = (count - taken, due - taken);
            }
            if count == 0 {
                return due;
            }
        }
        engine.part_departures(direction, due, |frame| !share.has(frame))
    }

    /// Hands the first `own` due frames to the kernel, or as many of them as one call takes.
    fn send_own(&mut self, direction: Direction, own: usize) {
        let Forwarder { engine, clock, lateness, senders, failover, .. } = self;
        let side = direction as usize;
        let departures = &engine.departures(direction)[..own.min(BATCH)];
        let now = clock.now();
        for departure in departures {
            lateness[side].saturating_record(now.since(departure.due).ticks() / TICKS_PER_NANOSECOND);
        }
        let frames = departures.iter().map(|departure| engine.frame(direction, *departure));
        let (sent, refused) = match failover {
            None => (departures.len(), 0),
            Some(_) => match senders[side].send(frames) {
                Ok(sent) => (sent, 0),
                Err(_) => (0, 1),
            },
        };
        engine.complete(direction, sent, refused);
    }
}
