//! The time at which data are acknowledged: at once, with the second segment (RFC 5681, section 4.2),
//! or, in Linux, for several segments behind a gap together (`tcp_comp_sack_delay_ns`).

use crate::endpoint::tcp::params::{PushAcks, TcpParams};
use crate::units::{Span, Time};

/// Acknowledgements of segments behind one gap that are not held back.
const DUPLICATES: u32 = 3;
/// The most segments behind a gap that wait for an acknowledgement.
const MAX_HELD: u32 = 44;
/// Time by which Linux's timer for them expires later (`tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_micros(100);
/// The retransmission timeout of a receiver that has not measured a round trip.
const UNMEASURED: Span = Span::from_secs(1);

/// Acknowledgements that wait, and those that must not.
#[derive(Debug)]
pub(super) struct Acks {
    /// The longest time for which an acknowledgement may be delayed; 0 for no delay.
    delay: Span,
    /// The longest time for which those of data behind a gap are held back.
    compression: Span,
    /// True if the end of what the application has written is acknowledged at once.
    answers_push: bool,
    /// The most acknowledgements in a row that are not delayed.
    max_quick: u32,
    /// Acknowledgements from now on that are not delayed.
    quick: u32,
    /// In-order segments not acknowledged yet.
    waiting: u32,
    /// Segments behind the gap before this byte: those acknowledged at once, and those held back.
    gap: u64,
    at_once: u32,
    held: u32,
    /// The latest time at which what waits is acknowledged.
    due: Time,
    /// Time of the last segment in order.
    last: Option<Time>,
    /// Time of the answer that opened the connection, and the round trip that it measured.
    answered: Option<Time>,
    measured: Option<Span>,
    minimum_rto: Span,
}

impl Acks {
    pub(super) fn new(params: &TcpParams) -> Acks {
        Acks {
            delay: params.delayed_acks,
            compression: params.compressed_sacks,
            answers_push: params.push_acks == PushAcks::On,
            max_quick: params.quick_acks,
            quick: 0,
            waiting: 0,
            gap: 0,
            at_once: 0,
            held: 0,
            due: Time::NEVER,
            last: None,
            answered: None,
            measured: None,
            minimum_rto: params.minimum_rto,
        }
    }

    /// The time at which what waits is acknowledged.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Returns true if in-order data wait for their acknowledgement.
    pub(super) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Returns true if an acknowledgement of data behind a gap is held back.
    pub(super) fn holds(&self) -> bool {
        self.held > 0
    }

    /// Records the answer that opened the connection.
    pub(super) fn opened(&mut self, now: Time) {
        self.answered = Some(now);
    }

    /// Does not delay the next `count` acknowledgements, as far as quick ones are on.
    pub(super) fn hurry(&mut self, count: u32) {
        self.quick = self.quick.max(count.min(self.max_quick));
    }

    /// Returns true if quick acknowledgements are on.
    pub(super) fn can_hurry(&self) -> bool {
        self.max_quick > 0
    }

    /// Does not delay the acknowledgement of a segment that opened the window: Linux sets a bit.
    pub(super) fn hurry_one(&mut self) {
        self.quick |= 1;
    }

    /// Records a segment in order. Returns true if acknowledgements are not delayed from now on: it
    /// is the first, or comes after a gap of more than the timeout.
    pub(super) fn begins(&mut self, now: Time) -> bool {
        let Some(last) = self.last.replace(now) else {
            self.measured = self.answered.map(|answered| now.since(answered));
            return true;
        };
        let timeout = match self.measured {
            Some(measured) => measured + (measured + measured).max(self.minimum_rto),
            None => UNMEASURED,
        };
        now.since(last) > timeout
    }

    /// Returns true if a segment is acknowledged at once whatever it is, with PSH or without.
    pub(super) fn is_urgent(&self, pushes: bool) -> bool {
        self.delay == Span::ZERO || self.quick > 0 || (pushes && self.answers_push)
    }

    /// Counts a segment in order. Returns true if it is the second that waits.
    pub(super) fn is_second(&mut self) -> bool {
        self.waiting += 1;
        self.waiting >= 2
    }

    /// Delays the acknowledgement of a segment in order.
    pub(super) fn delay(&mut self, now: Time) {
        self.due = self.due.min(now + self.delay);
    }

    /// Returns true if a segment is acknowledged at once though data are missing, from `next` on;
    /// else it is held back, for at most a twentieth of the round trip.
    pub(super) fn is_duplicate(&mut self, now: Time, next: u64, round_trip: Option<Span>) -> bool {
        let known = round_trip.into_iter().chain(self.measured).min();
        let Some(round_trip) = known.filter(|_| self.compression > Span::ZERO) else { return true };
        if self.held >= MAX_HELD {
            return true;
        }
        if self.gap != next {
            (self.gap, self.at_once) = (next, 0);
        }
        if self.at_once < DUPLICATES {
            self.at_once += 1;
            return true;
        }
        if self.held == 0 {
            let wait = Span::from_ticks(round_trip.ticks() / 20).min(self.compression);
            self.due = self.due.min(now + wait + SLACK);
        }
        self.held += 1;
        false
    }

    /// Records that an acknowledgement was sent.
    pub(super) fn sent(&mut self) {
        self.quick = self.quick.saturating_sub(1);
        (self.waiting, self.held, self.due) = (0, 0, Time::NEVER);
    }
}
