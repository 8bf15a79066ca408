//! Explicit-rate control of the ABR service: the ports that control rates, and the ends of VCs in
//! hosts. The algorithms and the rules are core's; these stages feed them the cells.

mod ends;
mod pace;
mod ports;
mod turned;

pub(super) use ends::AbrEnds;
pub(super) use ports::RateControlled;
