//! Is this packet dropped or marked?

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
