//! DCTCP (RFC 8257, section 3.3): the share of data that were marked, in each window of data.

use super::reno::Reno;
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{Carry, MarkResponse, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::units::{Span, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of DCTCP: none.
    #[derive(Copy)]
    pub struct DctcpParams {}
}

impl PolicyParams for DctcpParams {
    type Policy = Dctcp;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "dctcp",
        title: "DCTCP",
        role: Role::CongestionControl,
        help: "As Reno, but marks take the share of half the window that was marked.",
        source: "RFC 8257",
        params: DctcpParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Dctcp, Refused> {
        Ok(Dctcp { reno: Reno::default(), share: Share::new() })
    }

    fn example() -> DctcpParams {
        DctcpParams {}
    }

    fn mark_response(&self) -> MarkResponse {
        MarkResponse::Share
    }
}

/// State of DCTCP besides the windows.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    share: Share,
}

impl CongestionControl for Dctcp {
    fn count_segments(&mut self) -> bool {
        self.reno.count_segments()
    }

    fn arrived(&mut self, report: &Acknowledged) {
        let Acknowledged { una, max, delivered, marked, .. } = *report;
        self.share.acknowledged(una, max, delivered, marked);
    }

    fn measured(&mut self, now: Time, rtt: Span) {
        self.reno.measured(now, rtt);
    }

    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        self.reno.grow(windows, report)
    }

    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        self.reno.grows_beyond(windows, flight)
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.reno.decrease(now, windows, flight)
    }

    fn decrease_marked(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.reno.decrease(now, windows, flight);
        self.share.left(windows.cwnd / windows.mss) * windows.mss
    }

    fn begin_anew(&mut self, now: Time) {
        self.reno.begin_anew(now);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// The weight of a new window in the average: 2⁻⁴, g of the RFC.
const SHIFT: u32 = 4;
/// A share of one, in the whole numbers of the average.
const ONE: u64 = 1024;

/// The average share of marked data.
#[derive(Clone, Debug)]
struct Share {
    /// DCTCP.Alpha, of [`ONE`].
    alpha: u64,
    /// The window of data ends when the bytes before this one are acknowledged (DCTCP.WindowEnd).
    end: u64,
    /// Segments that have arrived since the window began, and those reported with a mark.
    delivered: u64,
    marked: u64,
}

impl Share {
    /// The share is one before anything is known.
    fn new() -> Share {
        Share { alpha: ONE, end: 0, delivered: 0, marked: 0 }
    }

    /// Processes an acknowledgement of the bytes before `una`, by which `delivered` segments have
    /// arrived and `marked` were marked; the bytes before `max` were sent.
    fn acknowledged(&mut self, una: u64, max: u64, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked;
        if una < self.end {
            return;
        }
        let forgotten = self.alpha >> SHIFT;
        self.alpha -= if forgotten == 0 { self.alpha } else { forgotten };
        if self.marked > 0 {
            let share = (self.marked << (ONE.ilog2() - SHIFT)) / self.delivered.max(1);
            self.alpha = (self.alpha + share).min(ONE);
        }
        (self.end, self.delivered, self.marked) = (max, 0, 0);
    }

    /// Returns what a mark leaves of a window of `cwnd`.
    fn left(&self, cwnd: u64) -> u64 {
        cwnd - cwnd * self.alpha / (2 * ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The average of windows of which a quarter is marked comes to a quarter, and a mark takes an
    /// eighth. It comes to zero without marks. Whole numbers round the average up by less than 16.
    #[test]
    fn the_average_follows_the_share_of_marks() {
        let mut share = Share::new();
        assert_eq!(share.left(100), 50);
        let window = |share: &mut Share, round: u64, marks: u64| {
            (1..=100).for_each(|nth| {
                share.acknowledged(100 * round + nth, 100 * round + 100 + nth, 1, u64::from(nth <= marks));
            });
        };
        (0..100).for_each(|round| window(&mut share, round, 25));
        assert!((256..272).contains(&share.alpha), "{}", share.alpha);
        assert_eq!(share.left(1000), 1000 - 1000 * share.alpha / 2048);
        (100..300).for_each(|round| window(&mut share, round, 0));
        assert_eq!((share.alpha, share.left(1000)), (0, 1000));
    }
}
