//! Rules of a source and a destination (ATM TM 4.0, sections 5.10.4 and 5.10.5), over random
//! answers.

use crate::common::{rate, rounds};
use tidegate_core::abr::cell::{Direction, RmCell};
use tidegate_core::abr::{Destination, Source, SourceTerms};
use tidegate_core::endpoint::abr::AbrParams;
use tidegate_core::endpoint::{Action, BuiltInTransport, EndpointSetup, HostCx, Payload, TransportKind};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::Parameters;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

const LINK: u64 = 10_000_000;

fn drawn(rng: &mut Rng) -> AbrParams {
    let bits = |rng: &mut Rng, below: u64| Rate::from_bits_per_second(1 + rng.below(below));
    let pcr = 1_000_000 + rng.below(LINK - 1_000_000);
    let icr = 100_000 + rng.below(pcr - 100_000);
    AbrParams {
        pcr: Rate::from_bits_per_second(pcr),
        icr: Rate::from_bits_per_second(icr),
        mcr: if rng.chance(0.5) { bits(rng, icr) } else { None },
        rif: rng.unit(),
        rdf: rng.unit(),
        cdf: rng.unit(),
        nrm: 2 + rng.below(60) as u32,
        mrm: 2 + rng.below(4) as u32,
        trm: Span::from_millis(1 + rng.below(100)),
        crm: 1 + rng.below(40) as u32,
        adtf: Span::from_millis(10 + rng.below(500)),
        ..AbrParams::read(&[]).unwrap()
    }
}

/// A cell that was sent: time, bytes, true for an FRM cell, and true if in rate.
type Sent = (Time, u32, bool, bool);

/// A source with endless data, its random answers, and its rate over time.
struct Course {
    sent: Vec<Sent>,
    /// ACR from each time on.
    acr: Vec<(Time, f64)>,
}

fn course(params: AbrParams, rng: &mut Rng, until: Time) -> Course {
    let kind = TransportKind::BuiltIn(BuiltInTransport::Abr(params));
    let setup = EndpointSetup {
        flow: 0,
        peer: Some(1),
        rng: Rng::named(0, "seat"),
        start: Time::ORIGIN,
        stop: Time::NEVER,
        rate: rate(LINK),
        data: None,
    };
    let mut source = kind.build().unwrap().sender(setup, 53);
    let mut course = Course { sent: Vec::new(), acr: Vec::new() };
    let (mut wakes, mut answer_at) = (Time::ORIGIN, Time::ORIGIN);
    let (mean, dead) = (Span::from_micros(100 + rng.below(20_000)), rng.chance(0.2));
    while wakes.min(answer_at) < until {
        let now = wakes.min(answer_at);
        let mut out = Vec::new();
        let mut cx = HostCx { now, out: &mut out };
        if wakes <= answer_at {
            wakes = source.wake(&mut cx).max(now);
        } else {
            let brm = RmCell {
                direction: Direction::Backward,
                er: if rng.chance(0.3) { rng.below(5_000) } else { rng.below(LINK) },
                ci: rng.chance(0.1),
                ni: rng.chance(0.3),
                bn: rng.chance(0.1),
                ..RmCell::default()
            };
            wakes = source.receive(&mut cx, &Packet::new(BodyId(0), 53), &Payload::Rm(brm)).max(now);
            answer_at = if dead && rng.chance(0.1) { Time::NEVER } else { now + rng.exponential(mean) };
        }
        for action in out {
            let Action::Send { len, payload, mark, .. } = action else { continue };
            course.sent.push((now, len, matches!(payload, Payload::Rm(_)), mark == Mark::NONE));
        }
        source.gauges(&mut |name, value| {
            assert_eq!(name, "acr");
            course.acr.push((now, value));
        });
    }
    course
}

/// ∫ACR from one time to another, in bits.
fn integral(acr: &[(Time, f64)], from: Time, to: Time) -> f64 {
    let within =
        acr.partition_point(|(at, _)| *at <= from).saturating_sub(1)..acr.partition_point(|(at, _)| *at < to);
    let acr = &acr[within];
    let ends = acr.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let span = |begins: Time, ends: Time| ends.min(to).since(begins.max(from)).as_secs_f64();
    acr.iter().zip(ends).map(|((begins, rate), ends)| rate * span(*begins, ends)).sum()
}

