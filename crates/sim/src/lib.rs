//! A deterministic discrete-event world around [`tidegate_core`]: sources, links, hosts and probes.
//!
//! A scenario and a seed give one outcome: on any machine, with any number of jobs, with or without
//! probes.

pub mod assemble;
pub mod assurance;
mod bins;
pub mod bounds;
pub mod capture;
pub mod classes;
pub mod demands;
pub mod event_queue;
mod events;
mod fabric;
pub mod fingerprint;
mod flights;
mod flow;
pub mod host;
mod in_traffic;
pub mod input;
mod measures;
pub mod network;
pub mod packet_log;
mod packets;
pub mod probe;
pub mod record;
pub mod results;
pub mod source;
pub mod stage;
pub mod stage_plans;
pub mod usage;
pub mod watch;
pub mod workahead;
pub mod world;
