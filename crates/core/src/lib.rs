//! The traffic-management algorithms of tidegate.
//!
//! This crate does no I/O, reads no clock, opens no file and has no randomness of
//! its own: time, packets and the random generator are handed in by a driver (the
//! simulator, the gate, a test), and the effects are handed back.

pub mod aal5;
pub mod abr;
pub mod admission;
pub mod bounds;
pub mod classifier;
pub mod composite;
pub mod context;
pub mod credit;
pub mod curves;
pub mod detector;
pub mod dropper;
pub mod endpoint;
pub mod headers;
pub mod link;
pub mod lockstep;
pub mod maxmin;
pub mod meter;
pub mod packet;
pub mod params;
pub mod policies;
pub mod queues;
pub mod ranking;
pub mod rng;
pub mod scheduler;
pub mod shaper;
pub mod stats;
pub mod steering;
pub mod switch;
pub mod units;

pub use params::contract;
