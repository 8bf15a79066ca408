//! Accurate ECN feedback (RFC 9768): the receiver counts the packets that came with congestion
//! marked, and each acknowledgement carries the last three bits of the count (ACE).
//!
//! Bytes are not counted: there is no AccECN option. The handshake of connections is not that of
//! the RFC, as both ends know the feedback.

/// Values of the field (DIVACE).
const VALUES: u64 = 8;
/// The count at the start of a connection (section 3.2.1).
const INITIAL: u64 = 5;

/// The receiver's count.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// r.cep.
    marked: u64,
    /// True if the latest packet was marked.
    was_marked: bool,
}

impl Count {
    pub(super) fn new() -> Count {
        Count { marked: INITIAL, was_marked: false }
    }

    /// Counts a packet of data. Returns true if it is to be acknowledged at once: a marked one behind
    /// one that was not (section 3.2.2.5.1).
    pub(super) fn came(&mut self, is_marked: bool) -> bool {
        self.marked += u64::from(is_marked);
        let was_marked = core::mem::replace(&mut self.was_marked, is_marked);
        is_marked && !was_marked
    }

    /// The field of an acknowledgement.
    pub(super) fn ace(&self) -> u8 {
        (self.marked % VALUES) as u8
    }
}

/// The sender's copy of the count.
#[derive(Clone, Debug)]
pub(super) struct Feedback {
    /// s.cep.
    marked: u64,
}

impl Feedback {
    pub(super) fn new() -> Feedback {
        Feedback { marked: INITIAL }
    }

    /// Returns the number of marked packets that an acknowledgement reports with this field, of
    /// `arrived` packets. When so many have arrived that the field may have wrapped, it is the
    /// greatest that is possible (appendix A.2.1).
    pub(super) fn marked(&mut self, ace: u8, arrived: u64) -> u64 {
        let least = (u64::from(ace) + VALUES - self.marked % VALUES) % VALUES;
        let marked = if arrived < VALUES { least } else { arrived - (arrived - least) % VALUES };
        self.marked += marked;
        marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Whatever acknowledgements are lost: as long as each that arrives reports fewer than eight
    /// packets, no mark is lost or counted twice; and none is missed where it reports more.
    #[test]
    fn every_mark_is_reported_once() {
        for (seed, loss) in [0.0, 0.3, 0.6, 0.95].into_iter().enumerate() {
            let mut rng = Rng::named(seed as u64, "accurate ecn");
            let (mut count, mut feedback) = (Count::new(), Feedback::new());
            let (mut marked, mut reported, mut arrived, mut wrapped) = (0, 0, 0, false);
            for _ in 0..10_000 {
                let is_marked = rng.chance(0.4);
                count.came(is_marked);
                marked += u64::from(is_marked);
                arrived += 1;
                if !rng.chance(loss) {
                    wrapped |= arrived >= VALUES;
                    reported += feedback.marked(count.ace(), arrived);
                    assert!(if wrapped { reported >= marked } else { reported == marked });
                    // A wrap adds a multiple of the values.
                    assert_eq!((reported - marked) % VALUES, 0);
                    arrived = 0;
                }
            }
            assert_eq!(wrapped, loss > 0.2);
        }
    }

    #[test]
    fn a_marked_packet_behind_others_is_acknowledged_at_once() {
        let mut count = Count::new();
        let at_once = [false, true, true, false, false, true].map(|is_marked| count.came(is_marked));
        assert_eq!(at_once, [false, true, false, false, false, true]);
        assert_eq!(count.ace(), 0);
    }
}
