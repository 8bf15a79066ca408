//! Is this packet dropped or marked?
//!
//! # Examples
//!
//! ```
//! use tidegate_core::context::{Ctx, Reason, Verdict};
//! use tidegate_core::dropper::{Dropper, Occupancy};
//! use tidegate_core::packet::Packet;
//!
//! /// Drops every second packet.
//! struct EverySecond(bool);
//!
//! impl Dropper for EverySecond {
//!     fn arrive(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Occupancy) -> Verdict {
//!         self.0 = !self.0;
//!         if self.0 { Verdict::Accept } else { Verdict::Drop(Reason::QueueLimit) }
//!     }
//! }
//! ```

pub mod codel;
mod codel_linux;
pub mod coupled_pi2;
pub mod drop_tail;
mod early_detection;
pub mod pie;
mod pie_departures;
pub mod red;
mod red_linux;
mod registry;
pub mod rio;
mod traits;
pub mod wred;

pub use registry::{AnyDropper, BuiltInDropper, DropperKind, RECORDS};
pub use traits::{Dropper, Left, Occupancy};
