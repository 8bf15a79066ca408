//! The edge of a network: headers in; flow, charged length and mark out.
//!
//! [`Steering`] finds or opens a packet's flow at a port by rules over its headers. [`Edge`] adds
//! the packet's charge and the mark that it carries from there on. The gate and the simulator use
//! the same edge.

mod beyond;
mod cache;
mod circuits;
mod control;
mod conversations;
mod edge;
mod flows;
mod inspect;
mod leads;
mod owners;
mod replan;
mod rule;
mod unit;

pub use edge::{Edge, EdgePlan, Steered};
pub use flows::{Cached, Steering};
pub use rule::{Aside, Beyond, Conversations, Rule, Split};
