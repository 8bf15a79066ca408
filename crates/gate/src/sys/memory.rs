//! Memory: what a gate is about to need is asked for first, and a process that gets none ends with a
//! message.
//!
//! The standard library aborts where an allocation fails. [`Allocator`] is the system's allocator and
//! ends the process in that case: in a gate that runs the duplicate filter goes with the process, so
//! that the bridge forwards.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::OnceLock;

/// Exit code of a process that has no memory left.
const FAILED: i32 = 1;
/// The longest message, in bytes.
const LONGEST: usize = 256;

thread_local! {
    /// True while this thread only tries whether there is memory.
    static TRYING: Cell<bool> = const { Cell::new(false) };
}

/// The name of the gate that runs in this process.
static RUNNING: OnceLock<String> = OnceLock::new();

/// Names the gate that runs in this process, for the message.
pub(crate) fn gate_runs(name: &str) {
    let _ = RUNNING.set(name.to_owned());
}

/// Returns true if the system would give this much memory now. It is asked and gives it back: pages
/// that are not written cost nothing.
pub(crate) fn is_there(bytes: usize) -> bool {
    TRYING.set(true);
    let there = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    TRYING.set(false);
    there
}

/// The system's allocator, except that the process ends with a message where memory is short.
pub struct Allocator;

// SAFETY: every call goes to the system's allocator with the arguments of the caller, who keeps its
// contract. What it returns is returned; a null pointer, only where the thread has asked for that.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        checked(unsafe { System.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn checked(given: *mut u8, size: usize) -> *mut u8 {
    if given.is_null() {
        refused(size);
    }
    given
}

/// Ends the process, without memory and without a lock that another thread may hold.
#[cold]
fn refused(size: usize) {
    if TRYING.get() {
        return;
    }
    let mut text = [0_u8; LONGEST];
    let mut left = &mut text[..];
    let _ = match RUNNING.get() {
        Some(name) => writeln!(
            left,
            "{name}: not enough memory for {size} bytes more: the gate ends, and the bridge forwards if there is one"
        ),
        None => writeln!(left, "not enough memory for {size} bytes more"),
    };
    let length = LONGEST - left.len();
    // SAFETY: the first `length` bytes of the text are initialized, and it outlives the call; then the
    // process ends, and nothing runs at its end that might need memory.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(FAILED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_not_there_and_a_page_is() {
        assert!(is_there(4096));
        assert!(!is_there(isize::MAX as usize));
        assert!(!is_there(usize::MAX));
        assert!(!TRYING.get());
    }
}
