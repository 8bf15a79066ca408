//! The trait of detectors.

use crate::context::{Ctx, Verdict};
use crate::contract::Contract;
use crate::packet::{FlowIx, Packet, PortIx};

/// Names flows that do not respond to congestion, by the drops of a node's dropper, and releases
/// those that do again.
///
/// A finding is an effect: [`Finding::NonResponsive`](crate::context::Finding::NonResponsive) with
/// the packet at which the flow was named, and
/// [`Finding::BackedOff`](crate::context::Finding::BackedOff) when it is released. Flows go by
/// their index at the port. Drops of meters, of the pool and of other nodes, and marks, are not
/// reported to it.
pub trait Detector {
    /// Opens a flow or changes its contract.
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        let _ = (flow, contract);
    }

    /// Gives the flow's index to another flow.
    fn forget(&mut self, flow: FlowIx);

    /// Records a packet that the node's dropper has dropped.
    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet);

    /// Returns true if the detector sees packets that arrive now: [`arrive`](Self::arrive) is
    /// called only then.
    fn sees_arrivals(&self) -> bool {
        true
    }

    /// Judges a packet that arrives at the node, before the dropper does. A packet that it drops is
    /// not reported to it.
    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        let _ = (cx, port, packet);
        Verdict::Accept
    }
}
