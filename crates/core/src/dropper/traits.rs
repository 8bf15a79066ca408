//! The trait of droppers, and the queues that they see.

use crate::context::{Ctx, Verdict};
use crate::contract::Contract;
use crate::packet::{FlowIx, Packet};
use crate::params::Limit;
use crate::stats::Count;
use crate::units::{Rate, Time};

/// The queues around a packet, as a dropper sees them. The packet itself is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Occupancy {
    /// The queue that the dropper guards: a port's, a class's or a flow's; a packet in service
    /// counts where it was queued.
    pub queue: Count,
    /// The queue of the packet's own flow, a packet in service included.
    pub flow: Count,
    /// All queues of the port, a packet in service included.
    pub port: Count,
    /// The memory that the port may use: the switch's, or its own part.
    pub pool: Count,
    /// The limit of that memory; `None` is without limit.
    pub limit: Option<Limit>,
}

impl Occupancy {
    /// Returns true if the guarded queue stays within a limit when a packet of `len` bytes joins
    /// it.
    #[inline]
    pub fn has_room(&self, limit: Limit, len: u32) -> bool {
        limit.admits(self.queue.packets + 1, self.queue.bytes + u64::from(len))
    }
}

/// Exit of a packet from the queue that a dropper guards, after that dropper has admitted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its last bit is out.
    Sent,
    /// It was pushed out: the pool was exhausted.
    PushedOut,
    /// A dropper took it when it was selected to be sent: this one, or another that guards it.
    DroppedAtHead,
    /// A dropper further out did not admit it.
    Refused,
    /// A reconfiguration gave it to another flow's queue.
    Moved,
}

/// Decides whether a packet enters a queue and whether it leaves it: the queue of a port, of a
/// class or of one flow. A packet passes the droppers that guard it from the innermost to the
/// outermost. Flows go by their index at the port. Packets that were queued before the dropper was
/// set up are reported to it when they leave.
pub trait Dropper {
    /// Sets the rate of the server behind the guarded node; `None` when it is unknown. Called
    /// before the first flow, and again when the rate changes.
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let _ = (now, rate);
    }

    /// Opens a flow or changes its contract. An index may later be given to another flow.
    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) {
        let _ = (now, flow, contract);
    }

    /// Judges a packet that has passed its shaper and its meters.
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict;

    /// Returns true if the dropper looks at packets that were selected to be sent:
    /// [`head`](Self::head) is called only then.
    fn looks_at_head(&self) -> bool {
        true
    }

    /// Judges a packet that has been selected to be sent and not charged yet (CoDel drops here).
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let _ = (cx, packet, at);
        Verdict::Accept
    }

    /// Reports that a packet admitted by this dropper is not in its queue any more.
    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, how: Left) {
        let _ = (cx, packet, at, how);
    }

    /// Shows the dropper's values by name and in base units (packets, bytes, seconds), with
    /// probabilities as numbers from 0 to 1: for probes.
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        let _ = show;
    }
}
