//! CUBIC against the text of RFC 9438: a model in floating point, written from section 4, sees the
//! same acknowledgements, losses, marks and timeouts as the sender, and their windows are compared
//! at each acknowledgement.

use crate::common::{pick, rounds};
use crate::path::{Call, Path, World};
use crate::wire::{CUBIC, DATA, params};
use tidegate_core::endpoint::tcp::{Ecn, TcpParams};
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;

/// The sender holds its window in whole bytes.
const CLOSE: f64 = 0.003;

/// α_cubic (section 4.3).
const ALPHA: f64 = 3.0 * 0.3 / 1.7;

/// The variables of section 4.1.2, in segments and seconds.
#[derive(Debug)]
struct Rfc {
    cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    cwnd_prior: f64,
    /// True if the next stage begins with K = 0 (sections 4.8 and 4.10).
    afresh: bool,
    stage: Option<Stage>,
    /// Acknowledgements in the concave, the convex and the Reno-friendly region.
    concave: u64,
    convex: u64,
    friendly: u64,
    converged: u64,
    /// True if a window was so close to W_max that a byte would decide on fast convergence.
    undecided: bool,
}

#[derive(Debug)]
struct Stage {
    t_epoch: f64,
    k: f64,
    w_est: f64,
}

impl Rfc {
    /// Sections 4.2 to 4.5 and 4.10: an acknowledgement of `acked` segments.
    fn acknowledged(&mut self, now: f64, srtt: f64, acked: f64) {
        let cwnd = self.cwnd;
        if cwnd < self.ssthresh {
            self.cwnd += acked.min(1.0);
            return;
        }
        if self.stage.is_none() {
            if self.afresh {
                self.w_max = cwnd;
            }
            // Figure 2.
            let k = ((self.w_max - cwnd) / 0.4).cbrt();
            self.stage = Some(Stage { t_epoch: now, k, w_est: cwnd });
            self.afresh = false;
        }
        let w_max = self.w_max;
        let stage = self.stage.as_mut().unwrap();
        // Figure 1.
        let w_cubic = |t: f64| 0.4 * (t - stage.k).powi(3) + w_max;
        let t = now - stage.t_epoch;
        // Figure 4: α_cubic is 3 (1 - β) / (1 + β) until W_est has reached cwnd_prior.
        let alpha = if stage.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        stage.w_est += alpha * acked / cwnd;
        if w_cubic(t) < stage.w_est {
            self.friendly += 1;
            self.cwnd = stage.w_est.max(cwnd);
        } else {
            let ahead = w_cubic(t + srtt);
            let target = if ahead < cwnd {
                cwnd
            } else if ahead > 1.5 * cwnd {
                1.5 * cwnd
            } else {
                ahead
            };
            *(if cwnd < w_max { &mut self.concave } else { &mut self.convex }) += 1;
            self.cwnd += (target - cwnd) / cwnd;
        }
    }

    /// Sections 4.6 and 4.7.
    fn decrease(&mut self, flight: f64) -> f64 {
        self.converged += u64::from(self.cwnd < self.w_max);
        self.undecided |= (self.cwnd / self.w_max - 1.0).abs() < CLOSE;
        self.w_max = if self.cwnd < self.w_max { self.cwnd * 1.7 / 2.0 } else { self.cwnd };
        self.cwnd_prior = self.cwnd;
        (self.stage, self.afresh) = (None, false);
        0.7 * flight
    }

    fn loss(&mut self, flight: f64) {
        self.ssthresh = self.decrease(flight.min(self.cwnd)).max(2.0);
        self.cwnd = self.ssthresh;
    }

    fn mark(&mut self, flight: f64) {
        let left = self.decrease(flight.min(self.cwnd));
        (self.cwnd, self.ssthresh) = (left.max(1.0), left.max(2.0));
    }

    /// Section 4.8; while losses of a window that was reduced are repaired, ssthresh stays.
    fn timeout(&mut self, flight: f64, repairs: bool) {
        let left = self.decrease(if repairs { flight } else { flight.min(self.cwnd) }).max(2.0);
        self.ssthresh = if repairs { left.min(self.ssthresh) } else { left };
        self.cwnd = 1.0;
        // W_max is that of the window where congestion avoidance begins.
        (self.afresh, self.w_max) = (true, 0.0);
    }
}

