//! The traffic-management algorithms of tidegate.
//!
//! This crate does no I/O, reads no clock, opens no file and has no randomness of
//! its own: time, packets and the random generator are handed in by a driver (the
//! simulator, the gate, a test), and the effects are handed back.
//!
//! A port with VirtualClock, a call that reserves 64 kbit/s, and bulk data:
//!
//! ```
//! use tidegate_core::switch::{Switch, plan::*};
//! use tidegate_core::{context::Ctx, contract::*, packet::*, rng::Rng, scheduler::SchedulerKind, units::*};
//!
//! let ports = vec![PortPlan::new(SchedulerKind::named("virtual-clock").unwrap())];
//! let mut switch = Switch::new(Time::ORIGIN, &SwitchPlan { ports, ..Default::default() })?;
//! let contract = Contract { reserve: Rate::from_bits_per_second(64_000), ..Default::default() };
//! let call = switch.open(Time::ORIGIN, PortIx(0), &FlowPlan { contract, ..Default::default() })?;
//! let bulk = switch.open(Time::ORIGIN, PortIx(0), &FlowPlan::default())?;
//! let mut cx = Ctx { now: Time::ORIGIN, rng: &mut Rng::named(1, "port"), out: &mut Vec::new() };
//! for (number, leg) in [(1, bulk), (2, bulk), (3, call)] {
//!     let _ = switch.arrive(&mut cx, &[leg], Packet::new(BodyId(number), 1500));
//! }
//! assert_eq!(switch.start(&mut cx, PortIx(0)).unwrap().body, BodyId(3)); // the call, though it came last
//! # Ok::<(), Refused>(())
//! ```

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
