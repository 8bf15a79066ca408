//! Real-time scheduling (sched(7)): a loaded core else adds milliseconds to every hundredth departure.

#![allow(unsafe_code)]

/// Asks that this thread is run before all that is not real-time, at the lowest such priority. Whether
/// that was granted: it takes CAP_SYS_NICE or a limit on RLIMIT_RTPRIO.
pub(crate) fn real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads `parameters`, which outlives it, and concerns the calling thread only.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0
    }
}
