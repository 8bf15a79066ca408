//! What is behind a port: a real link, or one that is emulated.
//!
//! In front of a real link a frame is handed on when its first bit may go, since that link takes its own
//! time for it. An emulated link is the link itself: a frame comes out of it when its last bit is out of
//! the port and the delay has passed, unless it was lost on the way. What is on the way stays in order,
//! also when another plan makes the link shorter.

use crate::engine::Departure;
use crate::plan::Plan;
use std::collections::VecDeque;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::link::TracedLink;
use tidegate_core::packet::BodyId;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Time};
use tidegate_spec::Emulation;

pub(crate) struct Wire {
    rate: Rate,
    emulated: Option<Emulation>,
    /// Of a link with a trace: where in it.
    traced: Option<TracedLink>,
    rng: Rng,
    /// Frames on the way, and when they come out; in order.
    flying: VecDeque<Departure>,
}

/// What becomes of a frame whose first bit may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is to be handed on now.
    Leaves,
    /// It is on its way through the link.
    Flies,
    /// It will not come out.
    Lost,
}

/// A frame that was sent.
pub(crate) struct Sent {
    /// When its last bit is out of the port.
    pub(crate) free_at: Time,
    pub(crate) fate: Fate,
}

impl Wire {
    pub(crate) fn new(now: Time, plan: &Plan, direction: Direction) -> Wire {
        let side = direction as usize;
        let mut wire = Wire {
            rate: plan.rates[side],
            emulated: None,
            traced: None,
            rng: Rng::named(1, &format!("link/{}", direction.name())),
            flying: VecDeque::new(),
        };
        wire.replan(now, plan, direction);
        wire
    }

    /// The link is another one from now on; a trace that stays goes on where it is.
    pub(crate) fn replan(&mut self, now: Time, plan: &Plan, direction: Direction) {
        let side = direction as usize;
        self.rate = plan.rates[side];
        let trace = |emulated: &Option<Emulation>| emulated.as_ref().and_then(|link| link.trace.clone());
        let after = trace(&plan.emulated[side]);
        if trace(&self.emulated) != after {
            self.traced = after.map(|trace| TracedLink::new(trace, now));
        }
        self.emulated.clone_from(&plan.emulated[side]);
    }

    /// When a frame that is there at `now` may start.
    pub(crate) fn opens(&mut self, now: Time) -> Time {
        self.traced.as_mut().map_or(now, |traced| traced.opens(now))
    }

    /// A frame that is charged `len` bytes starts, when the link [`opens`](Self::opens).
    pub(crate) fn send(&mut self, now: Time, body: BodyId, len: u32) -> Sent {
        let free_at = match &mut self.traced {
            Some(traced) => traced.departure(now, len),
            None => now + self.rate.time_for(len),
        };
        let fate = match &self.emulated {
            None if self.flying.is_empty() => Fate::Leaves,
            None => self.fly(body, now),
            Some(link) if link.loss.takes(&mut self.rng) => Fate::Lost,
            Some(link) => {
                let due = free_at + link.delay;
                self.fly(body, due)
            }
        };
        Sent { free_at, fate }
    }

    fn fly(&mut self, body: BodyId, due: Time) -> Fate {
        let before = self.flying.back().map_or(due, |last| last.due);
        self.flying.push_back(Departure { body, due: due.max(before) });
        Fate::Flies
    }

    /// When the next frame comes out: [`Time::NEVER`] when none is on the way.
    pub(crate) fn next(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |first| first.due)
    }

    /// Hands on what has come out by `now`.
    pub(crate) fn deliver(&mut self, now: Time, leaving: &mut Vec<Departure>) {
        let out = self.flying.partition_point(|departure| departure.due <= now);
        leaving.extend(self.flying.drain(..out));
    }

    /// Frames on the way.
    pub(crate) fn flying(&self) -> usize {
        self.flying.len()
    }
}
