//! Flows that windows may hold back.

use super::network::{Network, Unbounded, Window};
use crate::params::NoLine;
use alloc::vec;
use alloc::vec::Vec;

/// Flows that windows may hold back, each with the reason for which it has no bound there.
#[derive(Clone, Debug)]
pub(super) struct Held(Vec<Vec<Option<Unbounded>>>);

impl Held {
    /// The flows of windows whose loop has no bound.
    pub(super) fn without_bound(network: &Network<'_>) -> Held {
        let mut held = Held(network.flows.iter().map(|flow| vec![None; flow.route.len()]).collect());
        for window in &network.windows {
            if let Err(why) = window.loop_time {
                let reason = |port| Unbounded::Promise { port, why: NoLine::Because(why) };
                held.hold(network, window, |_, port| reason(port));
            }
        }
        held
    }

    /// The reason for which a flow may be held back at a place of its route; `None` if it is not.
    pub(super) fn at(&self, flow: usize, hop: usize) -> Option<Unbounded> {
        self.0[flow][hop]
    }

    /// Returns true if a flow of a port may be held back.
    pub(super) fn any_of(&self, members: &[(usize, usize)]) -> bool {
        members.iter().any(|(flow, hop)| self.at(*flow, *hop).is_some())
    }

    /// Counts the flows of a window among them: the reason is by flow and port.
    pub(super) fn hold(
        &mut self,
        network: &Network<'_>,
        window: &Window,
        why: impl Fn(usize, usize) -> Unbounded,
    ) {
        for (flow, hop) in &window.members {
            self.0[*flow][*hop] = Some(why(*flow, network.flows[*flow].route[*hop]));
        }
    }
}
