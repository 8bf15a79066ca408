//! Does a flow keep its contract?

pub mod flow_monitor;

use crate::context::{Ctx, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{PolicyKind, PolicyParams, PolicyRecord, registry};
use crate::units::{Span, Time};
use flow_monitor::FlowMonitorParams;

/// What a meter says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What becomes of it.
    pub verdict: Verdict,
    /// The flow's clock was checked at this packet.
    pub check: Option<Check>,
}

impl From<Verdict> for Reading {
    fn from(verdict: Verdict) -> Reading {
        Reading { verdict, check: None }
    }
}

/// A flow's clock at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// VirtualClock after the check, without the packet at which it was made.
    pub virtual_clock: Time,
    /// By how much VirtualClock was ahead of real time, if the flow is to be warned.
    pub warn: Option<Span>,
}

/// What a meter has counted of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metered {
    /// Checks.
    pub checks: u64,
    /// Checks at which the flow was warned.
    pub warnings: u64,
    /// What VirtualClock reads; zero before the first packet.
    pub virtual_clock: Time,
}

impl Metered {
    /// Of a flow that has sent nothing.
    pub const NOTHING: Metered = Metered { checks: 0, warnings: 0, virtual_clock: Time::from_ticks(0) };

    /// By how much VirtualClock is ahead of real time.
    pub fn lead(&self, now: Time) -> Span {
        self.virtual_clock.since(now)
    }
}

/// Sees every packet that has arrived at a port, when its shaper has let it go and before the
/// dropper, and may colour it, mark it or refuse it. Flows go by their index at the port.
pub trait Meter {
    /// Opens a flow or changes its contract; what was metered of it stays.
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        let _ = (flow, contract);
    }

    /// A packet of `packet.flow` has arrived.
    fn see(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet) -> Reading;

    /// Until when the flow, if it sent nothing more, would differ from a newcomer.
    fn forgettable_at(&self, flow: FlowIx) -> Time {
        let _ = flow;
        Time::from_ticks(0)
    }

    /// The index goes to another flow: a newcomer.
    fn forget(&mut self, flow: FlowIx) {
        let _ = flow;
    }

    /// What was counted of a flow; `None` for one that is not metered.
    fn metered(&self, flow: FlowIx) -> Option<Metered> {
        let _ = flow;
        None
    }

    /// Bytes of memory held, for the memory report.
    fn memory(&self) -> usize {
        0
    }
}

// The registry: one line a meter.
registry! {
    /// A built-in meter with its parameters.
    pub enum BuiltInMeter {
        FlowMonitor(flow_monitor::FlowMonitorParams),
    }
}

/// The meter of a port that names none.
pub const DEFAULT: &PolicyRecord = &FlowMonitorParams::RECORD;

/// How to make a meter: what a plan holds.
pub type MeterKind = PolicyKind<BuiltInMeter, dyn Meter + Send>;

impl MeterKind {
    /// A new meter of this kind, without flows.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<Box<dyn Meter + Send>, Refused> {
        let built_in = |meter: &BuiltInMeter| match meter {
            BuiltInMeter::FlowMonitor(params) => {
                params.make().map(|meter| Box::new(meter) as Box<dyn Meter + Send>)
            }
        };
        self.make_with(built_in, |meter| meter)
    }
}
