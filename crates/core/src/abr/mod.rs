//! At which rate may this connection send? Explicit-rate control of the ABR service, by VC.
//!
//! A [`Source`] sends at its allowed cell rate ACR, and an RM cell among every Nrm cells. The
//! [`Destination`] turns RM cells round. On the way back each switch writes into them the rate that
//! its link allows, by a [`RateControl`] at each [`OutputPort`]; the source follows. With VS/VD a
//! port also ends one control loop and begins the next ([`coupling`]). All are plain objects: a
//! driver carries the cells and hands in the time.
//!
//! ATM Forum, Traffic Management Specification 4.0 (af-tm-0056.000), sections 5.10 and I; S.
//! Kalyanaraman, R. Jain, J. Jiang, R. Goyal, S. Fahmy, Design considerations for the virtual
//! source/virtual destination (VS/VD) feature in the ABR service of ATM networks, Computer Networks
//! and ISDN Systems 30 (1998).
//!
//! # Model
//!
//! Rates are in bit/s of whole cells, headers included, as links count them. Cells may have any
//! length: with packets instead of cells, RM cells are periodic probes.
//!
//! # Choices where the sources are silent
//!
//! - RM cells hold rates to the nearest bit/s, and not in the 16-bit floating-point format of
//!   section 5.10.3.1.
//! - The answers of a VC go back at once, unless its data and those of another connection are the two
//!   directions of one VC ([`BackwardVc`]). Then a source sends an RM cell that its own end has turned
//!   round as one of its cells (rule 3b): at most one between two of its FRM cells while data wait. A
//!   later one replaces one that waits.
//! - Rule 13 allows a source to lower ACR to about its actual rate, and leaves the policy open. With
//!   a headroom, a source compares ACR with its actual rate between two in-rate FRM cells, and with
//!   the least ACR of that time: a rate that has just risen is not lost before it can be used. The
//!   headroom is that of Kalyanaraman et al., Use-it-or-lose-it policies for the ABR service in ATM
//!   networks, Computer Networks and ISDN Systems 30 (1998).
//!
//! # Examples
//!
//! ```
//! use tidegate_core::abr::cell::{Direction, RmCell};
//! use tidegate_core::abr::Destination;
//!
//! // A source that sends at 10 Mbit/s asks for 100; a switch on the way allows 40.
//! let frm = RmCell { ccr: 10_000_000, er: 100_000_000, ..RmCell::default() };
//! let brm = Destination::default().turn_round(&frm.at_most(40e6));
//! assert_eq!((brm.direction, brm.er), (Direction::Backward, 40_000_000));
//! ```

pub mod aprc;
pub mod cell;
mod control;
mod coupled;
pub mod coupling;
mod destination;
pub mod efci;
pub mod eprca;
pub mod erica;
pub mod phantom;
mod port;
mod registry;
pub mod relative_rate;
mod source;
pub mod ucsc;
mod virtual_source;

pub use control::{Feedback, PortTerms, RateControl, VcIx};
pub use coupled::Coupled;
pub use destination::Destination;
pub use port::OutputPort;
pub use registry::{BuiltInRateControl, RECORDS};
pub use source::{BackwardVc, Pace, Source, SourceTerms};
pub use virtual_source::VirtualSource;
