//! The names that a driver of a switch needs: plans, packets, units, and the kinds of policies.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::prelude::*;
//!
//! let port = PortPlan::new(SchedulerKind::named("drr").unwrap());
//! let mut switch = Switch::new(Time::ORIGIN, &SwitchPlan { ports: vec![port], ..Default::default() })?;
//! let leg = switch.open(Time::ORIGIN, PortIx(0), &FlowPlan::default())?;
//! let mut cx = Ctx { now: Time::ORIGIN, rng: &mut Rng::named(1, "port"), out: &mut Vec::new() };
//! let _ = switch.arrive(&mut cx, &[leg], Packet::new(BodyId(1), 1500));
//! assert_eq!(switch.start(&mut cx, PortIx(0)).unwrap().len, 1500);
//! # Ok::<(), Refused>(())
//! ```

pub use crate::context::{Body, Ctx, Effect, Reason};
pub use crate::contract::{Contract, Refused};
pub use crate::dropper::DropperKind;
pub use crate::meter::MeterKind;
pub use crate::packet::{BodyId, Colour, FlowIx, Leg, Mark, Packet, PortIx};
pub use crate::params::Limit;
pub use crate::rng::Rng;
pub use crate::scheduler::SchedulerKind;
pub use crate::shaper::ShaperPlan;
pub use crate::switch::Switch;
pub use crate::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
pub use crate::units::{Rate, Span, Time};
