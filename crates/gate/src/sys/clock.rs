//! The clock of a running gate.

use rustix::time::{ClockId, clock_gettime};
use tidegate_core::units::{Span, Time};

/// Ticks of 10 ps in a nanosecond.
pub(crate) const TICKS_PER_NANOSECOND: u64 = 100;

/// CLOCK_MONOTONIC since the start, in core's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Clock {
        Clock { start: Clock::nanoseconds(ClockId::Monotonic) }
    }

    fn nanoseconds(clock: ClockId) -> u64 {
        let now = clock_gettime(clock);
        // Neither part of these clocks is negative.
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// User and system time of this process.
    pub(crate) fn cpu_time() -> Span {
        Span::from_ticks(Clock::nanoseconds(ClockId::ProcessCPUTime).saturating_mul(TICKS_PER_NANOSECOND))
    }

    /// User and system time of this thread.
    pub(crate) fn thread_time() -> Span {
        Span::from_ticks(Clock::nanoseconds(ClockId::ThreadCPUTime).saturating_mul(TICKS_PER_NANOSECOND))
    }

    /// CLOCK_REALTIME in nanoseconds, as the kernel stamps the frames that it receives.
    pub(crate) fn wall() -> u64 {
        Clock::nanoseconds(ClockId::Realtime)
    }

    /// Lead of CLOCK_REALTIME over CLOCK_MONOTONIC, in nanoseconds.
    #[cfg(feature = "xdp")]
    pub(crate) fn wall_ahead() -> u64 {
        Clock::wall().saturating_sub(Clock::nanoseconds(ClockId::Monotonic))
    }

    /// [`Time::ORIGIN`] plus the time since the start.
    pub(crate) fn now(&self) -> Time {
        let since = Clock::nanoseconds(ClockId::Monotonic).saturating_sub(self.start);
        Time::ORIGIN + Span::from_ticks(since.saturating_mul(TICKS_PER_NANOSECOND))
    }
}
