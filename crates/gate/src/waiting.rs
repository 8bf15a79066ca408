//! How a gate waits for what comes first: a frame, a departure, or an order.

use crate::error::GateError;
use crate::io::Receiver;
use crate::orders::Orders;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::nanosleep;
use tidegate_core::units::Span;

/// Ticks of 10 ps in a nanosecond.
const TICKS_PER_NANOSECOND: u64 = 100;

/// How a gate waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// It sleeps, and asks to be woken before others are run, while it leaves them most of the core.
    RealTime,
    /// It sleeps, and is woken when the system gets to it.
    Sleep,
    /// It asks again and again: a whole core, for the least lateness.
    Busy,
}

/// Waits until a frame came in at a side that is watched, or an order, or for `span`; says which of both sides
/// and `orders` can be read. (ppoll rather than epoll: few descriptors, which change, and as fine a time-out.)
///
/// # Errors
/// When the system fails to wait.
pub(crate) fn wait(
    receivers: &[Receiver; 2],
    orders: &Orders,
    watched: [bool; 2],
    span: Span,
) -> Result<[bool; 3], GateError> {
    let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    // Those that are waited for stand in front: the kernel takes its time for each.
    let mut sources = [(); 3].map(|()| readable(orders.fd()));
    let mut places = [None; 2];
    let mut count = 1;
    for side in [0, 1] {
        if watched[side] {
            sources[count] = readable(receivers[side].fd());
            places[side] = Some(count);
            count += 1;
        }
    }
    match poll(&mut sources[..count], Some(&timespec(span))) {
        Ok(_) | Err(Errno::INTR) => {
            let ready = |place: usize| !sources[place].revents().is_empty();
            Ok([places[0].is_some_and(ready), places[1].is_some_and(ready), ready(0)])
        }
        Err(error) => Err(GateError::system("waiting for frames", error)),
    }
}

/// Sleeps for `span`, whatever comes.
pub(crate) fn nap(span: Span) {
    // A signal may end it early; then it was a short one.
    let _ = nanosleep(&timespec(span));
}

/// Rounded up: a wake-up before the time would be for nothing.
fn timespec(span: Span) -> Timespec {
    let nanoseconds = span.ticks().div_ceil(TICKS_PER_NANOSECOND);
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ }
}
