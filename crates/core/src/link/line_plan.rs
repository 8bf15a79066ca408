//! The plan of a line: its properties, without its state.

use super::{Jitter, Loss, Pace, Reordering, Steps};
use crate::units::{Rate, Span};
use alloc::sync::Arc;

/// The properties of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlan {
    /// Rate at which bits leave, unless its pace is another.
    pub rate: Rate,
    /// Times at which bytes may leave.
    pub pace: Pace,
    /// Propagation delay: from the last bit out to the last bit in.
    pub delay: Span,
    /// Changes of the delay, which begins as `delay`; `None` for none. A packet has that of the
    /// moment when its last bit is out.
    pub delays: Option<Arc<Steps<Span>>>,
    /// Delays that differ from packet to packet.
    pub jitter: Jitter,
    /// Loss of packets that were sent.
    pub loss: Loss,
    /// Extra delay of some packets, so that others overtake them.
    pub reordering: Reordering,
}

impl LinePlan {
    /// Plans a line with a rate and nothing else.
    pub fn plain(rate: Rate) -> LinePlan {
        LinePlan::long(rate, Span::ZERO)
    }

    /// Plans a line with a rate and a propagation delay.
    pub fn long(rate: Rate, delay: Span) -> LinePlan {
        LinePlan {
            rate,
            pace: Pace::Steady,
            delay,
            delays: None,
            jitter: Jitter::NONE,
            loss: Loss::NONE,
            reordering: Reordering::NONE,
        }
    }

    /// The plan of the same line with a longer delay, also after its changes.
    pub fn longer_by(self, span: Span) -> LinePlan {
        let delays = self.delays.map(|delays| Arc::new(delays.map(|delay| delay + span)));
        LinePlan { delay: self.delay + span, delays, ..self }
    }

    /// Returns true if every packet that is not overtaken takes the same delay.
    pub fn has_one_delay(&self) -> bool {
        self.delays.is_none() && !self.jitter.happens()
    }

    /// Returns true if packets overtake each other.
    pub fn reorders(&self) -> bool {
        self.reordering.happens() || self.jitter.reorders()
    }

    /// Returns true if it is a rate and nothing else.
    pub(super) fn is_plain(&self) -> bool {
        // At a rate of less than a tick per byte, each packet takes at least one tick.
        let is_slow = self.rate.time_for(1) > Span::ZERO;
        let is_immediate = self.delay == Span::ZERO && self.has_one_delay() && !self.reordering.happens();
        is_slow && self.pace.is_steady() && is_immediate && !self.loss.happens()
    }
}
