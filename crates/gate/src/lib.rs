//! The gate around `tidegate-core`: frames from Linux interfaces pass a switch of the core and
//! leave at the times that the link's rate gives.
//!
//! Modules, from the top: [`cli`](fn@cli) starts a gate or sends commands to a running one.
//! `control` answers requests on a thread of its own, and sends commands to the `runtime`, whose
//! forwarder waits for frames, passes them from `io` to the `engine`, and sends them when they are
//! due; `explain` follows some of them, and says what they waited for. `telemetry` makes reports,
//! warnings and metrics from the engine's state. `config` turns a gate file into a plan, and
//! `failover` holds the bridge that forwards while no gate runs. Below all of them: `frame`,
//! `stats`, `sys` and `error`.

mod cli;
mod config;
mod control;
mod engine;
mod error;
mod explain;
mod failover;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzing;
mod io;
#[cfg(feature = "bench")]
pub mod null_gate;
mod runtime;
mod stats;
mod sys;
mod telemetry;
#[cfg(any(fuzzing, feature = "bench"))]
pub mod virtual_gate;

pub use cli::cli;
pub use error::{FailoverError, GateError};
pub use sys::memory::Allocator;
