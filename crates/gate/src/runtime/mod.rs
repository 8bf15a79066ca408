//! The forwarding thread: it waits for frames, departures and commands, and acts on whichever comes
//! first.

mod batching;
pub(crate) mod commands;
pub(crate) mod forwarder;
pub(crate) mod reading;
mod sending;
mod share;
mod wait;

pub(crate) use wait::WaitMode;
