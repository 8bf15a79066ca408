//! Waiting for the next event: a frame, a departure or a command.

use super::commands::CommandQueue;
use crate::error::GateError;
use crate::io::Receiver;
use crate::sys::clock::TICKS_PER_NANOSECOND;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::nanosleep;
use tidegate_core::units::{Span, Time};

/// The forwarder's way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// Sleeps, with real-time scheduling while the forwarder leaves most of the core to other
    /// processes.
    RealTime,
    /// Sleeps with the default scheduling policy.
    Sleep,
    /// Polls without sleeping: takes a whole core, for the least lateness.
    Busy,
}

/// Conditions under which a forwarder waits, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Pause {
    /// True if no more frames are known to be there, and it may sleep.
    pub(super) idle: bool,
    /// True if frames that are due could not be handed over.
    pub(super) waits: bool,
    /// The directions that have so many of them that the engine goes no further. No more are
    /// received there meanwhile: the kernel drops frames at less cost than the scheduler.
    pub(super) blocked: [bool; 2],
    /// Time for which it sleeps in any case.
    pub(super) coalesce: Span,
    /// The end of the run.
    pub(super) until: Time,
}

/// The polled descriptors that can be read.
pub(super) struct Ready {
    /// The receivers, by direction.
    pub(super) receivers: [bool; 2],
    /// The command queue.
    pub(super) commands: bool,
}

/// Waits until a frame arrives at a polled receiver, a command arrives, or `span` has passed.
/// (ppoll rather than epoll: the descriptors are few and change, and the time-out is in
/// nanoseconds.)
///
/// # Errors
/// When the system fails to wait.
pub(super) fn wait(
    receivers: &[Receiver; 2],
    commands: &CommandQueue,
    polled: [bool; 2],
    span: Span,
) -> Result<Ready, GateError> {
    let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    // The descriptors to poll are packed at the front: the kernel spends time on each one passed to
    // it.
    let mut sources = [(); 3].map(|()| readable(commands.fd()));
    let mut places = [None; 2];
    let mut count = 1;
    for side in [0, 1] {
        if polled[side] {
            sources[count] = readable(receivers[side].fd());
            places[side] = Some(count);
            count += 1;
        }
    }
    match poll(&mut sources[..count], Some(&timespec(span))) {
        Ok(_) | Err(Errno::INTR) => {
            let ready = |place: usize| !sources[place].revents().is_empty();
            Ok(Ready { receivers: places.map(|place| place.is_some_and(ready)), commands: ready(0) })
        }
        Err(error) => Err(GateError::system("waiting for frames", error)),
    }
}

/// Sleeps for `span`; a signal may end it early.
pub(super) fn sleep(span: Span) {
    let _ = nanosleep(&timespec(span));
}

/// Rounded up: a wake-up before the due time would find nothing to do.
fn timespec(span: Span) -> Timespec {
    let nanoseconds = span.ticks().div_ceil(TICKS_PER_NANOSECOND);
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ }
}
