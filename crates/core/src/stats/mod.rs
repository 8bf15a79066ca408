//! What was seen? Exact records of what flows bring and how long packets take.
//!
//! Everything is counted in integer ticks and bytes; a number with a fraction
//! appears only where a result is handed out.

mod moments;
mod quantile;
mod student;
mod workahead;

pub use moments::Moments;
pub use quantile::nearest_rank;
pub use student::{half_width_95, t_95};
pub use workahead::{PeakRate, Workahead};
