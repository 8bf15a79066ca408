//! The edge of a network: headers in; flow, charged length and mark out.
//!
//! [`Steering`] finds or opens a packet's flow at a port by rules over its headers. [`Edge`] adds
//! the packet's charge and the mark that it carries from there on. The gate and the simulator use
//! the same edge.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::classifier::rules::Direction;
//! use tidegate_core::link::Framing;
//! use tidegate_core::steering::{Edge, EdgePlan};
//! use tidegate_core::switch::{Switch, plan::*};
//! use tidegate_core::{contract::Refused, headers::Headers, packet::PortIx, scheduler::SchedulerKind, units::Time};
//!
//! let ports = vec![PortPlan::new(SchedulerKind::named("fifo").unwrap())];
//! let mut switch = Switch::new(Time::ORIGIN, &SwitchPlan { ports, ..Default::default() })?;
//! let plan = EdgePlan {
//!     rules: Vec::new(),
//!     set_dscp: Vec::new(),
//!     rest: FlowPlan::default(),
//!     most_flows: 1024,
//!     framing: Framing::new(40, 0, true)?,
//! };
//! let mut edge = Edge::new(Time::ORIGIN, &mut switch, PortIx(0), Direction::Up, plan)?;
//! // Without rules, packets have a flow of all others. ATM takes 33 cells for 1500 bytes and 40 more.
//! let steered = edge.steer(Time::ORIGIN, &mut switch, &Headers::default(), 1500);
//! assert_eq!(steered.charged, 33 * 53);
//! # Ok::<(), Refused>(())
//! ```

mod beyond;
mod cache;
mod circuits;
mod control;
mod conversations;
mod edge;
mod flows;
mod hosts;
mod inspect;
mod leads;
mod owners;
mod replan;
mod rule;
mod unit;

pub use edge::{Edge, EdgePlan, Steered};
pub use flows::{Cached, Steering};
pub use inspect::FlowOwner;
pub use rule::{Aside, Beyond, Conversations, Rule, Split, StatedHosts};