#[test]
fn sources_keep_between_mcr_and_acr_and_send_their_rm_cells() {
    let (mut out_of_rate, mut with_mcr, mut checked) = (0, 0, 0u64);
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "sources");
        let params = drawn(&mut rng);
        let until = Time::ORIGIN + Span::from_secs(3);
        let Course { sent, acr } = course(params, &mut rng, until);
        out_of_rate += sent.iter().filter(|cell| !cell.3).count();
        let cells: Vec<Sent> = sent.into_iter().filter(|cell| cell.3).collect();
        let (pcr, mcr) = (params.pcr.unwrap(), params.mcr.map_or(0.0, Rate::bits_per_second));
        let within = mcr..=pcr.bits_per_second();
        assert!(acr.iter().all(|(_, rate)| within.contains(rate)), "seed {seed}");
        // Over any time at most ∫ACR leaves, and one cell.
        for _ in 0..200 {
            let first = rng.below(cells.len() as u64) as usize;
            let last = (first + 1 + rng.below(200) as usize).min(cells.len() - 1);
            let bits: f64 = cells[first..last].iter().map(|cell| f64::from(cell.1) * 8.0).sum();
            let allowed = integral(&acr, cells[first].0, cells[last].0);
            assert!(bits <= allowed * (1.0 + 1e-9) + 1.0, "seed {seed}: {bits} of {allowed}");
            checked += 1;
        }
        // With data, at least MCR leaves, less one cell.
        if mcr > 0.0 {
            with_mcr += 1;
            let bits: f64 = cells.iter().map(|cell| f64::from(cell.1) * 8.0).sum();
            let least = mcr * until.since(Time::ORIGIN).as_secs_f64() - 53.0 * 8.0;
            assert!(bits >= least, "seed {seed}: {bits} of {least}");
        }
        // The first cell is an FRM cell; then one follows among each Nrm, and no two are nearer
        // than Mrm.
        let frms: Vec<usize> = (0..cells.len()).filter(|at| cells[*at].2).collect();
        assert_eq!(frms[0], 0);
        for pair in frms.windows(2) {
            let gap = (pair[1] - pair[0]) as u32;
            assert!(gap <= params.nrm && gap > params.mrm.min(params.nrm - 1), "seed {seed}: {gap}");
            let before = cells[pair[1] - 1].0.since(cells[pair[0]].0);
            assert!(gap <= params.mrm + 1 || before < params.trm, "seed {seed}: FRM cells too far apart");
        }
        assert!(cells.len() - frms[frms.len() - 1] <= params.nrm as usize);
    }
    assert!(out_of_rate > 20 && with_mcr > 15 && checked > 1000, "{out_of_rate} {with_mcr}");
}

fn terms() -> SourceTerms {
    AbrParams {
        pcr: None,
        mcr: Rate::from_bits_per_second(10_000),
        icr: Rate::from_bits_per_second(4_000_000),
        crm: 7,
        ..AbrParams::read(&[]).unwrap()
    }
    .terms(rate(LINK), 53)
}

/// A dead destination: after CRM cells without an answer each further FRM cell cuts ACR by CDF
/// (rule 6), to MCR; one answer with BN = 0 stops that, and one with BN = 1 does not.
#[test]
fn without_answers_the_rate_is_cut_off() {
    for (bn, goes_on) in [(true, true), (false, false)] {
        let mut source = Source::new(terms());
        for sent in 0..7 + 120 {
            let frm = source.send_frm(Time::ORIGIN);
            let cuts = i32::max(sent - 6, 0);
            let expected = (4_000_000.0 * (1.0 - 0.0625f64).powi(cuts)).max(10_000.0);
            assert!((source.acr() / expected - 1.0).abs() < 1e-9, "{sent}: {}", source.acr());
            assert_eq!(frm.ccr, source.acr().round() as u64);
        }
        assert_eq!(source.acr(), 10_000.0);
        source.answered(&RmCell { er: 5_000_000, bn, ..RmCell::default() });
        let before = source.acr();
        source.send_frm(Time::ORIGIN);
        assert_eq!(source.acr() < before, goes_on);
    }
}

