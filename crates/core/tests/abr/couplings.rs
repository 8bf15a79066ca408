//! Couplings of VS/VD against the formulas of Kalyanaraman et al. 1998, section 3.2, over random
//! cells.

use crate::common::{rate, rounds};
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::coupling::{
    ActsOn, BeforeBrm2, BuiltInCoupling, ErBound, InputRate, PerVcInput, UpdatedAt, VcRate, VsVdParams,
};
use tidegate_core::abr::erica::EricaParams;
use tidegate_core::abr::{
    BuiltInRateControl, Coupled, Feedback, PortTerms, RateControl, Source, SourceTerms, VcIx,
};
use tidegate_core::endpoint::abr::AbrParams;
use tidegate_core::packet::Mark;
use tidegate_core::params::Parameters;
use tidegate_core::rng::Rng;
use tidegate_core::stats::Count;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;
const VCS: u32 = 3;

/// All 72 couplings, and each with ER1 open.
fn couplings() -> Vec<VsVdParams> {
    let mut all = Vec::new();
    for vc_rate in [VcRate::Frm1, VcRate::Frm2, VcRate::PerVc, VcRate::Class] {
        for input_rate in [InputRate::PerVc, InputRate::Class] {
            for acts_on in [ActsOn::Previous, ActsOn::Next, ActsOn::Both] {
                for updated_at in [UpdatedAt::Frm1, UpdatedAt::Brm2, UpdatedAt::Both] {
                    for er_bound in [ErBound::Acr2, ErBound::Nothing] {
                        all.push(VsVdParams {
                            vc_rate,
                            input_rate,
                            acts_on,
                            updated_at,
                            er_bound,
                            ..VsVdParams::read(&[]).unwrap()
                        });
                    }
                }
            }
        }
    }
    assert_eq!(all.len(), 144);
    all
}

fn terms() -> SourceTerms {
    AbrParams::read(&[]).unwrap().terms(rate(LINK), 53)
}

/// Model of the port: an algorithm of its own, a source for each VC, and the four settings where
/// the paper has them.
struct Model {
    params: VsVdParams,
    algorithm: Box<dyn RateControl>,
    sources: Vec<Source>,
    table: Vec<Option<Feedback>>,
}

impl Model {
    fn new(params: VsVdParams, algorithm: &BuiltInRateControl) -> Model {
        let measures = matches!(params.vc_rate, VcRate::PerVc | VcRate::Class);
        let start = PortTerms { link: rate(LINK), start: Time::ORIGIN, measures };
        let mut algorithm = algorithm.build(&start).unwrap();
        (0..VCS).for_each(|_| algorithm.open());
        let terms = terms();
        let source = Source::new(SourceTerms { icr: terms.pcr, mcr: terms.tcr, ..terms });
        let sources = vec![source; VCS as usize];
        Model { params, algorithm, sources, table: vec![None; VCS as usize] }
    }

    /// Reports a cell at the entry to the per-VC queue, or to the class queue.
    fn cell(&mut self, now: Time, vc: VcIx, entry: InputRate) {
        if self.params.input_rate == entry {
            self.algorithm.arrived(now, Some(vc), 53);
        }
        match (self.params.vc_rate, entry) {
            (VcRate::PerVc, InputRate::PerVc) | (VcRate::Class, InputRate::Class) => {
                self.algorithm.measured(now, vc, 53);
            }
            _ => {}
        }
    }

    fn calculate(&mut self, now: Time, vc: VcIx, event: UpdatedAt) -> Option<Feedback> {
        let due = self.params.updated_at == event || self.params.updated_at == UpdatedAt::Both;
        due.then(|| {
            let feedback = self.algorithm.feedback(now, vc, Count::default());
            self.table[vc.ix()] = Some(feedback);
            feedback
        })
    }

    fn frm1(&mut self, now: Time, vc: VcIx, frm: &RmCell) -> RmCell {
        if self.params.per_vc_input == PerVcInput::Cells {
            self.cell(now, vc, InputRate::PerVc);
        }
        if self.params.vc_rate == VcRate::Frm1 {
            self.algorithm.declared(now, vc, frm);
        }
        let next = self.params.acts_on != ActsOn::Previous;
        if let Some(val) = self.calculate(now, vc, UpdatedAt::Frm1).filter(|_| next) {
            self.sources[vc.ix()].lower_to(val.er);
        }
        let returned = self.params.acts_on != ActsOn::Next;
        let val = self.table[vc.ix()].map_or_else(
            || match self.params.before_brm2 {
                _ if !returned => u64::MAX,
                BeforeBrm2::NoLimit => u64::MAX,
                BeforeBrm2::Calculated => {
                    self.algorithm.feedback(now, vc, Count::default()).er.round() as u64
                }
                BeforeBrm2::Declared => frm.ccr,
            },
            |table| table.er.round() as u64,
        );
        // ER1 = min(ER1, VAL2, ACR2)
        let mut er = frm.er;
        if returned {
            er = er.min(val);
        }
        if self.params.er_bound == ErBound::Acr2 {
            er = er.min(self.sources[vc.ix()].acr().round() as u64);
        }
        RmCell { direction: Direction::Backward, er, ..*frm }
    }

