//! Real-time scheduling (sched(7)): a loaded core else adds milliseconds to every hundredth departure.
//!
//! A real-time process that takes a core whole is stopped for 50 ms of every second, so that others
//! get something (the kernel's fair server; before 6.8, RT throttling). For a gate that is worse than
//! to share. So it is real-time only while it leaves the core to others for a good part of the time.

#![allow(unsafe_code)]

use tidegate_core::units::{Span, Time};

/// How often the share of the core is looked at: much more often than the kernel's second.
const WINDOW: Span = Span::from_millis(100);
/// Above this share of a core it gives real-time scheduling up, below the other it asks for it again.
const TOO_MUCH: f64 = 0.8;
const MODEST: f64 = 0.5;

/// Whether this thread is run before all that is not real-time.
pub(crate) struct Priority {
    wanted: bool,
    real_time: bool,
    /// When the window began, and what of the core was used until then.
    since: Time,
    used: Span,
}

impl Priority {
    /// Asks for real-time scheduling, if it is wanted. That takes CAP_SYS_NICE or a limit on RLIMIT_RTPRIO;
    /// without, nothing changes.
    pub(crate) fn new(wanted: bool, now: Time, used: Span) -> Priority {
        let real_time = wanted && schedule(libc::SCHED_FIFO);
        Priority { wanted: real_time, real_time, since: now, used }
    }

    /// Looks at what the process has used of the core by `now`, if it is time to.
    pub(crate) fn adapt(&mut self, now: Time, used: impl FnOnce() -> Span) {
        let passed = now.since(self.since);
        if !self.wanted || passed < WINDOW {
            return;
        }
        let used = used();
        let share = (used - self.used).as_secs_f64() / passed.as_secs_f64();
        (self.since, self.used) = (now, used);
        if self.real_time && share > TOO_MUCH {
            self.real_time = !schedule(libc::SCHED_OTHER);
        } else if !self.real_time && share < MODEST {
            self.real_time = schedule(libc::SCHED_FIFO);
        }
    }

    /// Whether real-time scheduling was granted when it was asked for first.
    pub(crate) fn was_granted(&self) -> bool {
        self.wanted
    }
}

/// Puts this thread under a policy, at the lowest priority that the policy has. Whether it worked.
fn schedule(policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: libc::c_int::from(policy == libc::SCHED_FIFO) };
    // SAFETY: the call reads `parameters`, which outlives it, and concerns the calling thread only.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
