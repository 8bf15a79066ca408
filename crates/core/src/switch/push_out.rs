//! Which packet goes when the pool is exhausted?
//!
//! [`PushOut::Shares`], the default, is the longest queue's push-out with nominal shares (Suter, Lakshman,
//! Stiliadis, Choudhury, "Design considerations for supporting TCP with per-flow queueing", INFOCOM 1998),
//! for ports:
//!
//! - Half of the pool is set aside for the ports, in proportion to what their flows reserve. The port that
//!   holds most beyond its share, in the unit of the pool's limit, loses a packet; of equal ones that with
//!   the latest arrival. Packets that wait in its shapers count.
//! - Where that port holds more that may not be sent now than a third of the rest, one of those packets goes: what
//!   waits in shapers, of flows and classes that are held or absent, and behind the first packet of a flow or a
//!   class with a ceiling (dynamic thresholds, Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998, with α = 1/3 of what the
//!   others hold in place of what is free: push-out takes back what was lent). Otherwise the packet that
//!   would be sent last goes.
//!
//! Therefore packets that may be sent lose nothing to packets that wait, as long as they are at most 3/4 of
//! what their port holds. And a port loses nothing for the sake of others while it holds no more than its
//! share and an equal part of the other half: with a limit of B, P ports, packets of at most L, Rᵢ reserved
//! at port i and R in all, that is B/2 · Rᵢ/R + (B/2 − (P − 1) L)/P. For the ports together hold more than B,
//! so more than B/2 beyond their shares; at most (P − 1) L of it is in service at ports that have nothing
//! else; and the greatest excess is at least the mean. Without reservations there are no shares, and the
//! equal part is of the whole pool.
//!
//! [`PushOut::LongestQueue`] is Zhang's (1991, section 3.1: "the last packet, the one with the largest stamp
//! value, from the longest queue"): the longest by packets, ties to the latest arrival. Whether a packet may
//! be sent now makes no difference, and packets that wait in shapers go when no other can.
//!
//! In both, a packet in service counts in its queue and is never taken. Where each port has a limit of its own
//! ([`Sharing::Partitioned`]), the rule is applied to that port alone.

use super::Switch;
use super::plan::{PushOut, Sharing};
use super::pool::Pool;
use super::port::Port;
use crate::context::Ctx;
use crate::packet::Leg;
use crate::params::Limit;

impl Switch {
    /// Drops packets until the pool is within its limit, or each port where the limit is a port's; `arrived` is where the
    /// latest packet went.
    #[cold]
    pub(super) fn make_room(&mut self, cx: &mut Ctx<'_>, arrived: &[Leg]) {
        let Switch { ports, pool, .. } = self;
        match pool.sharing {
            Sharing::Complete => while pool.exhausted() && push_out(ports, pool, cx, arrived) {},
            Sharing::Partitioned => {
                for port in ports.chunks_mut(1) {
                    while pool.is_exceeded_by(port[0].stored()) && push_out(port, pool, cx, arrived) {}
                }
            }
        }
    }
}

/// Drops one packet of these ports, if one can be dropped.
fn push_out(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
    match pool.push_out {
        PushOut::Shares => push_out_beyond_share(ports, pool, cx),
        PushOut::LongestQueue => push_out_of_longest(ports, pool, cx, arrived),
    }
}

fn push_out_beyond_share(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>) -> bool {
    let reserved = ports.iter().map(|port| i128::from(port.table.reserved)).sum();
    let most = ports
        .iter_mut()
        .filter(|port| port.evictable() > 0 || !port.shaping.queues.is_empty())
        .max_by_key(|port| (excess(pool, port, reserved), port.latest));
    most.is_some_and(|port| port.give_way(cx, pool))
}

fn push_out_of_longest(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
    let longest = ports
        .iter_mut()
        .filter(|port| port.evictable() > 0)
        .max_by_key(|port| (port.backlog.packets, port.latest));
    if let Some(port) = longest {
        return port.push_out(cx, pool, false);
    }
    // Everything is in service or waits in shapers: first what has just come.
    for leg in arrived {
        if let Some(port) = ports.iter_mut().find(|port| port.ix == leg.port)
            && port.push_out_shaped(cx, pool, leg.flow)
        {
            return true;
        }
    }
    // The pool has become smaller.
    let most = ports.iter_mut().max_by_key(|port| port.shaping.queues.packets());
    most.is_some_and(|port| port.push_out_longest_shaped(cx, pool))
}

/// What a port holds beyond its share of the pool: in the unit of the limit, times twice what the flows of all ports
/// have `reserved`, so that no division rounds.
fn excess(pool: &Pool, port: &Port, reserved: i128) -> i128 {
    let held = i128::from(pool.measure(port.stored()));
    let (Some(Limit::Packets(limit) | Limit::Bytes(limit)), 1..) = (pool.limit, reserved) else {
        return held;
    };
    2 * held * reserved - i128::from(limit) * i128::from(port.table.reserved)
}
