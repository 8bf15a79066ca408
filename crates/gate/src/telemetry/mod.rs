//! Telemetry of a gate: reports, rates and warnings, metrics, suggested reservations.

pub(crate) mod metrics;
pub(crate) mod monitor;
pub(crate) mod observer;
pub(crate) mod report;
