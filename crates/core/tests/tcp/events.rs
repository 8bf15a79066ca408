//! Effect of a congestion event on the windows, for any losses, delays and marks: RFC 5681,
//! sections 3.1 and 3.2, RFC 6582, RFC 6675, RFC 3168 and RFC 9438, sections 4.6 and 4.8, as bounds
//! on the values that the sender shows.

use crate::common::{pick, rounds};
use crate::path::{Call, Path, World};
use crate::properties::RECOVERY;
use crate::wire::{DATA, params};
use tidegate_core::endpoint::tcp::{Ecn, LossRecovery, Segment, TcpParams};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// A byte of a segment of 1000: windows are held in whole bytes.
const ROUNDED: f64 = 2e-3;

/// State of a connection as seen from outside.
#[derive(Debug, Default)]
struct Seen {
    /// End of the data that had been sent at the last event.
    point: u64,
    /// The window before the recovery under way.
    entered: Option<f64>,
    /// The windows before the last reduction: cwnd and ssthresh. An acknowledgement that reports a
    /// copy may first have undone the reduction before.
    reduced: Vec<(f64, f64)>,
    reduced_at: Option<Time>,
    /// Upper limit of W_est (RFC 9438, section 4.3), which may have grown faster than cwnd: cwnd when
    /// it last fell, and what acknowledgements have added.
    estimate: f64,
    losses: u64,
    marks: u64,
    timeouts: u64,
    /// Events at which half as much again as the window was in flight.
    wide: u64,
    /// Reductions in a recovery, and those undone.
    again: u64,
    undone: u64,
}

impl Seen {
    fn check(&mut self, params: &TcpParams, path: &Path, call: &Call<'_>) {
        let before = (call.before.cwnd, call.before.ssthresh);
        self.estimate += acknowledged(call) / call.before.cwnd;
        let raised = call.after.cwnd - before.0;
        let is_undone = raised > grown(call) + ROUNDED || raised > 0.0 && call.after.ssthresh != before.1;
        if params.recovery == LossRecovery::Rack && is_undone && call.came.is_some_and(is_dsack) {
            return self.check_undone(call);
        }
        self.check_event(params, path, call);
        if call.after.ssthresh != before.1 || call.after.cwnd < before.0 {
            if !call.came.is_some_and(is_dsack) {
                self.reduced.clear();
            }
            self.reduced.push(before);
            self.reduced_at = Some(call.now);
        } else if before == (2.0, 2.0) && call.after.retransmissions > call.before.retransmissions {
            // A reduction leaves the smallest windows as they are.
            self.reduced.push(before);
        }
        if call.after.cwnd < before.0 {
            self.estimate = call.after.cwnd;
        }
        if call.after.timeouts > call.before.timeouts {
            self.reduced.clear();
        }
    }

    /// A reduction that D-SACKs show to have been needless: the windows before it come back, and no
    /// more than these.
    fn check_undone(&mut self, call: &Call<'_>) {
        // The acknowledgement that showed the loss had let the window grow by a segment at most.
        let is_restored = |(cwnd, ssthresh): &(f64, f64)| {
            call.after.cwnd <= cwnd + 1.0 + ROUNDED && call.after.ssthresh == *ssthresh
        };
        assert!(self.reduced.iter().any(is_restored), "{:?} {:?}", self.reduced, call.after);
        self.reduced.clear();
        self.entered = None;
        self.undone += 1;
    }

    fn check_event(&mut self, params: &TcpParams, path: &Path, call: &Call<'_>) {
        let (before, after) = (call.before, call.after);
        let left = if params.congestion.record().name == "cubic" { 0.7 } else { 0.5 };
        let una = call.came.map_or(call.una, |came| call.una.max(came.acknowledgement));
        // The acknowledgement that shows a loss may have let the window grow.
        let grown = grown(call);
        let of_the_window = (left * (before.cwnd + grown).min(before.flight)).max(2.0) + ROUNDED;
        let inflates = matches!(params.recovery, LossRecovery::NewReno | LossRecovery::Reno1990);
        assert!(after.cwnd >= 1.0 && after.ssthresh >= 2.0, "{after:?}");
        if after.timeouts > before.timeouts {
            self.timeouts += 1;
            assert_eq!(after.cwnd, 1.0);
            // Data sent again by the timer hold ssthresh; equation 4 is an upper limit otherwise.
            let equation_4 = (left * before.flight).max(2.0) + ROUNDED;
            assert!(
                after.ssthresh == before.ssthresh || after.ssthresh <= equation_4,
                "{before:?} {after:?}"
            );
            // While losses of a window that was reduced are repaired, ssthresh stays.
            assert!(after.ssthresh <= before.ssthresh.max(of_the_window), "{before:?} {after:?}");
            (self.entered, self.point) = (None, call.max);
            return;
        }
        if after.ssthresh != before.ssthresh {
            // In the recovery of 1990 a second loss of a window of data may lower what the first
            // one left.
            let again = params.recovery == LossRecovery::Reno1990;
            let most =
                if again { before.ssthresh.min(before.cwnd).max(of_the_window) } else { of_the_window };
            assert!(after.ssthresh <= most, "{before:?} {after:?}");
            // With RACK, the loss of data sent after a reduction is another event, a round trip
            // later or more: RFC 5681, section 4.3, for retransmissions.
            let round_trip = Span::from_millis(2 * path.delay);
            let later = params.recovery == LossRecovery::Rack
                && self.reduced_at.is_none_or(|at| call.now.since(at) >= round_trip);
            self.again += u64::from(later && una < self.point);
            assert!(again || later || una >= self.point, "{before:?} {after:?}: {una} of {}", self.point);
            let is_mark = call.came.is_some_and(|came| came.echo)
                && !call.sent.iter().any(|segment| segment.sequence < call.max);
            self.marks += u64::from(is_mark);
            self.losses += u64::from(!is_mark);
            self.wide += u64::from(before.flight > 1.5 * before.cwnd);
            let inflated = if inflates && !is_mark { 3.0 } else { 0.0 };
            assert!(
                after.cwnd <= before.cwnd.min(after.ssthresh) + inflated + ROUNDED,
                "{before:?} {after:?}"
            );
            self.point = call.max;
            self.entered = (!is_mark).then_some(before.cwnd);
            return;
        }
        // A second fast retransmit in a window of data reduces nothing, and inflates.
        let again = inflates && call.sent.iter().any(|segment| segment.sequence < call.max);
        let grown = if inflates { grown.max(if again { 3.0 } else { 1.0 }) } else { grown };
        let estimate = if params.congestion.record().name == "cubic" { self.estimate } else { 0.0 };
        let most = estimate.max(before.cwnd + grown);
        assert!(after.cwnd <= most + ROUNDED, "{before:?} {after:?}, W_est {estimate}");
        let ends = una >= self.point || params.recovery == LossRecovery::Reno1990 && una > call.una;
        if let Some(entered) = self.entered.take_if(|_| ends) {
            assert!(after.cwnd <= entered + ROUNDED, "{entered} {after:?}");
        }
    }
}

