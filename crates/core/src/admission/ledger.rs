//! One link's book of reservations.

use super::FlowSpec;
use crate::units::{Span, Time};
use alloc::collections::{BTreeMap, BinaryHeap};
use core::cmp::Reverse;
use core::fmt;

/// A flow's name in the books, never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub u64);

/// The reservations that a link may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Bits per second that may be reserved: the link's rate less the rate that is always kept
    /// aside for datagrams (section 2.3).
    //= zhang1991 2.3
    pub reservable: u64,
    /// The longest average interval that a flow may ask for; `None` for any.
    pub longest_interval: Option<Span>,
}

/// Reason for which a link refuses a request; the ledger stays unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request exceeds the rate left, in bit/s.
    TooMuch {
        /// Requested rate.
        asked: u64,
        /// Rate left for this flow.
        left: u64,
        /// Rate that the link may promise in all.
        reservable: u64,
    },
    /// The average interval is shorter than 1/AR.
    IntervalTooShort {
        /// The shortest interval.
        least: Span,
    },
    /// The average interval is longer than the link allows.
    IntervalTooLong {
        /// The longest interval.
        most: Span,
    },
    /// The flow's request before this one is still under way.
    UnderWay,
    /// The flow was torn down, or never set up here.
    Unknown,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooMuch { asked, left, reservable } => {
                write!(f, "{asked} bit/s asked for, {left} of {reservable} bit/s left")
            }
            Refusal::IntervalTooShort { least } => {
                write!(f, "the average interval is shorter than a packet's time, {} s", least.as_secs_f64())
            }
            Refusal::IntervalTooLong { most } => {
                write!(f, "the average interval is longer than {} s", most.as_secs_f64())
            }
            Refusal::UnderWay => f.write_str("the request before is still under way"),
            Refusal::Unknown => f.write_str("the flow is not set up here"),
        }
    }
}

/// Reservation of a flow at a link: the promised one, and the pending request.
#[derive(Clone, Copy, Debug)]
struct Booking {
    granted: Option<FlowSpec>,
    asked: Option<FlowSpec>,
}

impl Booking {
    /// Booked rate in bit/s: the greater of the promise and the request.
    fn booked(&self) -> u64 {
        let rate = |spec: Option<FlowSpec>| spec.map_or(0, |spec| spec.rate);
        //= zhang1991 2.1
        rate(self.granted).max(rate(self.asked))
    }
}

/// The capacity of a link that the stamps of packets claim. A rate that is given back is free when
/// real time has passed the last stamp that was given at it, or when nothing waits at the link:
/// before that it would be reserved twice ([`bounds`](crate::bounds)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// Stamps up to this time claim nothing any more: real time, or [`Time::NEVER`] when no packet
    /// waits.
    pub passed: Time,
    /// The latest stamp of the flow at hand.
    pub latest: Time,
}

impl Stamps {
    /// No packet has been stamped.
    pub const NONE: Stamps = Stamps { passed: Time::NEVER, latest: Time::from_ticks(0) };
}

/// One link's reservations. A request is booked when it passes and promised when it is confirmed;
/// until then it is booked beside the previous promise, so that neither outcome can fail.
#[derive(Clone, Debug)]
pub struct Ledger {
    policy: Policy,
    /// Bits per second that may be reserved now.
    reservable: u64,
    booked: u64,
    bookings: BTreeMap<FlowId, Booking>,
    /// Rates that were given back, in bit/s, by the time at which they are free.
    claimed: BinaryHeap<Reverse<(Time, u64)>>,
    /// Sum of these rates.
    claimed_sum: u64,
}

impl Ledger {
    /// An empty book.
    pub fn new(policy: Policy) -> Ledger {
        let (bookings, claimed) = (BTreeMap::new(), BinaryHeap::new());
        Ledger { policy, reservable: policy.reservable, booked: 0, bookings, claimed, claimed_sum: 0 }
    }

    /// The reservations that the link may accept.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Rate requested or promised, in bit/s: at most the reservable rate.
    pub fn booked(&self) -> u64 {
        self.booked
    }

    /// Rate given back and still claimed by stamps, in bit/s; together with the booked rate, at
    /// most the reservable rate.
    pub fn claimed(&self) -> u64 {
        self.claimed_sum
    }

    /// Bits per second that are neither booked nor claimed.
    pub fn left(&self) -> u64 {
        self.reservable.saturating_sub(self.booked + self.claimed_sum)
    }

