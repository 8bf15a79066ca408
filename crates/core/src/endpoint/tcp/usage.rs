//! The use of the congestion window, as Linux remembers it: a window that was full when data were
//! last sent grows with each acknowledgement until all that was sent by then is acknowledged, and
//! one in slow start to twice the most that was in flight.

/// The use of the window, by what was in flight after transmissions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// True if the window held data back.
    pub(super) is_full: bool,
    /// The most bytes in flight, if not.
    pub(super) most: u64,
    /// The byte whose acknowledgement ends what is remembered.
    end: u64,
}

impl Usage {
    /// Records a transmission, or one that the window held back: the bytes before `max` were sent,
    /// and those before `una` are acknowledged.
    pub(super) fn note(&mut self, una: u64, max: u64, is_full: bool) {
        let flight = max - una;
        if una >= self.end || is_full || (!self.is_full && flight > self.most) {
            *self = Usage { is_full, most: flight, end: max };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that was full stays so while its last data are under way, also when less is sent.
    #[test]
    fn a_full_window_is_remembered_until_its_data_are_acknowledged() {
        let mut usage = Usage::default();
        usage.note(0, 10, true);
        usage.note(4, 11, false);
        assert_eq!((usage.is_full, usage.end), (true, 10));
        usage.note(10, 13, false);
        assert_eq!((usage.is_full, usage.most, usage.end), (false, 3, 13));
        usage.note(11, 15, false);
        assert_eq!((usage.most, usage.end), (4, 15), "the most in flight");
        usage.note(12, 15, false);
        assert_eq!((usage.most, usage.end), (4, 15));
        usage.note(14, 16, true);
        assert!(usage.is_full);
    }
}
