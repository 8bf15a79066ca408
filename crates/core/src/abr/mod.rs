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
//! - The answers of a VC go back at once: a backward ACR, of data in the other direction, is not
//!   modelled.
//! - An optional use-it-or-lose-it policy of the source beyond rule 5 is not modelled.

pub mod cell;
mod control;
pub mod coupling;
mod destination;
pub mod efci;
pub mod eprca;
pub mod erica;
mod port;
mod registry;
pub mod relative_rate;
mod source;
mod virtual_source;

pub use control::{Feedback, PortTerms, RateControl, VcIx};
pub use destination::Destination;
pub use port::OutputPort;
pub use registry::{BuiltInRateControl, RECORDS};
pub use source::{Pace, Source, SourceTerms};
pub use virtual_source::VirtualSource;