/// Rule 5: after more than ADTF without an FRM cell, a rate above ICR is lost, and no other.
#[test]
fn what_is_not_used_is_lost() {
    for (er, millis, expected) in
        [(9_000_000, 500, 9_000_000.0), (9_000_000, 501, 4_000_000.0), (3_000_000, 501, 3_000_000.0)]
    {
        let mut source = Source::new(SourceTerms { rif: 1.0, ..terms() });
        source.send_frm(Time::ORIGIN);
        source.answered(&RmCell { er, ..RmCell::default() });
        source.send_frm(Time::ORIGIN + Span::from_millis(millis));
        assert_eq!(source.acr(), expected);
    }
}

/// Rule 13: a rate that was not used is lost at the next FRM cell, except for the headroom and not
/// below ICR; a source that uses its rate, and one whose rate has just risen, lose nothing.
#[test]
fn a_rate_that_is_not_used_is_lost_except_for_the_headroom() {
    let (mut lost, mut to_icr, mut kept) = (0, 0, 0);
    for seed in 0..rounds(2000) {
        let mut rng = Rng::named(seed, "headroom");
        let (icr, headroom) = (100_000.0 + rng.below(2_000_000) as f64, rng.below(2_000_000) as f64);
        let terms = SourceTerms { icr, rif: 1.0, headroom: Some(headroom), ..terms() };
        let mut source = Source::new(terms);
        source.send_frm(Time::ORIGIN);
        let er = 3_000_000 + rng.below(5_000_000);
        source.answered(&RmCell { er, ..RmCell::default() });
        // It was at ICR until now.
        source.sent(31);
        let middle = Time::ORIGIN + Span::from_millis(10 + rng.below(100));
        source.send_frm(middle);
        assert_eq!(source.acr(), er as f64);
        let (cells, time) = (1 + rng.below(31), Span::from_micros(500 + rng.below(30_000)));
        source.sent(cells as u32);
        source.send_frm(middle + time);
        let actual = (cells + 1) as f64 * 424.0 / time.as_secs_f64();
        let expected = (actual + headroom).max(icr).min(er as f64);
        assert!((source.acr() / expected - 1.0).abs() < 1e-9, "seed {seed}: {} {expected}", source.acr());
        lost += u32::from(expected < er as f64 && expected > icr);
        to_icr += u32::from(expected == icr);
        kept += u32::from(expected == er as f64);
    }
    assert!(lost > 200 && to_icr > 50 && kept > 50, "{lost} {to_icr} {kept}");
}

/// Rules 8 and 9, one answer at a time.
#[test]
fn an_answer_moves_the_rate_as_its_bits_say() {
    for seed in 0..rounds(2000) {
        let mut rng = Rng::named(seed, "answers");
        let terms = SourceTerms { rif: rng.unit(), rdf: rng.unit(), ..terms() };
        let mut source = Source::new(terms);
        source.answered(&RmCell { er: 20_000 + rng.below(LINK), ..RmCell::default() });
        let before = source.acr();
        let (er, ci, ni) = (rng.below(LINK), rng.chance(0.5), rng.chance(0.5));
        source.answered(&RmCell { er, ci, ni, ..RmCell::default() });
        let moved = match (ci, ni) {
            (true, _) => before - before * terms.rdf,
            (false, true) => before,
            (false, false) => (before + terms.rif * terms.pcr).min(terms.pcr),
        };
        let expected = moved.min(er as f64).max(terms.mcr);
        assert!((source.acr() - expected).abs() < 1e-6, "seed {seed}: {} {expected}", source.acr());
    }
}

/// Rules 1 and 2 of a destination: the state of the latest data cell is reported once.
#[test]
fn a_destination_says_what_its_latest_cell_met() {
    let mut destination = Destination::default();
    let frm = RmCell { ccr: 5, er: 7, mcr: 3, ni: true, ..RmCell::default() };
    let answer = |destination: &mut Destination| destination.turn_round(&frm);
    let expected = RmCell { direction: Direction::Backward, ..frm };
    assert_eq!(answer(&mut destination), expected);
    destination.data(Mark::NONE.congested());
    assert_eq!(answer(&mut destination), RmCell { ci: true, ..expected });
    assert_eq!(answer(&mut destination), expected);
    destination.data(Mark::NONE.congested());
    destination.data(Mark::NONE);
    assert_eq!(answer(&mut destination), expected);
    assert!(destination.turn_round(&RmCell { ci: true, ..frm }).ci);
}
