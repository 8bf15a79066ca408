//! Data structures that keep flows and packets in order: ranks, rings and tables by flow.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::packet::FlowIx;
//! use tidegate_core::ranking::flow_heap::FlowHeap;
//!
//! let mut flows = FlowHeap::default();
//! flows.grow_to(3);
//! for (flow, key) in [(0, 30), (1, 10), (2, 20)] {
//!     flows.set(FlowIx(flow), (key, 0));
//! }
//! assert_eq!(flows.top(), Some(((10, 0), FlowIx(1))));
//! flows.set(FlowIx(1), (40, 0));
//! assert_eq!(flows.top(), Some(((20, 0), FlowIx(2))));
//! ```

pub mod flow_heap;
mod flow_ladder;
pub(crate) mod flow_ranks;
mod flow_tournament;
pub(crate) mod lazy_table;
mod radix_ladder;
pub mod ring;
mod sorted_prefix;

pub use sorted_prefix::Rank;
