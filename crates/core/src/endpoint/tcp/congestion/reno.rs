//! Reno (RFC 5681, section 3.1): a segment per round trip, and half after a loss.

use super::segments::Segments;
use super::traits::{Acknowledged, CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::units::{Span, Time};
use alloc::boxed::Box;

parameters! {
    /// Parameters of Reno: none.
    #[derive(Copy)]
    pub struct RenoParams {}
}

impl PolicyParams for RenoParams {
    type Policy = Reno;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "reno",
        title: "Reno",
        role: Role::CongestionControl,
        help: "Grows the congestion window by a segment per round trip, and halves it after a loss.",
        source: "RFC 5681, section 3.1",
        params: RenoParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Reno, Refused> {
        Ok(Reno::default())
    }

    fn example() -> RenoParams {
        RenoParams {}
    }
}

/// State of Reno.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    /// Growth in whole segments; `None` for bytes.
    segments: Option<Segments>,
}

impl CongestionControl for Reno {
    fn count_segments(&mut self) -> bool {
        self.segments = Some(Segments::reno());
        true
    }

    fn measured(&mut self, _: Time, rtt: Span) {
        if let Some(segments) = &mut self.segments {
            segments.measured(rtt);
        }
    }

    fn grow(&mut self, windows: &Windows, report: &Acknowledged) -> u64 {
        match &mut self.segments {
            Some(segments) => segments.grow(windows, report),
            None if windows.is_slow_start() => windows.slow_start(report.new),
            None => self.avoid(windows, report),
        }
    }

    fn grows_beyond(&self, windows: &Windows, flight: u64) -> bool {
        self.segments.is_some() && Segments::may_double(windows, flight)
    }

    fn decrease(&mut self, _: Time, windows: &Windows, flight: u64) -> u64 {
        match &mut self.segments {
            Some(segments) => segments.decrease(windows),
            None => flight / 2,
        }
    }

    fn begin_anew(&mut self, _: Time) {
        if let Some(segments) = &mut self.segments {
            segments.begin_anew();
        }
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
