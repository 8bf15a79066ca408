//! One pool at an output port.

use super::figures::OutputReport;
use tidegate_core::credit::messages::VcIx;
use tidegate_core::credit::output_pool::OutputPool;
use tidegate_core::credit::{Arrival, Receiver};
use tidegate_core::units::Time;
use tidegate_formats::OutputCredit;

/// A pool at an output port.
pub(super) struct Output {
    pub(super) setup: OutputCredit,
    pub(super) pool: OutputPool,
    /// Time of the next allocation.
    pub(super) allocation_at: Time,
    /// The most packets that were in it since the warm-up.
    pub(super) queue_max: u64,
}

impl Output {
    pub(super) fn new(setup: &OutputCredit) -> Output {
        Output {
            setup: setup.clone(),
            pool: OutputPool::new(setup.plan.adaptation),
            allocation_at: Time::ORIGIN + setup.plan.interval,
            queue_max: 0,
        }
    }

    pub(super) fn arrived(&mut self, now: Time, receiver: &mut Receiver, vc: VcIx) -> Arrival {
        let arrival = self.pool.arrived(now, receiver, vc);
        self.queue_max = self.queue_max.max(self.pool.queued());
        arrival
    }

    pub(super) fn report(&self) -> OutputReport {
        OutputReport {
            node: self.setup.node as u32,
            port: self.setup.port.map(|link| link as u32),
            links: self.setup.links.iter().map(|link| *link as u32).collect(),
            vcs: self.pool.vcs(),
            plan: self.setup.plan,
            queue_max: self.queue_max,
        }
    }
}
