//! The ABR service: rules of sources and destinations, switch algorithms against slow oracles,
//! couplings.

#[path = "../common/mod.rs"]
mod common;
mod couplings;
mod erica;
mod rules;
mod shares;
mod switches;