/// Number of segments of new data that the call acknowledges.
fn acknowledged(call: &Call<'_>) -> f64 {
    let una = call.came.map_or(call.una, |came| call.una.max(came.acknowledgement));
    (una - call.una) as f64 / DATA as f64
}

/// The greatest growth of the window by an acknowledgement, in segments: by one, or with W_est by
/// the number of segments that it acknowledges, over cwnd (RFC 9438, section 4.3).
fn grown(call: &Call<'_>) -> f64 {
    let acked = acknowledged(call);
    if acked > 0.0 { (acked / call.before.cwnd).max(1.0) } else { 0.0 }
}

/// Returns true if the first block covers data that are acknowledged, or within the second block
/// (RFC 2883, section 4).
fn is_dsack(segment: &Segment) -> bool {
    let [first, second, ..] = segment.sack;
    first.end > first.start
        && (first.end <= segment.acknowledgement || first.start >= second.start && first.end <= second.end)
}

fn case(rng: &mut Rng) -> (TcpParams, Path) {
    let control = pick(rng, &["reno", "cubic"]);
    let recovery = pick(rng, &RECOVERY);
    let params = TcpParams {
        ecn: pick(rng, &[Ecn::On, Ecn::Off, Ecn::Off]),
        granularity: Span::from_millis(pick(rng, &[1, 100])),
        minimum_rto: Span::from_millis(pick(rng, &[100, 200, 1000])),
        delayed_acks: pick(rng, &[Span::ZERO, Span::ZERO, Span::from_millis(100)]),
        initial_window: pick(rng, &[1, 4, 10, 40]),
        receiver_window: pick(rng, &[30, 200, 2000]) * DATA as u32,
        ..params((control, recovery))
    };
    let path = Path {
        delay: pick(rng, &[1, 5, 20, 80]),
        service: pick(rng, &[50, 200, 1000]),
        queue: pick(rng, &[4, 20, 100, 400]),
        loss: pick(rng, &[0.0, 0.001, 0.01, 0.05]),
        early: pick(rng, &[0.0, 0.01, 0.1, 0.3]),
        marked: pick(rng, &[0.0, 0.01]),
        lost_acks: pick(rng, &[0.0, 0.0, 0.1]),
        late: pick(rng, &[0.0, 0.0, 0.01, 0.1]),
        lateness: pick(rng, &[3, 20, 200]),
    };
    (params, path)
}

#[test]
fn no_congestion_event_raises_the_window() {
    let mut all = Seen::default();
    for seed in 0..rounds(400) {
        let (params, path) = case(&mut Rng::named(seed, "events"));
        let mut world = World::new(&params, path, 3000, seed);
        let mut seen = Seen::default();
        world.run(20_000, |call| {
            let checked = std::panic::AssertUnwindSafe(|| seen.check(&params, &path, call));
            if let Err(panic) = std::panic::catch_unwind(checked) {
                eprintln!("seed {seed}: {params:?} {path:?}");
                std::panic::resume_unwind(panic);
            }
        });
        all.losses += seen.losses;
        all.marks += seen.marks;
        all.timeouts += seen.timeouts;
        all.wide += seen.wide;
        all.again += seen.again;
        all.undone += seen.undone;
    }
    assert!(all.losses > 3000 && all.marks > 300 && all.timeouts > 1000 && all.wide > 100, "{all:?}");
    assert!(all.again > 100 && all.undone > 30, "{all:?}");
}
