//! Which flows do not respond to congestion?
//!
//! A detector sees the drops of a node's dropper, and what arrives there while it asks for it.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::detector::DetectorKind;
//!
//! let kind = DetectorKind::named("drop-history").unwrap();
//! assert_eq!(kind.record().name, "drop-history");
//! assert!(kind.build().is_ok());
//! assert!(DetectorKind::named("drop-histroy").is_none());
//! ```

pub mod drop_history;
mod registry;
mod traits;

pub use registry::{AnyDetector, BuiltInDetector, DEFAULT, DetectorKind, RECORDS};
pub use traits::Detector;
