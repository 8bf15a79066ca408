//! The wire: the charge of a frame, the end of its transmission, and its loss or arrival. Used for
//! the simulator's links and for the links that the gate emulates.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::link::Framing;
//!
//! // Ethernet's preamble, gap and check sequence, and at least 84 bytes of line time.
//! let ethernet = Framing::new(24, 84, false)?;
//! assert_eq!(ethernet.charge(60), 84);
//! assert_eq!(ethernet.charge(1514), 1538);
//! // A DSL line in ATM cells of 53 bytes.
//! assert_eq!(Framing::new(0, 0, true)?.charge(100), 3 * 53);
//! # Ok::<(), tidegate_core::contract::Refused>(())
//! ```

mod framing;
mod gilbert_elliott;
mod jitter;
mod lane;
mod line;
mod line_plan;
mod loss;
mod pace;
mod reordering;
mod stepped;
mod steps;
mod trace;

pub use framing::Framing;
pub use gilbert_elliott::GilbertElliott;
pub use jitter::{Distribution, Jitter};
pub use lane::Lane;
pub use line::{Flight, Line};
pub use line_plan::LinePlan;
pub use loss::{Loss, LossState};
pub use pace::Pace;
pub use reordering::Reordering;
pub use stepped::{RateSteps, SteppedLink};
pub use steps::Steps;
pub use trace::{NotATrace, Trace, TracedLink};
