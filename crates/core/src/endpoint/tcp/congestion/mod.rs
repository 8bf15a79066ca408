//! The congestion window of a connection: how much it may have in flight.
//!
//! Congestion control sets the congestion window and the slow start threshold (RFC 5681, section
//! 3.1). Loss recovery says when a loss or a mark reduces them; the control says by how much, and
//! how they grow.

mod bbr;
mod cubic;
mod dctcp;
mod delivery;
mod prague;
mod registry;
mod reno;
mod segments;
mod traits;
mod windows;

pub use bbr::BbrParams;
pub use cubic::CubicParams;
pub use dctcp::DctcpParams;
pub use delivery::{Delivery, RateSample, Repair, Ruling};
pub use prague::PragueParams;
pub use registry::{AnyCongestionControl, BuiltInCongestionControl, CongestionControlKind, RECORDS};
pub use reno::RenoParams;
pub use traits::{Acknowledged, CongestionControl, Windows};
pub(super) use windows::Congestion;
