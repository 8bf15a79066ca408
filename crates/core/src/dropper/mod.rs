//! Is this packet dropped or marked?

pub mod codel;
pub mod drop_tail;
mod early_detection;
pub mod pie;
pub mod red;
pub mod rio;
pub mod wred;

use crate::context::{Ctx, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{FlowIx, Packet};
use crate::params::{Limit, PolicyKind, PolicyParams, registry};
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

/// Kind of a dropper, as a plan holds it.
pub type DropperKind = PolicyKind<BuiltInDropper, dyn Dropper + Send>;

impl DropperKind {
    /// A new dropper of this kind.
    ///
    /// # Errors
    /// When a parameter that depends on the link is missing.
    pub fn build(&self) -> Result<AnyDropper, Refused> {
        self.make_with(AnyDropper::built_in, AnyDropper::Custom)
    }
}

/// Writes the registry: [`BuiltInDropper`], and the enum of droppers with its dispatch.
macro_rules! droppers {
    ($($variant:ident($params:path),)*) => {
        registry! {
            /// A built-in dropper with its parameters.
            pub enum BuiltInDropper { $($variant($params),)* }
        }

        /// Every dropper: the built-in ones without a pointer, `Custom` for the others.
        pub enum AnyDropper {
            $(#[doc = concat!("Of [`", stringify!($params), "`].")] $variant(<$params as PolicyParams>::Policy),)*
            /// A dropper written outside this crate.
            Custom(Box<dyn Dropper + Send>),
        }

        impl AnyDropper {
            fn built_in(dropper: &BuiltInDropper) -> Result<AnyDropper, Refused> {
                match dropper {
                    $(BuiltInDropper::$variant(params) => params.make().map(AnyDropper::$variant),)*
                }
            }
        }

        macro_rules! each {
            ($self:expr, $dropper:ident => $call:expr) => {
                match $self {
                    $(AnyDropper::$variant($dropper) => $call,)*
                    AnyDropper::Custom($dropper) => $call,
                }
            };
        }
    };
}

// The registry: one line a dropper.
droppers! {
    DropTail(drop_tail::DropTailParams),
    Red(red::RedParams),
    Rio(rio::RioParams),
    Wred(wred::WredParams),
    Codel(codel::CodelParams),
    Pie(pie::PieParams),
}

impl Dropper for AnyDropper {
    fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        each!(self, d => d.set_rate(now, rate))
    }

    fn set_flow(&mut self, now: Time, flow: FlowIx, contract: &Contract) {
        each!(self, d => d.set_flow(now, flow, contract))
    }

    #[inline]
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        each!(self, d => d.arrive(cx, packet, at))
    }

    fn looks_at_head(&self) -> bool {
        each!(self, d => d.looks_at_head())
    }

    #[inline]
    fn head(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        each!(self, d => d.head(cx, packet, at))
    }

    #[inline]
    fn left(&mut self, cx: &mut Ctx<'_>, packet: &Packet, at: &Occupancy, how: Left) {
        each!(self, d => d.left(cx, packet, at, how))
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        each!(self, d => d.gauges(show))
    }
}
