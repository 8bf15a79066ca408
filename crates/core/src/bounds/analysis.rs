//! Bounds on delay and backlog in a network: each flow's, port by port and end to end.
//!
//! Every port states a service curve for the line in which a flow waits
//! ([`PolicyFacts::line`](crate::params::PolicyFacts::line)). Four analyses follow, and the least
//! bound counts:
//!
//! - **Total flow** (`total_flow.rs`): the sum of the bounds at the ports.
//! - **Separated flow** (`tandem.rs`): the service curves that are left for the flow
//!   are one curve of the whole route, and its burst is paid once (Le Boudec and Thiran 2001, section
//!   1.4.3).
//! - **Pay multiplexing only once**: the bursts of others that share several ports in a row are paid
//!   once as well (Schmitt, Zdarsky and Martinovic, "Improving performance bounds in feed-forward
//!   networks by paying multiplexing only once", MMB 2008).
//! - **Least upper delay bound** (LUDB): lines are in the order of arrival, and the times that a
//!   packet waits for others in them are chosen for the whole route (Lenzini, Mingozzi and Stea, "A
//!   methodology for computing end-to-end delay bounds in FIFO-multiplexing tandems", Performance
//!   Evaluation 65, 2008). Each flow beside it counts anew at each port.
//!
//! Delays are from a packet's arrival at its first port, with its last bit, to the arrival of its
//! last bit behind the last link. Rates are exact: a clock that counts ticks adds up to a tick for
//! each packet on the way.

use super::network::{Network, Unbounded};
use super::served::Served;
use super::total_flow::Found;
use super::{tandem, windows};
use crate::curves::{Exact, seconds};
use alloc::vec::Vec;
use core::fmt;

/// Bounds of a flow at a port.
#[derive(Clone, Debug)]
pub struct HopBound {
    /// From a packet's arrival to the departure of its last bit, in seconds.
    pub delay: Exact,
    /// Bytes of the flow at the port, the packet on its way out included.
    pub backlog: Exact,
    /// The service curve, with its source.
    pub source: &'static str,
}

/// The analysis that gave a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The sum of the delays at the ports.
    TotalFlow,
    /// The flow's burst is paid once.
    SeparatedFlow,
    /// The bursts of others are paid once.
    PayMultiplexingOnlyOnce,
    /// The order of arrival at each port is used for the whole route.
    LeastUpperDelayBound,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::TotalFlow => "total flow",
            Method::SeparatedFlow => "separated flow",
            Method::PayMultiplexingOnlyOnce => "pay multiplexing only once",
            Method::LeastUpperDelayBound => "least upper delay bound",
        })
    }
}

/// Bounds of a flow.
#[derive(Clone, Debug)]
pub struct FlowBound {
    /// At each port of its route.
    pub hops: Vec<HopBound>,
    /// End to end, propagation included, in seconds.
    pub delay: Exact,
    /// The analysis that gave the least delay.
    pub method: Method,
}

/// Bounds of a network.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Bounds of each flow.
    pub flows: Vec<Result<FlowBound, Unbounded>>,
    /// Bytes at each port, the packet on its way out included; `None` where there is no bound.
    pub ports: Vec<Option<Exact>>,
}

/// Bounds of all flows and ports.
pub fn bounds_of(network: &Network<'_>) -> Bounds {
    let found = windows::solve(network);
    let flows = (0..network.flows.len()).map(|flow| bound(network, flow, &found)).collect();
    let members = network.members();
    let ports = (0..network.ports.len()).map(|port| found.backlog(network, port, &members[port])).collect();
    Bounds { flows, ports }
}

fn bound(network: &Network<'_>, flow: usize, found: &Found) -> Result<FlowBound, Unbounded> {
    let served: Vec<&Served> =
        found.hops[flow].iter().map(|hop| hop.as_ref().map_err(|why| *why)).collect::<Result<_, _>>()?;
    let terms = &network.flows[flow];
    let links: Exact = terms.route.iter().map(|port| seconds(network.ports[*port].delay)).sum();
    let total: Exact = served.iter().map(|hop| hop.delay.clone()).sum();
    let arrivals = terms.arrivals.as_ref().ok_or(Unbounded::Source)?;
    let others = [
        (tandem::separated_flow(arrivals, terms.largest, &served), Method::SeparatedFlow),
        (tandem::multiplexing_once(network, flow, found), Method::PayMultiplexingOnlyOnce),
        (tandem::in_order_of_arrival(arrivals, terms.largest, &served), Method::LeastUpperDelayBound),
    ];
    let (mut delay, mut method) = (total, Method::TotalFlow);
    for (other, by) in others {
        if let Some(other) = other.filter(|other| *other < delay) {
            (delay, method) = (other, by);
        }
    }
    let hop = |hop: &&Served| HopBound {
        delay: hop.delay.clone(),
        backlog: hop.backlog.clone(),
        source: hop.source,
    };
    Ok(FlowBound { hops: served.iter().map(hop).collect(), delay: delay + links, method })
}
