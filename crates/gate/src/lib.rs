//! The real world around `tidegate-core`: packets from Linux interfaces, through a switch of core's, out
//! again at the times that the link's rate gives.
//!
//! A frame comes in through `io`, is made whole by `offload`, waits in `arena` while `engine`
//! decides when it leaves, and `bump` hands it to the kernel when that time has come. `handover` sees to what
//! becomes of traffic without it, and `privileges` to what it may do.

mod arena;
mod bpf;
mod bump;
mod checksum;
mod cli;
mod clock;
mod control;
mod engine;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handover;
mod io;
mod last_good;
mod metrics;
mod observe;
mod offload;
mod orders;
mod plan;
mod priority;
mod privileges;
mod report;
mod rewrite;
mod say;
mod seen;
mod sold;
mod source;
mod top;
mod waiting;
mod watch;

pub use cli::cli;
pub use error::GateError;
pub use handover::HandoverError;
