//! Proportional rate reduction (RFC 6937, section 3): segments that may be sent during a reduction of
//! the window, by the segments that have arrived. Below the threshold the bound is that of slow start
//! with the condition of a safe acknowledgement: the first unacknowledged byte moves, and nothing more
//! was lost (RFC 9937, section 6).

/// A reduction under way; all amounts in segments.
#[derive(Clone, Debug)]
pub(super) struct Prr {
    /// RecoverFS: the window before.
    prior: u64,
    /// The window after (ssthresh).
    target: u64,
    /// Segments that have arrived in it (prr_delivered).
    delivered: u64,
    /// Segments sent in it (prr_out).
    out: u64,
}

impl Prr {
    pub(super) fn new(prior: u64, target: u64) -> Prr {
        Prr { prior: prior.max(1), target, delivered: 0, out: 0 }
    }

    /// Records that a segment is sent, for the first time or again.
    pub(super) fn sent(&mut self) {
        self.out += 1;
    }

    /// Returns the segments that may be sent after the arrival of `delivered` segments, with `pipe`
    /// in the network (sndcnt). `is_safe` is true for a safe acknowledgement.
    pub(super) fn allowed(&mut self, delivered: u64, pipe: u64, is_safe: bool) -> u64 {
        self.delivered += delivered;
        let allowed = if pipe > self.target {
            (self.target * self.delivered).div_ceil(self.prior).saturating_sub(self.out)
        } else {
            let conservative = self.delivered.saturating_sub(self.out).max(delivered);
            (conservative + u64::from(is_safe)).min(self.target - pipe)
        };
        // The first retransmission leaves in any case.
        allowed.max(u64::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, section 4, figure 1: of 20 segments one was lost, and Reno halves the window. The
    /// first acknowledgement sends the lost segment again, and then every second one sends a segment.
    #[test]
    fn every_second_arrival_sends_a_segment() {
        let mut prr = Prr::new(20, 10);
        let mut pipe = 18;
        let mut sent = Vec::new();
        for _ in 0..12 {
            pipe -= 1;
            let allowed = prr.allowed(1, pipe, false);
            (0..allowed).for_each(|_| prr.sent());
            pipe += allowed;
            sent.push(allowed);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(pipe, 12);
    }

    /// Below the threshold a segment leaves for each that arrives, and one more if that is safe, up to
    /// the threshold.
    #[test]
    fn below_the_threshold_only_safe_acknowledgements_grow_the_flight() {
        let mut prr = Prr::new(20, 10);
        assert_eq!(prr.allowed(1, 3, false), 1);
        prr.sent();
        assert_eq!(prr.allowed(1, 3, false), 1);
        prr.sent();
        assert_eq!(prr.allowed(1, 3, true), 2);
        (0..2).for_each(|_| prr.sent());
        assert_eq!(prr.allowed(5, 9, true), 1);
    }
}
