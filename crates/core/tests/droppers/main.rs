//! Droppers against slow oracles, packet by packet, and against what their papers and RFCs say.

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
