//! Does a flow, or several flows together, keep a profile?

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
