//! The command queue between the control thread and the thread that forwards.
//!
//! A command is sent over a channel, and a byte over a socket pair wakes the forwarder, which waits
//! in poll(2). A stop request is a flag, which a signal handler can set.

use crate::config::plan::Plan;
use crate::error::GateError;
use crate::telemetry::report::{CircuitCounters, Member, Report};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tidegate_core::contract::Refused;
use tidegate_formats::{GateFile, Named};

/// Longest wait for an answer. The forwarder answers within milliseconds unless it has ended.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A circuit, identified by its rule's place in the file and its number in that rule's list.
pub(crate) type NextCircuit = (usize, u32);

/// A part of a list of circuits and the start of the next part; `None` at the end. Frames are
/// forwarded between parts.
pub(crate) type CircuitSlice = (Vec<CircuitCounters>, Option<NextCircuit>);

/// A command, which the forwarder executes between two frames. It carries the channel for its
/// answer.
pub(crate) enum Command {
    /// Report all counters and statistics.
    Report(Sender<Report>),
    /// List the flows that packets have opened.
    Members(Sender<Vec<Member>>),
    /// List the counters of circuits that have had packets, from this one on.
    Circuits(NextCircuit, Sender<CircuitSlice>),
    /// Explain the waiting of what has a name, or of those that waited most.
    Explain(Option<Named>, Sender<Value>),
    /// Reconfigure the engine for another file.
    Reconfigure(Arc<GateFile>, Box<Plan>, Sender<Result<(), Refused>>),
}

/// The forwarder's end: commands sent to it, and the stop request.
pub(crate) struct CommandQueue {
    commands: Receiver<Command>,
    wakeups: UnixStream,
    /// Kept open, so that `wakeups` does not become readable when every sender is dropped.
    _waker: UnixStream,
    stop: Arc<AtomicBool>,
}

/// The end that sends commands and waits for their answers.
pub(crate) struct CommandSender {
    commands: Sender<Command>,
    waker: UnixStream,
    stop: Arc<AtomicBool>,
}

/// Both ends of a new queue.
///
/// # Errors
/// When the system has no descriptors left.
pub(crate) fn queue() -> Result<(CommandSender, CommandQueue), GateError> {
    let failed = |error| GateError::system("a command queue", error);
    let (waker, wakeups) = UnixStream::pair().map_err(failed)?;
    for end in [&waker, &wakeups] {
        end.set_nonblocking(true).map_err(failed)?;
    }
    let (sender, commands) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let held = waker.try_clone().map_err(failed)?;
    Ok((
        CommandSender { commands: sender, waker, stop: Arc::clone(&stop) },
        CommandQueue { commands, wakeups, _waker: held, stop },
    ))
}

impl CommandQueue {
    /// The descriptor that becomes readable when a command or a stop request arrives.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wakeups.as_fd()
    }

    /// Returns true if a stop was requested. Clears pending wake-ups.
    pub(crate) fn stop_requested(&mut self) -> bool {
        while matches!(self.wakeups.read(&mut [0; 64]), Ok(64)) {}
        self.stop.load(Ordering::SeqCst)
    }

    /// The next command, if there is one.
    pub(crate) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }
}

impl CommandSender {
    /// Makes these signals request a stop.
    ///
    /// # Errors
    /// When the system refuses a signal handler.
    pub(crate) fn stop_on(&self, signals: &[i32]) -> Result<(), GateError> {
        let failed = |error| GateError::system("waiting for signals", error);
        for signal in signals {
            // The flag first, then the wake-up: handlers run in the order of their registration.
            signal_hook::flag::register(*signal, Arc::clone(&self.stop)).map_err(failed)?;
            let waker = self.waker.try_clone().map_err(failed)?;
            signal_hook::low_level::pipe::register(*signal, waker).map_err(failed)?;
        }
        Ok(())
    }

    /// Requests a stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        // If the socket is full, the forwarder has already been woken.
        let _ = (&self.waker).write(&[0]);
    }

    /// Sends a command and returns its answer, or `None` when the forwarder does not answer in
    /// time.
    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Option<T> {
        let (sender, answer) = channel();
        self.commands.send(command(sender)).ok()?;
        self.wake();
        answer.recv_timeout(ANSWER_TIMEOUT).ok()
    }

    /// All counters and statistics; `None` when the forwarder does not answer.
    pub(crate) fn report(&self) -> Option<Report> {
        self.ask(Command::Report)
    }

    /// Returns true if the forwarder, although it has not ended, takes no command for two periods
    /// of `patience`. One period is not enough: if the whole process was stopped, a period expires
    /// before the forwarder continues.
    pub(crate) fn stands_still(&self, patience: Duration) -> bool {
        let (sender, answer) = channel();
        if self.commands.send(Command::Report(sender)).is_err() {
            return false;
        }
        self.wake();
        (0..2).all(|_| matches!(answer.recv_timeout(patience), Err(RecvTimeoutError::Timeout)))
    }

    /// The flows that packets have opened; `None` when the forwarder does not answer.
    pub(crate) fn members(&self) -> Option<Vec<Member>> {
        self.ask(Command::Members)
    }

    /// The counters of circuits that have had packets, from this one on; `None` when the forwarder
    /// does not answer.
    pub(crate) fn circuits(&self, from: NextCircuit) -> Option<CircuitSlice> {
        self.ask(|answer| Command::Circuits(from, answer))
    }

    /// Explanations of waiting; `None` when the forwarder does not answer.
    pub(crate) fn explain(&self, asked: Option<Named>) -> Option<Value> {
        self.ask(|answer| Command::Explain(asked, answer))
    }

    /// Reconfigures the engine for another file; `None` when the forwarder does not answer.
    pub(crate) fn reconfigure(&self, file: Arc<GateFile>, plan: Plan) -> Option<Result<(), Refused>> {
        self.ask(|answer| Command::Reconfigure(file, Box::new(plan), answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_no_command_stands_still_and_who_has_ended_does_not() {
        const PATIENCE: Duration = Duration::from_millis(50);
        let (sender, queue) = queue().unwrap();
        assert!(sender.stands_still(PATIENCE));
        // The thread takes the waiting command, and the next one.
        let taker = std::thread::spawn(move || {
            for _ in 0..2 {
                std::thread::sleep(PATIENCE * 3 / 2);
                while queue.next().is_some() {}
            }
        });
        assert!(!sender.stands_still(PATIENCE));
        taker.join().unwrap();
        assert!(!sender.stands_still(PATIENCE));
    }
}