/// A connection with endless data on a path without a queue, so that it is always the window that
/// limits it.
#[derive(Debug)]
struct Watch {
    rfc: Rfc,
    /// End of the data at the last event, and at the beginning of the recovery under way.
    point: u64,
    recover: u64,
    recovering: bool,
    /// New segments sent at duplicates, which FlightSize does not count (RFC 5681, section 3.2,
    /// step 1).
    limited: f64,
    compared: u64,
    worst: f64,
}

impl Watch {
    fn see(&mut self, call: &Call<'_>) {
        if self.rfc.undecided {
            return;
        }
        let (before, after) = (call.before, call.after);
        let seconds = call.now.since(Time::ORIGIN).as_secs_f64();
        let Some(came) = call.came else {
            if after.timeouts > before.timeouts {
                self.rfc.timeout(before.flight, call.una < self.point);
                (self.recovering, self.recover, self.point) = (false, call.max, call.max);
            }
            return self.compare(call);
        };
        let una = call.una.max(came.acknowledgement);
        let new = una - call.una;
        // After a timeout all is sent again, and none of it is a recovery.
        let again = una >= self.recover && call.sent.iter().any(|segment| segment.sequence < call.max);
        if self.recovering {
            self.recovering = una < self.recover;
        } else {
            // Losses and marks of one window of data reduce it once (RFC 3168, section 6.1.2).
            if came.echo && una > self.point {
                self.rfc.mark(before.flight);
                self.point = call.max;
            } else if again && una >= self.point {
                self.rfc.loss(before.flight - self.limited);
                self.point = call.max;
            } else if new > 0 && !came.echo {
                self.rfc.acknowledged(seconds, after.srtt, new as f64 / DATA as f64);
            }
            if again {
                (self.recovering, self.recover) = (true, call.max);
            }
        }
        let limited = call.sent.iter().filter(|segment| segment.sequence >= call.max).count() as f64;
        self.limited = if new > 0 || self.recovering { 0.0 } else { self.limited + limited };
        self.compare(call);
    }

    fn compare(&mut self, call: &Call<'_>) {
        if self.rfc.undecided {
            return;
        }
        let error = (call.after.cwnd / self.rfc.cwnd - 1.0).abs();
        // Besides, one acknowledgement may count with the other α, where W_est has just reached
        // cwnd_prior.
        let other = (1.0 - ALPHA) / (self.rfc.cwnd * self.rfc.cwnd);
        assert!(error < CLOSE + other, "{:?} of {:?} at {:?}", call.after, self.rfc, call.now);
        self.worst = self.worst.max(error);
        self.compared += 1;
    }
}

#[test]
fn the_window_is_that_of_rfc_9438() {
    let (mut regions, mut converged) = ([0; 3], 0);
    for seed in 0..rounds(40) {
        let mut rng = Rng::named(seed, "RFC 9438");
        let ecn = pick(&mut rng, &[Ecn::On, Ecn::Off]);
        let params = TcpParams { ecn, receiver_window: 20_000_000, ..params(CUBIC) };
        // A service of 1 µs and a queue without limit: nothing waits, and all are dropped or marked
        // by chance.
        let path = Path {
            delay: pick(&mut rng, &[2, 5, 50, 100]),
            service: 1,
            queue: u64::MAX,
            loss: pick(&mut rng, &[1e-4, 1e-3, 5e-3]),
            marked: 2e-3,
            early: 0.0,
            lost_acks: 0.0,
            late: 0.0,
            lateness: 1,
        };
        let mut world = World::new(&params, path, u64::MAX, seed);
        let rfc = Rfc {
            cwnd: 8.0,
            ssthresh: 20_000.0,
            w_max: 0.0,
            cwnd_prior: 0.0,
            afresh: true,
            stage: None,
            concave: 0,
            convex: 0,
            friendly: 0,
            converged: 0,
            undecided: false,
        };
        let mut watch =
            Watch { rfc, point: 0, recover: 0, recovering: false, limited: 0.0, compared: 0, worst: 0.0 };
        world.run(if path.delay > 20 { 40_000 } else { 4_000 }, |call| watch.see(call));
        for (all, one) in regions.iter_mut().zip([watch.rfc.concave, watch.rfc.convex, watch.rfc.friendly]) {
            *all += one;
        }
        converged += watch.rfc.converged;
    }
    assert!(regions.iter().all(|region| *region > 2000) && converged > 20, "{regions:?} {converged}");
}
