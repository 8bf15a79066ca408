//! Under construction.

pub mod event_queue;
