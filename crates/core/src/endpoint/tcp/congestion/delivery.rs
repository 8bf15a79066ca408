//! The report of deliveries for controls with a model of the path: a sample of the delivery rate
//! (draft-cheng-iccrg-delivery-rate-estimation), losses, and the state of recovery.

use crate::units::{Span, Time};

/// A sample of the delivery rate: the bytes that arrived between the departure and the arrival of
/// one segment, the last one sent of those that an acknowledgement reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes that had arrived when the segment left.
    pub prior: u64,
    /// Bytes that have arrived since.
    pub bytes: u64,
    /// The longer of the times in which these bytes were sent and have arrived; above zero, and at
    /// least the least round trip.
    pub interval: Span,
    /// True if the application had no more data when the segment left: the path may be faster.
    pub is_app_limited: bool,
}

impl RateSample {
    /// The rate in bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.interval.as_secs_f64()
    }
}

/// The repair of losses that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// None.
    #[default]
    None,
    /// A recovery, by acknowledgements.
    Recovery,
    /// The repair after a timeout.
    Timeout,
}

/// The report of an acknowledgement to a control with a model of the path. Amounts are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Current time.
    pub now: Time,
    /// Bytes that have arrived in all, SACKed ones included.
    pub total: u64,
    /// Bytes that the acknowledgement reports as arrived.
    pub arrived: u64,
    /// Bytes that were found to be lost by it.
    pub lost: u64,
    /// The sample of the delivery rate; `None` without an arrival, or where the interval is below the
    /// least round trip.
    pub sample: Option<RateSample>,
    /// The round trip of the last arrival that was sent once.
    pub rtt: Option<Span>,
    /// Bytes in the network before the acknowledgement.
    pub prior_flight: u64,
    /// Bytes in the network after it.
    pub flight: u64,
    /// Repair of losses.
    pub repair: Repair,
}

/// The answer of a control with a model of the path to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The congestion window, in bytes.
    pub cwnd: u64,
    /// True if samples of the data in flight are to count as limited by the application.
    pub limits_samples: bool,
}
