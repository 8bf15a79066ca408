//! BBR against the text of draft-cardwell-iccrg-bbr-congestion-control-00: its pseudocode, written
//! out, sees what the control sees, and window and pace are compared at each acknowledgement.

use crate::bbr_oracle::{Draft, Seen, State};
use crate::common::{pick, rounds};
use crate::path::{Path, World};
use crate::wire::{DATA, params};
use std::cell::RefCell;
use tidegate_core::contract::Refused;
use tidegate_core::endpoint::tcp::congestion::{
    AnyCongestionControl, CongestionControl, CongestionControlKind, Delivery, Ruling, Windows,
};
use tidegate_core::endpoint::tcp::{LossRecovery, TcpParams};
use tidegate_core::params::{Carry, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

parameters! {
    /// Parameters of the comparison.
    pub struct BesideDraftParams {
        /// The seed of both
        seed: u32 as Integer(0, 1_000_000) = 0,
    }
}

impl PolicyParams for BesideDraftParams {
    type Policy = BesideDraft;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "bbr-beside-draft",
        title: "BBR beside its draft",
        role: Role::CongestionControl,
        help: "Compares BBR with the draft.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00",
        params: BesideDraftParams::PARAMS,
        reads: &[],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<BesideDraft, Refused> {
        let mut control = CongestionControlKind::named("bbr").unwrap().build()?;
        let random = Rng::named(self.seed.into(), "bbr beside draft");
        control.draw_from(random.clone());
        Ok(BesideDraft { control, draft: Draft::new(random) })
    }

    fn example() -> BesideDraftParams {
        BesideDraftParams { seed: 1 }
    }
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// BBR and the draft, with the same events.
#[derive(Debug)]
pub struct BesideDraft {
    control: AnyCongestionControl,
    draft: Draft,
}

impl BesideDraft {
    fn compare(&self, windows: &Windows, cwnd: u64) {
        assert_eq!(cwnd as f64, self.draft.cwnd, "{:#?}", self.draft);
        let pause = self.control.interval(windows, 1 << 24).unwrap().as_secs_f64();
        let pace = (1u64 << 24) as f64 / pause;
        assert!((pace / self.draft.pacing_rate - 1.0).abs() < 1e-6, "{pace} {:#?}", self.draft);
    }

    fn learn(&mut self, windows: &Windows) {
        (self.draft.smss, self.draft.cwnd) = (windows.mss as f64, windows.cwnd as f64);
    }
}

impl Drop for BesideDraft {
    fn drop(&mut self) {
        SEEN.with_borrow_mut(|seen| seen.push(self.draft.seen));
    }
}

impl CongestionControl for BesideDraft {
    fn has_model(&self) -> bool {
        true
    }

    fn begin(&mut self, now: Time, windows: &Windows, srtt: Option<Span>) {
        self.learn(windows);
        self.draft.bbr_init(now, srtt);
        self.control.begin(now, windows, srtt);
        self.compare(windows, windows.cwnd);
    }

    fn resumed(&mut self, now: Time, windows: &Windows) -> u64 {
        self.learn(windows);
        self.draft.handle_restart_from_idle(now);
        let cwnd = self.control.resumed(now, windows);
        self.compare(windows, cwnd);
        cwnd
    }

    fn delivered(&mut self, windows: &Windows, delivery: &Delivery) -> Ruling {
        self.learn(windows);
        self.draft.update_on_ack(delivery);
        let ruling = self.control.delivered(windows, delivery);
        assert_eq!(ruling.limits_samples, self.draft.app_limits);
        self.compare(windows, ruling.cwnd);
        ruling
    }

    fn decrease(&mut self, now: Time, windows: &Windows, flight: u64) -> u64 {
        self.learn(windows);
        self.draft.prior_cwnd = self.draft.save_cwnd();
        self.control.decrease(now, windows, flight)
    }

    fn interval(&self, windows: &Windows, bytes: u64) -> Option<Span> {
        self.control.interval(windows, bytes)
    }

    fn begin_anew(&mut self, now: Time) {
        self.draft.on_rto();
        self.control.begin_anew(now);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        let (control, draft) = (self.control.clone(), self.draft.clone());
        Box::new(BesideDraft { control, draft })
    }
}

/// A path of random faults: of none or of all kinds.
fn path(rng: &mut Rng) -> Path {
    Path {
        delay: pick(rng, &[1, 5, 20, 60]),
        service: pick(rng, &[100, 300, 1000, 5000]),
        queue: pick(rng, &[5, 20, 60, 1000]),
        loss: pick(rng, &[0.0, 0.0, 0.003, 0.05, 0.2]),
        early: pick(rng, &[0.0, 0.0, 0.1]),
        marked: 0.0,
        lost_acks: pick(rng, &[0.0, 0.3, 0.8]),
        late: pick(rng, &[0.0, 0.0, 0.02]),
        lateness: 20,
    }
}

#[test]
fn window_and_pace_are_those_of_the_draft() {
    let mut rng = Rng::named(1, "bbr paths");
    SEEN.with_borrow_mut(Vec::clear);
    for seed in 0..rounds(15) as u32 {
        let params = TcpParams {
            congestion: CongestionControlKind::outside(BesideDraftParams { seed }),
            initial_window: pick(&mut rng, &[2, 10]),
            receiver_window: pick(&mut rng, &[30, 10_000]) * DATA as u32,
            delayed_acks: pick(&mut rng, &[Span::ZERO, Span::from_millis(40)]),
            ..params(("bbr", LossRecovery::Rack))
        };
        let segments = pick(&mut rng, &[200, u64::MAX]);
        let mut world = World::new(&params, path(&mut rng), segments, seed.into());
        for second in 1..=24 {
            world.run(1000 * second, |_| {});
            if segments < u64::MAX {
                world.offer_at(1000 * second, 1 + rng.below(400));
            }
        }
    }
    // Each kind of event was among them.
    let seen = SEEN.with_borrow(Clone::clone);
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let least = [
        sum(|seen| *seen.states.iter().min().unwrap()),
        sum(|seen| seen.states[State::Drain as usize]),
        sum(|seen| seen.states[State::ProbeRtt as usize]),
        sum(|seen| seen.conserved),
        sum(|seen| seen.restored),
        sum(|seen| seen.timeouts),
        sum(|seen| seen.idle),
        sum(|seen| seen.limited),
        sum(|seen| seen.aggregated),
    ];
    println!("{least:?}");
    assert!(least.iter().all(|count| *count >= 100), "{least:?}");
    let mut phases = [0; 8];
    for one in &seen {
        phases.iter_mut().zip(one.phases).for_each(|(sum, count)| *sum += count);
    }
    assert!(phases.iter().all(|count| *count > 1000), "{phases:?}");
}
