//! Which packet goes when the pool is exhausted?
//!
//! [`PushOut::Shares`], the default, is the longest queue's push-out with nominal shares (Suter, Lakshman,
//! Stiliadis, Choudhury, "Design considerations for supporting TCP with per-flow queueing", INFOCOM 1998),
//! for ports:
//!
//! - Half of the pool is set aside for the ports, in proportion to what their flows reserve. The port that
//!   holds most beyond its share gives way, in the unit of the pool's limit; of equal ones that with the latest
//!   arrival. What waits in its shapers counts.
//! - Where more than half of what the port holds may not be sent now, since it waits in a shaper or its
//!   flow or a class above it is held or absent, one of those packets goes: a group may hold as much as it leaves
//!   to the others (dynamic thresholds with α = 1: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998). Else the
//!   packet goes that would be sent last.
//!
//! Therefore a port loses nothing for the sake of others while it holds at most its share of one half and an
//! equal part of the other; and of what a port holds when it gives way, those that may be sent keep half. With a limit of B, P
//! ports, Rᵢ reserved at port i and R in all: ports hold more than B together, so the excess over the shares is more than
//! B/2, and the largest excess of a port more than B/2P, but for what is in service elsewhere, which cannot be
//! taken. The port that gives way holds more than B/2 · Rᵢ/R and that.
//!
//! [`PushOut::LongestQueue`] is Zhang's (1991, section 3.1: "the last packet, the one with the largest stamp
//! value, from the longest queue"): the longest by packets, ties to the latest arrival. Who may be sent now makes
//! no difference, and what waits in shapers goes when nothing else can.
//!
//! In both, a packet in service counts in its queue and is never taken.

use super::Switch;
use super::plan::PushOut;
use super::pool::Pool;
use super::port::Port;
use crate::context::Ctx;
use crate::packet::Leg;
use crate::params::Limit;

impl Switch {
    /// Drops packets until the pool is within its limit; `arrived` is where the latest packet went.
    #[cold]
    pub(super) fn make_room(&mut self, cx: &mut Ctx<'_>, arrived: &[Leg]) {
        while self.pool.exhausted() && self.push_out(cx, arrived) {}
    }

    /// Drops one packet, if one can be dropped.
    fn push_out(&mut self, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
        match self.pool.push_out {
            PushOut::Shares => self.push_out_beyond_share(cx),
            PushOut::LongestQueue => self.push_out_of_longest(cx, arrived),
        }
    }

    fn push_out_beyond_share(&mut self, cx: &mut Ctx<'_>) -> bool {
        let Switch { ports, pool, .. } = self;
        let reserved = ports.iter().map(|port| i128::from(port.table.reserved)).sum();
        let most = ports
            .iter_mut()
            .filter(|port| port.evictable() > 0 || !port.shaping.queues.is_empty())
            .max_by_key(|port| (excess(pool, port, reserved), port.latest));
        most.is_some_and(|port| port.give_way(cx, pool))
    }

    fn push_out_of_longest(&mut self, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
        let longest = self
            .ports
            .iter_mut()
            .filter(|port| port.evictable() > 0)
            .max_by_key(|port| (port.backlog.packets, port.latest));
        if let Some(port) = longest {
            return port.push_out(cx, &mut self.pool, false);
        }
        // Everything is in service or waits in shapers: first what has just come.
        for leg in arrived {
            if let Some(port) = self.ports.get_mut(usize::from(leg.port.0))
                && port.push_out_shaped(cx, &mut self.pool, leg.flow)
            {
                return true;
            }
        }
        // The pool has become smaller.
        let most = self.ports.iter_mut().max_by_key(|port| port.shaping.queues.packets());
        most.is_some_and(|port| port.push_out_longest_shaped(cx, &mut self.pool))
    }
}

/// What a port holds beyond its share of the pool: in the unit of the limit, times twice what the flows of all ports
/// have `reserved`, so that no division rounds.
fn excess(pool: &Pool, port: &Port, reserved: i128) -> i128 {
    let mut held = port.backlog;
    held.merge(port.shaping.held);
    let held = i128::from(pool.measure(held));
    let (Some(Limit::Packets(limit) | Limit::Bytes(limit)), 1..) = (pool.limit, reserved) else {
        return held;
    };
    2 * held * reserved - i128::from(limit) * i128::from(port.table.reserved)
}
