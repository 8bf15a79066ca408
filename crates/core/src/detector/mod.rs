//! Which flows do not respond to congestion?
//!
//! A detector sees the drops of a node's dropper, and what arrives there while it asks for it.

pub mod drop_history;
mod registry;
mod traits;

pub use registry::{AnyDetector, BuiltInDetector, DEFAULT, DetectorKind, RECORDS};
pub use traits::Detector;
