//! The rate at which the queue of a VC is served.

use crate::stage::StageCx;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::Rate;

/// Sets the service rate of a VC's queue at a hop to ACR, if it differs from the previous one,
/// `before`.
pub(super) fn pace(cx: &mut StageCx, hop: u32, before: f64, acr: f64) {
    if before != acr {
        set_pace(cx, hop, acr);
    }
}

/// Sets the service rate of a VC's queue at a hop to ACR, a cell at a time.
pub(super) fn set_pace(cx: &mut StageCx, hop: u32, acr: f64) {
    let rate = Rate::from_bits_per_second((acr as u64).max(1));
    let plan =
        |rate| ShaperPlan { rate, burst: 1, peak: None, queue: None, excess: Excess::Wait, calendar: None };
    cx.set_pace(hop, rate.map(plan));
}
