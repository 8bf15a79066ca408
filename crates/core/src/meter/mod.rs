//! Does a flow, or several flows together, keep a profile?
//!
//! # Examples
//!
//! ```
//! use tidegate_core::contract::{Contract, Refused};
//! use tidegate_core::meter::{MeterKind, ProfileIx};
//! use tidegate_core::packet::{BodyId, Colour, Packet};
//! use tidegate_core::{context::Ctx, rng::Rng, units::{Rate, Time}};
//!
//! let mut meter = MeterKind::named("srtcm").unwrap().build()?;
//! let reserve = Rate::from_bits_per_second(1_000_000);
//! meter.set_profile(ProfileIx(0), &Contract { reserve, workahead: Some(2000), ..Default::default() });
//! let mut cx = Ctx { now: Time::ORIGIN, rng: &mut Rng::named(1, "meter"), out: &mut Vec::new() };
//! let mut packets = [Packet::new(BodyId(1), 1500); 2];
//! for packet in &mut packets {
//!     meter.see(&mut cx, ProfileIx(0), packet);
//! }
//! // 2,000 bytes of tokens are enough for one of them.
//! assert_eq!(packets.map(|packet| packet.mark.colour()), [Colour::Green, Colour::Red]);
//! # Ok::<(), Refused>(())
//! ```

mod bursts;
pub mod clearing;
pub mod estimator;
pub mod flow_monitor;
pub mod marker;
pub mod mode;
pub mod policer;
mod profiles;
pub mod rate_marker;
mod registry;
pub mod selective_marker;
pub mod srtcm;
mod tokens;
mod traits;
pub mod trtcm;
pub mod tsw2cm;
pub mod tsw3cm;
pub mod tsw_tagger;
mod usage;

pub use registry::{BuiltInMeter, DEFAULT, MeterKind, RECORDS};
pub use traits::{Check, Meter, Metered, ProfileIx, Reading};
pub use usage::Usage;
