#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

// Macros that write a policy's parameters elsewhere name it through this crate.
#[doc(hidden)]
pub extern crate alloc;

pub mod aal5;
#[cfg(feature = "atm")]
pub mod abr;
pub mod admission;
pub mod bounds;
#[cfg(feature = "classifier")]
pub mod classifier;
pub mod composite;
pub mod context;
#[cfg(feature = "atm")]
pub mod credit;
pub mod curves;
pub mod detector;
pub mod dropper;
pub mod endpoint;
#[cfg(feature = "classifier")]
pub mod headers;
pub mod link;
pub mod lockstep;
pub mod maxmin;
pub mod meter;
pub mod packet;
pub mod params;
pub mod policies;
pub mod prelude;
pub mod queues;
pub mod ranking;
pub mod rng;
pub mod scheduler;
pub mod shaper;
pub mod stats;
#[cfg(feature = "classifier")]
pub mod steering;
pub mod switch;
pub mod units;

pub use params::contract;
