//! The thread that forwards: it waits for frames, departures and commands, and acts on what comes first.

mod batching;
pub(crate) mod commands;
pub(crate) mod forwarder;
mod sending;
mod wait;

pub(crate) use wait::WaitMode;
