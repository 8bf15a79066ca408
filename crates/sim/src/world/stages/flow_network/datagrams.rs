//! The volume of datagrams at each link, estimated by what came in the latest window (Zhang 1991,
//! section 2.3).

use crate::network::{FlowSetup, LinkPlan, Network};
use crate::stage::StageCx;
use tidegate_core::units::{Span, Time};

/// Bytes that links have received of flows without a reservation.
pub(super) struct Datagrams {
    window: Span,
    /// End of the run.
    until: Time,
    /// Flows without a reservation.
    flows: Vec<u32>,
    /// Rate of each link, in bit/s.
    rates: Vec<u64>,
    /// Bytes that had come to each link by the end of the latest window.
    before: Vec<u64>,
}

impl Datagrams {
    pub(super) fn new(network: &Network, window: Span) -> Datagrams {
        let reserves = |flow: &FlowSetup| {
            flow.life.set_up || flow.plans.iter().any(|plan| plan.contract.reserve.is_some())
        };
        let flows = network.flows.iter().enumerate().filter(|(_, flow)| !reserves(flow));
        let rate = |link: &LinkPlan| {
            let least = link.port.ceiling.map_or(link.rate, |ceiling| link.rate.min(ceiling));
            least.bits_per_second().round() as u64
        };
        Datagrams {
            window,
            until: Time::ORIGIN + network.duration,
            flows: flows.map(|(ix, _)| ix as u32).collect(),
            rates: network.links.iter().map(rate).collect(),
            before: vec![0; network.links.len()],
        }
    }

    /// Returns the end of a window that begins now; `None` beyond the run.
    pub(super) fn ends(&self, now: Time) -> Option<Time> {
        Some(now + self.window).filter(|ends| *ends <= self.until)
    }

    /// Returns the rate that datagrams leave of each link, by the window that ends now, in bit/s.
    //= zhang1991 2.3
    pub(super) fn left(&mut self, cx: &StageCx) -> Vec<u64> {
        let mut come = vec![0; self.before.len()];
        for hop in self.flows.iter().flat_map(|flow| cx.hops_of(*flow)) {
            let hop = &cx.fabric.hops[hop as usize];
            let switch = &cx.fabric.nodes[hop.node as usize].switch;
            come[hop.link as usize] += switch.counters(hop.leg).arrived.bytes;
        }
        let before = core::mem::replace(&mut self.before, come);
        let volumes = self.before.iter().zip(&before).map(|(come, before)| 8 * (come - before));
        let per_second = |bits: u64| (bits as f64 / self.window.as_secs_f64()).round() as u64;
        self.rates.iter().zip(volumes).map(|(rate, bits)| rate.saturating_sub(per_second(bits))).collect()
    }
}
