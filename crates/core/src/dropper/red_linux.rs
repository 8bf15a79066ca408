//! Where the RED of Linux 6.1 differs from the paper's.
//!
//! - A number is drawn for each distance, and a packet is chosen when its number since the last one
//!   that was chosen, times p, has reached it. The first packet after an average outside of the
//!   thresholds is never chosen.
//! - A packet's length does not scale its probability.
//! - An idle time does not age the average. The kernel's RED notes that its queue is empty when it
//!   is asked for a packet and has none; below HTB, TBF and other shapers it is not asked then.

use super::early_detection::Choice;
use crate::rng::Rng;

/// The choice of packets by one number for each distance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DrawnDistance {
    /// Packets since the last one that was chosen; `None` where the next one is the first.
    since: Option<u64>,
    /// The number drawn for this distance, from 0 to 1.
    drawn: f64,
}

impl Choice for DrawnDistance {
    #[inline]
    fn chooses(&mut self, p: f64, rng: &mut Rng) -> bool {
        let since = self.since.map_or(0, |since| since + 1);
        let chosen = since > 0 && since as f64 * p >= self.drawn;
        if chosen || since == 0 {
            self.drawn = rng.unit();
        }
        self.since = Some(if chosen { 0 } else { since });
        chosen
    }

    #[inline]
    fn restart(&mut self) {
        self.since = None;
    }
}
