//! The real world around `tidegate-core`: frames from Linux interfaces go through a switch of core's and out
//! again at the times that the link's rate gives.
//!
//! Modules, from the top: [`cli`](fn@cli) starts a gate or asks one that runs. `control` answers requests on a
//! thread of its own, and sends commands to the `runtime`, whose forwarder waits for frames, passes them from
//! `io` to the `engine`, and sends them when they are due. `telemetry` makes reports, warnings and metrics of the
//! engine's state. `config` turns a gate file into a plan, and `failover` holds the bridge that forwards while no
//! gate runs. Below all of them: `frame`, `stats`, `sys` and `error`.

mod cli;
mod config;
mod control;
mod engine;
mod error;
mod failover;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzing;
mod io;
mod runtime;
mod stats;
mod sys;
mod telemetry;

pub use cli::cli;
pub use error::{FailoverError, GateError};
