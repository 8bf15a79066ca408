//! Packets with the same headers go the same way: who sends many of them need not look for it each time.

use super::Steering;
use crate::packet::Leg;
use crate::switch::Switch;
use crate::units::Time;
use crate::wire::Headers;

/// Where a packet went, for the next one with the same headers.
#[derive(Clone, Copy, Debug)]
pub struct Steered {
    pub(super) leg: Leg,
    /// The member and its number, where the flow was made at its first packet.
    pub(super) member: Option<(usize, u64)>,
    /// Which rules it was found by.
    pub(super) plans: u64,
}

impl Steering {
    /// As [`steer`](Steering::steer), for one of many packets with the same headers. `before` is what was kept
    /// when the one before was steered, `None` at first; what is kept is used for as long as it holds.
    #[inline]
    pub fn steer_again(
        &mut self,
        now: Time,
        switch: &mut Switch,
        headers: &Headers,
        before: &mut Option<Steered>,
    ) -> Leg {
        match *before {
            Some(Steered { leg, member: None, plans }) if plans == self.plans => return leg,
            Some(Steered { leg, member: Some((at, number)), plans }) if plans == self.plans => {
                let member = &mut self.members[at];
                if member.number == number {
                    member.seen = now;
                    return leg;
                }
            }
            _ => {}
        }
        *before = self.find(now, switch, headers);
        before.map_or(self.rest, |steered| steered.leg)
    }
}
