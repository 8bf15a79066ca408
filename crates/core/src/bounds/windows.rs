//! Windows: ports that send no packet of some flows while as many of theirs are outstanding as the end
//! of the link has places.
//!
//! This is window flow control (Chang, "Performance Guarantees in Communication Networks", Springer
//! 2000, chapter 2; Le Boudec and Thiran 2001, section 4.3.2). What a window lets through is at least
//! the closure of the service in the loop and the window; where the window is large enough for what
//! the flows send in a loop, it is the service without a window. This case alone is used here: a flow
//! that its window may hold back has no bound.
//!
//! # The condition
//!
//! A packet that leaves the port leaves the next one, or reaches its destination, within a time D, and
//! its place is known to be free within the loop's time after that, unless fewer than N2 packets (a
//! batch) have left since the last report. A flow with the arrival curve α behind the port has at most
//! α(D + loop) of traffic in that time, in packets of its smallest size. No flow of the window is held
//! back, not even with an empty queue, if
//!
//! > Σ ⌊α(D + loop) / smallest⌋ + N2 − 1 < places
//!
//! # Why it holds for all windows at once
//!
//! D and α are bounds of a network in which these windows hold nothing back. Take the first moment at
//! which one of them has no place left: a packet has just left its port. Until then no window has held
//! a packet back, so that until then all packets have come and gone as in the network without these
//! windows, within its bounds. By the condition one place is left: there is no such moment. (D is that
//! of packets that left the next port before.)
//!
//! The windows that meet the condition are found from above: all that do not, given the bounds in which
//! the others hold nothing back, are given up, and the bounds are computed anew.

use super::held::Held;
use super::network::{Network, Unbounded, Window};
use super::total_flow::{self, Found};
use crate::curves::{Exact, whole};
use alloc::vec::Vec;
use num_traits::{ToPrimitive, Zero};

/// Finds the windows that hold nothing back, and the bounds that follow.
pub(super) fn solve(network: &Network<'_>) -> Found {
    let mut held = Held::without_bound(network);
    loop {
        let found = total_flow::solve(network, held.clone());
        let open = network.windows.iter().filter(|window| !held.any_of(&window.members));
        let may_close: Vec<_> =
            open.filter_map(|window| Some((window, found.may_close(network, window)?))).collect();
        if may_close.is_empty() {
            return found;
        }
        for (window, why) in may_close {
            held.hold(network, window, |flow, port| match why {
                Closes::Unbounded { flow: other, why } if other == flow => why,
                Closes::Unbounded { flow: other, .. } => Unbounded::Beside { port, flow: other },
                Closes::TooSmall { needs } => Unbounded::Window { port, places: window.places, needs },
            });
        }
    }
}

/// The reason for which a window may hold its flows back.
#[derive(Clone, Copy)]
enum Closes {
    /// This flow has no bound behind the port.
    Unbounded { flow: usize, why: Unbounded },
    /// It needs more places.
    TooSmall { needs: u64 },
}

impl Found {
    /// The reason for which a window may hold its flows back; `None` if it never does.
    fn may_close(&self, network: &Network<'_>, window: &Window) -> Option<Closes> {
        let Ok(loop_time) = &window.loop_time else { return None };
        // The packets of a batch but the last, and a place that is left.
        let mut needs = whole(window.batch);
        for (flow, hop) in window.members.iter().copied() {
            let terms = &network.flows[flow];
            let next = match self.hops[flow].get(hop + 1) {
                Some(Err(why)) => return Some(Closes::Unbounded { flow, why: *why }),
                Some(Ok(served)) => served.delay.clone(),
                None => Exact::zero(),
            };
            let Some(sent) = &self.arrivals[flow][hop + 1] else {
                let why = self.hops[flow][hop].as_ref().err().copied().unwrap_or(Unbounded::Source);
                return Some(Closes::Unbounded { flow, why });
            };
            needs += (sent.at(&(next + loop_time)) / whole(terms.smallest.max(1))).floor();
        }
        let needs = needs.to_integer().to_u64().unwrap_or(u64::MAX);
        (needs > window.places.into()).then_some(Closes::TooSmall { needs })
    }
}
