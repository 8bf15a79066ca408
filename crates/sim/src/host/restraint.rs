//! What a source does when its flow runs ahead of what it reserves (Zhang 1991, section 3.1: "a warning
//! message is sent to the source").

use tidegate_core::units::{Rate, Span, Time};
use tidegate_formats::WhenWarned;

/// How far a source is restrained: by warnings, and by a change of its rate.
#[derive(Clone, Copy, Debug)]
pub struct Restraint {
    when_warned: WhenWarned,
    /// What the flow reserves.
    reserve: Option<Rate>,
    /// Factor on its gaps.
    stretch: f64,
    /// A slowed source sends nothing before this, and keeps to its reservation from then on.
    slowed_until: Option<Time>,
    /// A shrinking source: the bytes that it is ahead, and when it sent last.
    shrinking: Option<(u64, Time)>,
}

impl Restraint {
    /// Of a source that was not warned yet.
    pub fn new(when_warned: WhenWarned, reserve: Option<Rate>) -> Restraint {
        Restraint { when_warned, reserve, stretch: 1.0, slowed_until: None, shrinking: None }
    }

    /// Whether a warning can change anything.
    pub(crate) fn heeds_warnings(&self) -> bool {
        self.when_warned != WhenWarned::Ignore && self.reserve.is_some()
    }

    /// Until when a slowed source is silent, or was; `None` for a source that is not slowed.
    pub(super) fn slowed_until(&self) -> Option<Time> {
        self.slowed_until
    }

    /// A warning reaches the source at `now`: its VirtualClock was `lead` ahead.
    pub(super) fn warned(&mut self, now: Time, lead: Span) {
        let Some(reserve) = self.reserve else { return };
        match self.when_warned {
            WhenWarned::Ignore => {}
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
    }

    /// The flow reserves something else; the source's rate becomes `pace` times its first, if that is stated.
    pub(super) fn change(&mut self, reserve: Option<Rate>, pace: Option<f64>) {
        self.reserve = reserve;
        if let Some(times) = pace {
            self.stretch = 1.0 / times;
        }
    }

    /// A slowed source sends a packet of `len` bytes at `now`. Returns the earliest time of its next one;
    /// `None` for a source that is not slowed.
    pub(super) fn keep_to_reservation(&mut self, now: Time, len: u32) -> Option<Time> {
        self.slowed_until =
            self.slowed_until.zip(self.reserve).map(|(_, reserve)| now + reserve.time_for(len));
        self.slowed_until
    }

    /// The size to which a packet of `len` bytes shrinks at `now`: what the reservation has allowed
    /// since the packet before, half of it while the source is ahead.
    pub(super) fn shrunk(&mut self, now: Time, len: u32) -> u32 {
        let (Some((ahead, sent)), Some(reserve)) = (&mut self.shrinking, self.reserve) else { return len };
        let allowed = reserve.bytes_in(now.since(*sent));
        let paid = (*ahead).min(allowed / 2);
        *ahead -= paid;
        *sent = now;
        u32::try_from(allowed - paid).unwrap_or(u32::MAX).clamp(1, len.max(1))
    }

    /// A gap of the source's own pattern at its present rate.
    pub(super) fn stretched(&self, gap: Span) -> Span {
        if self.stretch == 1.0 { gap } else { Span::from_secs_f64(gap.as_secs_f64() * self.stretch) }
    }
}
