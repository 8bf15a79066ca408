//! How a source behaves beyond its own pattern: when it is warned, and when its rate was changed.

use super::{Event, World};
use crate::event_queue::EventQueue;
use tidegate_core::units::{Rate, Span, Time};
use tidegate_spec::WhenWarned;

/// A source that may be restrained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conduct {
    pub(super) when_warned: WhenWarned,
    /// What the flow reserves.
    pub(super) reserve: Option<Rate>,
    /// Factor on its gaps.
    pub(super) stretch: f64,
    /// A slowed source sends nothing before this, and keeps to its reservation from then on.
    slowed_until: Option<Time>,
    /// A shrinking source: the bytes that it is ahead, and when it sent last.
    shrinking: Option<(u64, Time)>,
}

impl Conduct {
    pub(super) fn new(when_warned: WhenWarned, reserve: Option<Rate>) -> Conduct {
        Conduct { when_warned, reserve, stretch: 1.0, slowed_until: None, shrinking: None }
    }

    /// Whether a greedy source sends by the clock.
    pub(super) fn is_slowed(&self) -> bool {
        self.slowed_until.is_some()
    }

    /// Hears at `now` that VirtualClock is `lead` ahead. Whether it minds.
    fn warned(&mut self, now: Time, lead: Span) -> bool {
        let Some(reserve) = self.reserve else { return false };
        match self.when_warned {
            WhenWarned::Ignore => return false,
            WhenWarned::Slow => {
                let until = now + lead;
                self.slowed_until = Some(self.slowed_until.map_or(until, |before| before.max(until)));
            }
            WhenWarned::Shrink => {
                let ahead = reserve.bytes_in(lead);
                let (before, sent) = self.shrinking.unwrap_or((0, now));
                self.shrinking = Some((before.max(ahead), sent));
            }
        }
        true
    }

    /// The size that a packet of `len` bytes shrinks to at `now`: what the reservation has allowed
    /// since the packet before, half of it while the source is ahead.
    fn shrunk(&mut self, now: Time, len: u32) -> u32 {
        let (Some((ahead, sent)), Some(reserve)) = (&mut self.shrinking, self.reserve) else { return len };
        let allowed = reserve.bytes_in(now.since(*sent));
        let paid = (*ahead).min(allowed / 2);
        *ahead -= paid;
        *sent = now;
        u32::try_from(allowed - paid).unwrap_or(u32::MAX).clamp(1, len.max(1))
    }

    fn stretched(&self, gap: Span) -> Span {
        if self.stretch == 1.0 { gap } else { Span::from_secs_f64(gap.as_secs_f64() * self.stretch) }
    }
}

impl<Q: EventQueue> World<Q> {
    /// A warning reaches the source.
    pub(super) fn hear_warning(&mut self, ix: u32, lead: Span) {
        let conduct = &mut self.conducts[ix as usize];
        let was_slowed = conduct.slowed_until.is_some();
        if !conduct.warned(self.now, lead) {
            return;
        }
        let flow = &mut self.flows[ix as usize];
        flow.plain = false;
        if let Some(until) = conduct.slowed_until
            && flow.emission.window() > 0
            && !was_slowed
        {
            // From now on it sends by the clock.
            self.events.set(Event::Source(ix), until);
        }
    }

    /// The source's rate becomes so many times what it was at first.
    pub(super) fn set_pace(&mut self, ix: u32, times: f64) {
        self.conducts[ix as usize].stretch = 1.0 / times;
        self.flows[ix as usize].plain = false;
    }

    /// The next packet of a source that is greedy, restrained, or of another rate than at first.
    #[inline(never)]
    pub(super) fn unusual_source(&mut self, ix: u32) {
        let now = self.now;
        let conduct = &mut self.conducts[ix as usize];
        let flow = &mut self.flows[ix as usize];
        let greedy = flow.emission.window() > 0;
        if greedy && conduct.slowed_until.is_none() {
            return self.top_up(ix);
        }
        if let Some(until) = conduct.slowed_until.filter(|until| now < *until) {
            self.events.set(Event::Source(ix), if until < flow.stop { until } else { Time::NEVER });
            return;
        }
        let len = if greedy { flow.emission.size() } else { conduct.shrunk(now, flow.pending) };
        // Asked before the next packet is drawn: what it keeps to is the one that leaves now.
        let clear = conduct.slowed_until.zip(conduct.reserve).map(|(_, reserve)| now + reserve.time_for(len));
        conduct.slowed_until = clear;
        let drawn = if greedy { Some((Span::ZERO, 0)) } else { flow.emission.next_packet() };
        let mut next = Time::NEVER;
        if let Some((gap, len)) = drawn {
            let at = (now + conduct.stretched(gap)).max(clear.unwrap_or(now));
            if at < flow.stop {
                (flow.pending, next) = (len, at);
            }
        }
        self.events.set(Event::Source(ix), next);
        if next == Time::NEVER {
            self.source_ended(ix);
        }
        let flow = &mut self.flows[ix as usize];
        if greedy && flow.in_first_queue >= flow.emission.window() {
            return;
        }
        flow.in_first_queue += u32::from(greedy);
        self.emit(ix, len);
    }
}
