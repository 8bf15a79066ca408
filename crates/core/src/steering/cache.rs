//! A cached lookup: packets with the same headers go to the same flow.

use super::flows::{Cached, Steering};
use crate::headers::Headers;
use crate::packet::Leg;
use crate::switch::Switch;
use crate::units::Time;

impl Steering {
    /// Like [`steer`](Steering::steer), for one of many packets with the same headers. `cached`
    /// holds the result of the previous call, `None` at first; it is used while it is valid.
    #[inline]
    pub fn steer_again(
        &mut self,
        now: Time,
        switch: &mut Switch,
        headers: &Headers,
        cached: &mut Option<Cached>,
    ) -> Leg {
        if self.check_is_due(now) {
            self.close_idle(now, switch);
        }
        match *cached {
            Some(Cached { leg, member: None, generation }) if generation == self.generation => return leg,
            Some(Cached { leg, member: Some((at, number)), generation }) if generation == self.generation => {
                let member = &mut self.members[at];
                if member.number == number {
                    member.last_packet = now;
                    return leg;
                }
            }
            _ => {}
        }
        match self.find(now, switch, headers) {
            Ok(found) => {
                *cached = Some(found);
                found.leg
            }
            Err(rule) => {
                *cached = None;
                self.share(now, switch, rule)
            }
        }
    }
}