    /// Lets the link accept reservations of at most this rate from now on, in bit/s, and of at most
    /// that of its policy. What is booked stays, also when it is more.
    //= zhang1991 2.3
    pub fn limit(&mut self, reservable: u64) {
        self.reservable = reservable.min(self.policy.reservable);
    }

    /// Frees the rates that were given back and are no longer claimed by a stamp.
    pub fn expire(&mut self, passed: Time) {
        while let Some(Reverse((latest, rate))) = self.claimed.peek().copied()
            && latest <= passed
        {
            self.claimed.pop();
            self.claimed_sum -= rate;
        }
    }

    /// The reservation granted to a flow.
    pub fn granted(&self, flow: FlowId) -> Option<FlowSpec> {
        self.bookings.get(&flow)?.granted
    }

    /// Number of flows that have a booking.
    pub fn flows(&self) -> usize {
        self.bookings.len()
    }

    /// Books a newcomer's request.
    ///
    /// # Errors
    /// When the link refuses it; the ledger then stays unchanged.
    pub fn set_up(&mut self, flow: FlowId, spec: FlowSpec) -> Result<(), Refusal> {
        if self.bookings.contains_key(&flow) {
            return Err(Refusal::UnderWay);
        }
        self.book(flow, Booking { granted: None, asked: None }, spec)
    }

    /// Books a change of a flow's reservation.
    ///
    /// # Errors
    /// When the link refuses it; the ledger then stays unchanged.
    pub fn change(&mut self, flow: FlowId, spec: FlowSpec) -> Result<(), Refusal> {
        match self.bookings.get(&flow) {
            Some(booking) if booking.asked.is_some() => Err(Refusal::UnderWay),
            Some(booking) => self.book(flow, *booking, spec),
            None => Err(Refusal::Unknown),
        }
    }

    fn book(&mut self, flow: FlowId, before: Booking, spec: FlowSpec) -> Result<(), Refusal> {
        if let Some(interval) = spec.interval {
            let least = spec.shortest_interval();
            //= zhang1991 2.2
            if interval < least {
                return Err(Refusal::IntervalTooShort { least });
            }
            //= zhang1991 2.2
            if let Some(most) = self.policy.longest_interval.filter(|most| interval > *most) {
                return Err(Refusal::IntervalTooLong { most });
            }
        }
        let after = Booking { asked: Some(spec), ..before };
        let reservable = self.reservable;
        let left = reservable.saturating_sub(self.booked - before.booked() + self.claimed_sum);
        //= zhang1991 2.1
        if after.booked() > left.max(before.booked()) {
            return Err(Refusal::TooMuch { asked: spec.rate, left, reservable });
        }
        self.put(flow, after);
        Ok(())
    }

    /// Grants the pending request from now on; a reservation that the flow gives up is free when
    /// its stamps have passed. Does nothing without a pending request.
    pub fn confirm(&mut self, flow: FlowId, stamps: Stamps) -> Option<FlowSpec> {
        let before = *self.bookings.get(&flow)?;
        let asked = before.asked?;
        self.put(flow, Booking { granted: Some(asked), asked: None });
        self.give_back(before.booked() - asked.rate, stamps);
        Some(asked)
    }

    /// Withdraws the pending request; the previous reservation stays. Does nothing without a
    /// pending request.
    pub fn withdraw(&mut self, flow: FlowId) {
        let Some(Booking { granted, asked: Some(_) }) = self.bookings.get(&flow).copied() else { return };
        match granted {
            Some(_) => self.put(flow, Booking { granted, asked: None }),
            // No packet was stamped without a promise.
            None => _ = self.tear_down(flow, Stamps::NONE),
        }
    }

    /// Gives back a flow's reservation at this link, which is free when the flow's stamps have
    /// passed. Returns true if it had one.
    pub fn tear_down(&mut self, flow: FlowId, stamps: Stamps) -> bool {
        let Some(booking) = self.bookings.remove(&flow) else { return false };
        self.booked -= booking.booked();
        self.give_back(booking.granted.map_or(0, |granted| granted.rate), stamps);
        true
    }

    fn give_back(&mut self, rate: u64, stamps: Stamps) {
        if rate > 0 && stamps.latest > stamps.passed {
            self.claimed.push(Reverse((stamps.latest, rate)));
            self.claimed_sum += rate;
        }
    }

    fn put(&mut self, flow: FlowId, booking: Booking) {
        let before = self.bookings.insert(flow, booking).map_or(0, |before| before.booked());
        self.booked = self.booked - before + booking.booked();
    }
}
