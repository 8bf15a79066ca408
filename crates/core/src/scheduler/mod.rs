//! Schedulers: the choice of the flow to serve next.
//!
//! A scheduler orders flows. It owns neither packets nor counters: the switch keeps the queues and
//! notifies the scheduler of every change.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::scheduler::{RECORDS, SchedulerKind};
//!
//! // Schedulers are known by the names of files.
//! let virtual_clock = SchedulerKind::named("virtual-clock").unwrap();
//! assert!(virtual_clock.record().reads.contains(&"reserve"));
//! assert!(RECORDS.iter().any(|record| record.name == "drr"));
//! assert!(SchedulerKind::named("vitual-clock").is_none());
//! ```

pub mod axel;
pub mod axel_floor;
pub mod axel_measured;
pub mod axel_unbounded;
mod deadlines;
pub mod deferred;
pub mod drr;
pub mod drr_plus_plus;
pub mod edf;
mod fair_queueing;
mod fair_rule;
pub mod fifo;
pub mod fifo_plus;
mod floors;
mod fluid;
pub mod host_drr_plus_plus;
mod host_places;
mod in_order;
pub mod jitter_edd;
mod later_turns;
mod mean_wait;
mod old_flows;
pub mod peak_vc;
pub mod pulse;
mod registry;
mod restamped;
pub mod round_robin;
pub mod scfq;
pub mod sfq;
mod stamped;
pub mod strict_priority;
pub mod tdm;
pub mod time_shifted_fifo;
mod traits;
pub mod triple_isolate;
mod turns;
pub mod virtual_clock;
mod virtual_time;
mod weights;
pub mod wf2q_plus;
pub mod wfq;

pub use crate::queues::Participation;
pub use fair_queueing::FairQueueing;
pub use registry::{AnyScheduler, BuiltInScheduler, DEFAULT, RECORDS, SchedulerKind};
pub use stamped::{StampRule, Stamped};
pub use traits::{Hold, Removal, Scheduler, Select};