    fn brm2(&mut self, now: Time, vc: VcIx, brm: &RmCell) {
        // ER2 = min(ER2, VAL2), ACR2 = Fn(ER2, ACR2)
        let val =
            self.calculate(now, vc, UpdatedAt::Brm2).filter(|_| self.params.acts_on != ActsOn::Previous);
        let er = val.map_or(brm.er, |val| brm.er.min(val.er.round() as u64));
        self.sources[vc.ix()].answered(&RmCell { er, ..*brm });
    }

    fn frm2(&mut self, now: Time, vc: VcIx) -> RmCell {
        self.cell(now, vc, InputRate::Class);
        let frm = self.sources[vc.ix()].send_frm(now);
        if self.params.vc_rate == VcRate::Frm2 {
            self.algorithm.declared(now, vc, &frm);
        }
        frm
    }
}

/// Step and rate of each value written: ER of an answer, or CCR.
type Trace = Vec<(u64, u64)>;

/// Passes random cells to a port; returns its answers, and every ACR2.
fn trace(params: VsVdParams, seed: u64) -> Trace {
    let algorithm = BuiltInRateControl::Erica(EricaParams::read(&[]).unwrap());
    let coupling = BuiltInCoupling::VsVd(params);
    let mut port: Coupled = coupling.build(&algorithm, rate(LINK), Time::ORIGIN).unwrap();
    let mut model = Model::new(params, &algorithm);
    (0..VCS).for_each(|vc| assert_eq!(port.open(terms()), VcIx(vc)));
    let mut rng = Rng::named(seed, "coupled");
    let (mut now, mut trace) = (Time::ORIGIN, Vec::new());
    for step in 0..800 {
        now += rng.exponential(Span::from_micros(60));
        let vc = VcIx(rng.below(u64::from(VCS)) as u32);
        let cell = RmCell { ccr: rng.below(LINK), er: 100_000 + rng.below(LINK), ..RmCell::default() };
        match rng.below(10) {
            0..=2 => {
                _ = port.data(now, vc, 53, &mut { Mark::NONE });
                model.cell(now, vc, InputRate::PerVc);
            }
            3..=5 => {
                port.enter_class_queue(now, vc, 53, None);
                model.cell(now, vc, InputRate::Class);
            }
            6 | 7 => {
                let (brm, _) = port.frm(now, vc, &cell, 53, <_>::default());
                assert_eq!(brm, model.frm1(now, vc, &cell), "{params:?}, step {step}");
                trace.push((step, brm.er));
            }
            8 => {
                let mut frm = RmCell::default();
                port.enter_class_queue(now, vc, 53, Some(&mut frm));
                assert_eq!(frm, model.frm2(now, vc), "{params:?}, step {step}");
                trace.push((step, frm.ccr));
            }
            _ => {
                let brm = RmCell { direction: Direction::Backward, ..cell };
                port.brm(now, vc, &brm, Count::default());
                model.brm2(now, vc, &brm);
            }
        }
        assert_eq!(port.acr(vc), model.sources[vc.ix()].acr(), "{params:?}, step {step}");
    }
    trace
}

/// Every coupling follows its formulas. Where ER1 is at most ACR2, and VAL2 acts on ACR2, it makes
/// no difference whether VAL2 acts on ER1 as well, since ACR2 is at most VAL2: with the paper's
/// formula for ER1, "next loop only" is "both loops".
#[test]
fn every_coupling_follows_its_formulas() {
    let all: Vec<(VsVdParams, Vec<Trace>)> = couplings()
        .into_iter()
        .map(|params| (params, (0..rounds(3)).map(|seed| trace(params, seed)).collect()))
        .collect();
    let same = |params: &VsVdParams, trace: &[Trace]| {
        all.iter().filter(|(_, other)| other == trace).any(|(other, _)| other == params)
    };
    let mut pairs = 0;
    for (params, trace) in all.iter().filter(|(params, _)| params.acts_on == ActsOn::Next) {
        let both = VsVdParams { acts_on: ActsOn::Both, ..*params };
        assert_eq!(same(&both, trace), params.er_bound == ErBound::Acr2, "{params:?}");
        pairs += u32::from(params.er_bound == ErBound::Acr2);
    }
    assert_eq!(pairs, 24);
    let distinct =
        all.iter().enumerate().filter(|(at, (_, trace))| all[..*at].iter().all(|(_, other)| other != trace));
    assert!(distinct.count() > 90, "the cells hardly tell couplings apart");
}

