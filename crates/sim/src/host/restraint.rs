//! A source's reaction when its flow runs ahead of its reservation (Zhang 1991, section 3.1: "a
//! warning message is sent to the source").

use tidegate_core::units::{Rate, Span, Time};
use tidegate_formats::WhenWarned;

/// The restraint of a source: by warnings, and by a change of its rate.
#[derive(Clone, Copy, Debug)]
pub struct Restraint {
    when_warned: WhenWarned,
    /// The reserved rate of the flow.
    reserve: Option<Rate>,
    /// Factor on its gaps.
    stretch: f64,
    /// Time before which a slowed source sends nothing; from then on it keeps to its reservation.
    slowed_until: Option<Time>,
    /// For a shrinking source: the bytes that it is ahead, and when it last sent.
    shrinking: Option<(u64, Time)>,
}

impl Restraint {
    /// Creates the restraint of a source that has not been warned.
    pub fn new(when_warned: WhenWarned, reserve: Option<Rate>) -> Restraint {
        Restraint { when_warned, reserve, stretch: 1.0, slowed_until: None, shrinking: None }
    }

    /// Returns true if a warning can change anything.
    pub(crate) fn heeds_warnings(&self) -> bool {
        self.when_warned != WhenWarned::Ignore && self.reserve.is_some()
    }

    /// Returns the end of a slowed source's silence, past or future; `None` for a source that is
    /// not slowed.
    pub(super) fn slowed_until(&self) -> Option<Time> {
        self.slowed_until
    }

    /// Applies a warning that reaches the source at `now`: its VirtualClock was `lead` ahead.
    pub(super) fn warned(&mut self, now: Time, lead: Span) {
        let Some(reserve) = self.reserve else { return };
        match self.when_warned {
            WhenWarned::Ignore => {}
            //= zhang1991 3.1
            WhenWarned::Slow => {
                let until = now + lead;
                self.slowed_until = Some(self.slowed_until.map_or(until, |before| before.max(until)));
            }
            //= zhang1991 3.3.1
            WhenWarned::Shrink => {
                let ahead = reserve.bytes_in(lead);
                let (before, sent) = self.shrinking.unwrap_or((0, now));
                self.shrinking = Some((before.max(ahead), sent));
            }
        }
    }

    /// Changes the reservation; the source's rate becomes `pace` times its first, if that is
    /// stated.
    pub(super) fn change(&mut self, reserve: Option<Rate>, pace: Option<f64>) {
        self.reserve = reserve;
        if let Some(times) = pace {
            self.stretch = 1.0 / times;
        }
    }

    /// Counts a packet of `len` bytes that a slowed source sends at `now`. Returns the earliest
    /// time of its next one; `None` for a source that is not slowed.
    pub(super) fn keep_to_reservation(&mut self, now: Time, len: u32) -> Option<Time> {
        self.slowed_until =
            self.slowed_until.zip(self.reserve).map(|(_, reserve)| now + reserve.time_for(len));
        self.slowed_until
    }

    /// Returns the size to which a packet of `len` bytes shrinks at `now`: the bytes that the
    /// reservation has allowed since the last packet, half of them while the source is ahead.
    pub(super) fn shrunk(&mut self, now: Time, len: u32) -> u32 {
        let (Some((ahead, sent)), Some(reserve)) = (&mut self.shrinking, self.reserve) else { return len };
        let allowed = reserve.bytes_in(now.since(*sent));
        let paid = (*ahead).min(allowed / 2);
        *ahead -= paid;
        *sent = now;
        u32::try_from(allowed - paid).unwrap_or(u32::MAX).clamp(1, len.max(1))
    }

    /// Returns a gap of the source's own pattern at its present rate.
    pub(super) fn stretched(&self, gap: Span) -> Span {
        if self.stretch == 1.0 { gap } else { Span::from_secs_f64(gap.as_secs_f64() * self.stretch) }
    }
}
