//! Transmissions that remember the use of the congestion window, and its use before an
//! acknowledgement.

use super::Sender;
use crate::endpoint::HostCx;

impl Sender {
    /// Sends the data that the windows allow, and remembers the use of the congestion window.
    pub(super) fn fill_and_note(&mut self, cx: &mut HostCx<'_>) {
        let (has_new, max) = (self.next_new().is_some(), self.max);
        self.fill(cx);
        let is_full = self.is_full();
        if let Some(usage) = &mut self.usage
            && has_new
            && (is_full || self.max > max)
        {
            usage.note(self.una, self.max, is_full);
        }
    }

    /// Returns true if the congestion window, or the pace, has no room for a segment.
    fn is_full(&self) -> bool {
        self.pacer.waits() || self.outstanding() + self.mss > self.congestion.cwnd()
    }

    /// Returns true if the congestion window was full before an acknowledgement, and the bytes in
    /// flight that it was used for.
    pub(super) fn used(&self) -> (bool, u64) {
        match &self.usage {
            Some(usage) => (usage.is_full, usage.most),
            None => (self.is_full(), self.flight()),
        }
    }
}
