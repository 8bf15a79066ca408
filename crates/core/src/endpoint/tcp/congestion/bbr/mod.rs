//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), with what Linux 6.1 documents
//! beyond it: a pace of 99 % of the bandwidth, and room for acknowledgements that come together.
//!
//! Its model of the path is the greatest delivery rate of ten rounds and the least round trip of ten
//! seconds. Their product (BDP) is what the path holds.
//!
//! ```text
//! Startup     pace and window of 2 / ln 2 times the model, until three rounds bring no 25 % more
//! Drain       the inverse pace, until no more than the BDP is in flight
//! ProbeBw     pace of 5/4, 3/4 and six times 1, a least round trip each; window of two BDP
//! ProbeRtt    every ten seconds without a lesser round trip, four segments for 200 ms
//! ```
//!
//! Names of states and of their conditions are the draft's. What is left out stands on the page
//! `docs/transports/tcp.md`.

mod filters;
mod state;

use super::delivery::{Delivery, Ruling};
use super::traits::{CongestionControl, Windows};
use crate::contract::Refused;
use crate::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use crate::rng::Rng;
use crate::units::{Span, TICKS_PER_SECOND, Time};
use alloc::boxed::Box;
use state::State;

parameters! {
    /// Parameters of BBR: none.
    #[derive(Copy)]
    pub struct BbrParams {}
}

impl PolicyParams for BbrParams {
    type Policy = Bbr;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "bbr",
        title: "BBR, version 1",
        role: Role::CongestionControl,
        help: "Paces data at the greatest rate at which they arrived lately, and has in flight twice what the path \
               holds at the least round trip; neither a loss nor a mark reduces that rate. It needs \
               `recovery = \"rack\"`.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; draft-cheng-iccrg-delivery-rate-estimation-02",
        params: BbrParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<Bbr, Refused> {
        Ok(Bbr { state: State::new(Rng::named(0, "bbr")) })
    }

    fn example() -> BbrParams {
        BbrParams {}
    }
}

/// BBR of a connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: State,
}

impl CongestionControl for Bbr {
    fn count_segments(&mut self) -> bool {
        true
    }

    fn has_model(&self) -> bool {
        true
    }

    fn draw_from(&mut self, rng: Rng) {
        self.state = State::new(rng);
    }

    fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        self.state.begin(now, windows, srtt);
    }

    fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        self.state.resumed(now, windows)
    }

    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        self.state.delivered(windows, delivery)
    }

    fn decrease(&mut self, _: Time, windows: &Windows, _: u64) -> u64 {
        self.state.save(windows.cwnd);
        windows.ssthresh
    }

    fn interval(&self, _: &Windows, bytes: u64) -> Option<Span> {
        let ticks = bytes as f64 / self.state.pacing_rate() * TICKS_PER_SECOND as f64;
        Some(Span::from_ticks(libm::round(ticks) as u64))
    }

    fn begin_anew(&mut self, _: Time) {
        self.state.timed_out();
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.state.gauges(show);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
