//! Push-out: the choice of the packet to drop when the pool is exhausted.
//!
//! [`PushOut::Shares`], the default, is the longest queue's push-out with nominal shares (Suter,
//! Lakshman, Stiliadis, Choudhury, "Design considerations for supporting TCP with per-flow
//! queueing", INFOCOM 1998), for ports:
//!
//! - A port's share of the pool has two parts. One is the memory set aside for its flows with a
//!   bucket ([`FlowPlan::set_aside`](super::plan::FlowPlan::set_aside)), scaled down when the sum
//!   is more than the pool. The other is its part of half of the rest, in proportion to the
//!   reservations of its other flows. The port that holds most beyond its share, in the unit of the
//!   pool's limit, loses a packet; ties go to the port with the latest arrival. Packets in its
//!   shapers count.
//! - The blocked backlog of that port is what waits in shapers, of flows and classes that are held
//!   or absent, and behind the first packet of a flow or a class with a ceiling. If it exceeds a
//!   third of the rest, one of its packets goes (dynamic thresholds, Choudhury and Hahne, IEEE/ACM
//!   ToN 6(2), 1998, with α = 1/3 of what the others hold in place of what is free: push-out takes
//!   back what was lent). Otherwise the packet that would be sent last goes.
//!
//! Therefore packets that may be sent lose nothing to packets that wait, as long as they are at
//! most 3/4 of the port's backlog. A port also loses nothing to other ports while it holds no more
//! than its share and an equal part of the unclaimed memory: with a limit of B, P ports, packets of
//! at most L, and shares that sum to S, (B − S − (P − 1) L)/P. Proof: the ports together hold more
//! than B, so more than B − S beyond their shares; at most (P − 1) L of it is in service at ports
//! that have nothing else; and the greatest excess is at least the mean. Without reservations there
//! are no shares, and the equal part is of the whole pool.
//!
//! [`PushOut::LongestQueue`] is Zhang's rule (1991, section 3.1: "the last packet, the one with the
//! largest stamp value, from the longest queue"): the longest by packets, ties to the latest
//! arrival. It makes no difference whether a packet may be sent now, and packets in shapers go when
//! no other can.
//!
//! In both, a packet in service counts in its queue and is never taken. Where each port has a limit
//! of its own ([`Sharing::Partitioned`]), the rule is applied to that port alone.

use super::Switch;
use super::plan::{PushOut, Sharing};
use super::pool::{Claim, Pool};
use super::port::Port;
use crate::context::Ctx;
use crate::packet::Leg;
use crate::params::Limit;

impl Switch {
    /// Drops packets until the pool, or each port where the limit is a port's, is within its limit;
    /// `arrived` holds the latest packet's legs.
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

/// Drops one packet of these ports. Returns false if none can be dropped.
fn push_out(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
    match pool.push_out {
        PushOut::Shares => push_out_beyond_share(ports, pool, cx),
        PushOut::LongestQueue => push_out_of_longest(ports, pool, cx, arrived),
    }
}

fn push_out_beyond_share(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>) -> bool {
    let all = ports.iter().fold(Claim::default(), |all, port| all.plus(port.table.claim()));
    let most = ports
        .iter_mut()
        .filter(|port| port.evictable() > 0 || !port.shaping.is_empty())
        .max_by_key(|port| (excess(pool, port, all), port.latest));
    most.is_some_and(|port| port.evict_one(cx, pool))
}

fn push_out_of_longest(ports: &mut [Port], pool: &mut Pool, cx: &mut Ctx<'_>, arrived: &[Leg]) -> bool {
    //= zhang1991 3.1
    let longest = ports
        .iter_mut()
        .filter(|port| port.evictable() > 0)
        .max_by_key(|port| (port.backlog.packets, port.latest));
    if let Some(port) = longest {
        return port.push_out(cx, pool, false);
    }
    // All packets are in service or in shapers: the latest arrival goes first.
    for leg in arrived {
        if let Some(port) = ports.iter_mut().find(|port| port.ix == leg.port)
            && port.push_out_shaped(cx, pool, leg.flow)
        {
            return true;
        }
    }
    // The pool has become smaller.
    let most = ports.iter_mut().max_by_key(|port| port.shaping.held().packets);
    most.is_some_and(|port| port.push_out_longest_shaped(cx, pool))
}

/// Excess of a port over its share of the pool, in the unit of the limit times a factor common to
/// all ports, so that no division rounds. `all` is the claim of all ports.
fn excess(pool: &Pool, port: &Port, all: Claim) -> i128 {
    let [held, aside, all_aside] =
        [port.stored(), port.table.claim().aside, all.aside].map(|count| i128::from(pool.measure(count)));
    let Some(Limit::Packets(limit) | Limit::Bytes(limit)) = pool.limit else { return held };
    let rest = i128::from(limit) - all_aside;
    if rest < 0 {
        return held * all_aside - i128::from(limit) * aside;
    }
    match i128::from(all.rate) {
        0 => held - aside,
        rate => 2 * (held - aside) * rate - rest * i128::from(port.table.claim().rate),
    }
}
