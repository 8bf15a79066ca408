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
pub mod detector;
pub mod dropper;
pub mod endpoint;
pub mod flow_heap;
mod flow_ladder;
mod flow_ranks;
mod flow_tournament;
pub mod headers;
mod lazy_table;
pub mod link;
pub mod maxmin;
pub mod meter;
pub mod packet;
pub mod params;
pub mod queues;
mod radix_ladder;
pub mod ring;
pub mod rng;
mod run;
pub mod scheduler;
pub mod shaper;
pub mod stats;
pub mod steering;
pub mod switch;
pub mod units;

pub use params::contract;
