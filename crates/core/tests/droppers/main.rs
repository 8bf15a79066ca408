//! Droppers against slow oracles, packet by packet, and against the statements of their papers and
//! RFCs.

#[path = "../common/mod.rs"]
mod common;

mod averages;
mod closed_forms;
mod codel;
mod every;
mod line;
mod pie;
mod random_early;
mod receiver_pay;
mod red_linux;