/// The readings of what is open follow their formulas, too, and matter only where they apply: the
/// rate before the first BRM2 where the allocation is otherwise calculated there, and acts on the
/// previous loop; the RM cells of the previous loop where the input of per-VC queues is measured.
#[test]
fn readings_matter_where_they_apply() {
    let traces = |params| -> Vec<Trace> { (0..rounds(3)).map(|seed| trace(params, seed)).collect() };
    for params in couplings() {
        let usual = traces(params);
        let from_table = params.updated_at == UpdatedAt::Brm2 && params.acts_on != ActsOn::Next;
        for before_brm2 in [BeforeBrm2::Calculated, BeforeBrm2::Declared] {
            let other = traces(VsVdParams { before_brm2, ..params });
            assert_eq!(other != usual, from_table, "{before_brm2:?}: {params:?}");
        }
        let is_measured = params.input_rate == InputRate::PerVc || params.vc_rate == VcRate::PerVc;
        let other = traces(VsVdParams { per_vc_input: PerVcInput::Data, ..params });
        assert_eq!(other != usual, is_measured, "{params:?}");
    }
}

/// With a target for per-VC queues ER1 is ACR2 while the queue takes up to that time, less beyond
/// it, and never less than half; VAL2 and ER1 bound it as before.
#[test]
fn a_long_per_vc_queue_lowers_the_rate_before_it() {
    let aim = Span::from_millis(2);
    let algorithm = BuiltInRateControl::Erica(EricaParams::read(&[]).unwrap());
    let params = VsVdParams { per_vc_delay: Some(aim), ..VsVdParams::read(&[]).unwrap() };
    let mut port = BuiltInCoupling::VsVd(params).build(&algorithm, rate(LINK), Time::ORIGIN).unwrap();
    let vc = port.open(terms());
    let mut answer = |er: u64, bytes: u64| {
        let waiting = Count { packets: bytes / 53, bytes };
        let frm = RmCell { er, ..RmCell::default() };
        port.frm(Time::ORIGIN, vc, &frm, 53, (Count::default(), waiting)).0.er
    };
    let full = LINK as f64;
    let mut before = LINK;
    for bytes in (0..40_000).step_by(53) {
        let time = bytes as f64 * 8.0 / full;
        let aim = aim.as_secs_f64();
        let share = if time > aim { (1.15 * aim / (0.15 * time + aim)).max(0.5) } else { 1.0 };
        let found = answer(2 * LINK, bytes);
        assert_eq!(found, (share * full).round() as u64, "{bytes}");
        assert!(found <= before);
        before = found;
        assert_eq!(answer(1_000_000, bytes), 1_000_000);
    }
    assert_eq!(before, LINK / 2);
}

/// FRM cells of a virtual source stand in its queue as a source sends them: one before all others,
/// or behind the first, and one behind each Nrm − 1 data cells.
#[test]
fn the_next_loop_has_its_own_rm_cells() {
    let algorithm = BuiltInRateControl::Erica(EricaParams::read(&[]).unwrap());
    for (nrm, frm_first) in [(2, true), (32, true), (32, false), (256, true)] {
        let coupling = BuiltInCoupling::VsVd(VsVdParams::read(&[]).unwrap());
        let mut port = coupling.build(&algorithm, rate(LINK), Time::ORIGIN).unwrap();
        let vc = port.open(SourceTerms { nrm, ..terms() });
        let frm = RmCell { er: 1, ..RmCell::default() };
        if frm_first {
            assert!(port.frm(Time::ORIGIN, vc, &frm, 53, <_>::default()).1);
        }
        let due: Vec<u32> =
            (1..=2000).filter(|_| port.data(Time::ORIGIN, vc, 53, &mut { Mark::NONE })).collect();
        let first = if frm_first { nrm - 1 } else { 1 };
        let expected: Vec<u32> = (first..=2000).step_by(nrm as usize - 1).collect();
        assert_eq!(due, expected);
        assert!(!port.frm(Time::ORIGIN, vc, &frm, 53, <_>::default()).1);
    }
}

/// EFCI of the previous loop ends there: its source is notified, and the next loop begins without
/// EFCI.
#[test]
fn efci_ends_with_its_loop() {
    let algorithm = BuiltInRateControl::Erica(EricaParams::read(&[]).unwrap());
    let coupling = BuiltInCoupling::VsVd(VsVdParams::read(&[]).unwrap());
    let mut port = coupling.build(&algorithm, rate(LINK), Time::ORIGIN).unwrap();
    let vc = port.open(terms());
    let mut mark = Mark::NONE.congested();
    _ = port.data(Time::ORIGIN, vc, 53, &mut mark);
    assert!(!mark.is_congested());
    let frm = RmCell::default();
    assert!(port.frm(Time::ORIGIN, vc, &frm, 53, <_>::default()).0.ci);
    assert!(!port.frm(Time::ORIGIN, vc, &frm, 53, <_>::default()).0.ci);
}
