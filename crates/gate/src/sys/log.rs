//! The log: lines on standard error.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_formats::without_numbers;

/// Number of lines lost since the last one that was written.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Writes one line. A log that cannot be written (a full disk, a closed pipe, a reader that does
/// not read) does not stop a gate: the line is lost, and the next written line states the number of
/// lost ones.
pub(crate) fn log(line: &str) {
    let stderr = std::io::stderr();
    let mut taken = [PollFd::new(&stderr, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut taken, Some(&at_once)) == Ok(0) {
        LOST.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let text = match LOST.swap(0, Ordering::Relaxed) {
        0 => format!("{}\n", without_numbers(line)),
        lost => format!("({lost} lines were lost here: nobody read them)\n{}\n", without_numbers(line)),
    };
    let _ = (&stderr).write_all(text.as_bytes());
}
