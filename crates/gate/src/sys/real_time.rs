//! Real-time scheduling (sched(7)). Without it, on a loaded core, every hundredth departure is
//! milliseconds late.
//!
//! For 50 ms of every second, the kernel stops a real-time process that takes a whole core (the
//! fair server; before Linux 6.8, RT throttling). Ordinary scheduling is better for a gate than
//! that. So the gate has real-time scheduling only while it leaves a good part of the core to
//! others.

#![allow(unsafe_code)]

use tidegate_core::units::{Span, Time};

/// Period over which the share of the core is measured: much shorter than the kernel's second.
const WINDOW: Span = Span::from_millis(100);
/// Above this share of a core real-time scheduling is given up.
const GIVE_UP_ABOVE: f64 = 0.8;
/// Below this share of a core real-time scheduling is requested again.
const REQUEST_BELOW: f64 = 0.5;

/// The scheduling policy of this thread.
pub(crate) struct RealTime {
    granted: bool,
    active: bool,
    /// Start of the window, and the CPU time that was used until then.
    window_start: Time,
    cpu_time: Span,
}

impl RealTime {
    /// Requests real-time scheduling, if it is `wanted`. That requires CAP_SYS_NICE or a limit on
    /// RLIMIT_RTPRIO; without either, nothing changes.
    pub(crate) fn request(wanted: bool, now: Time, cpu_time: Span) -> RealTime {
        let granted = wanted && schedule(libc::SCHED_FIFO);
        RealTime { granted, active: granted, window_start: now, cpu_time }
    }

    /// At the end of a window, measures the share of the core and changes the policy if need be.
    pub(crate) fn adapt(&mut self, now: Time, cpu_time: impl FnOnce() -> Span) {
        let passed = now.since(self.window_start);
        if !self.granted || passed < WINDOW {
            return;
        }
        let cpu_time = cpu_time();
        let share = (cpu_time - self.cpu_time).as_secs_f64() / passed.as_secs_f64();
        (self.window_start, self.cpu_time) = (now, cpu_time);
        if self.active && share > GIVE_UP_ABOVE {
            self.active = !schedule(libc::SCHED_OTHER);
        } else if !self.active && share < REQUEST_BELOW {
            self.active = schedule(libc::SCHED_FIFO);
        }
    }

    /// Returns true if the first request was granted.
    pub(crate) fn was_granted(&self) -> bool {
        self.granted
    }
}

/// Sets this thread's policy, at the lowest priority that the policy has. Returns true if that was
/// permitted.
fn schedule(policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: libc::c_int::from(policy == libc::SCHED_FIFO) };
    // SAFETY: the call reads `parameters`, which outlives it, and concerns the calling thread only.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
