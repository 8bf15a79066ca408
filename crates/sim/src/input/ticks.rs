//! Times of a file.

use tidegate_core::units::TICKS_PER_SECOND;

/// Ticks of 10 ps since any origin: wide enough for the year 1970 and for any clock.
pub(super) type Ticks = i128;

/// One second, in ticks.
pub(super) const SECOND: Ticks = TICKS_PER_SECOND as Ticks;
