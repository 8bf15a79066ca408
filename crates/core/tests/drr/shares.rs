//! The shares of flows, and their latency.

use crate::common::lines::Lines;
use crate::common::{World, pick, rate, reserved, rounds};
use crate::drr;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

/// Theorem 2: over any time in which flows i and j have packets, |W_i / f_i − W_j / f_j| ≤ Q + 2
/// max; by their quanta, |W_i / q_i − W_j / q_j| ≤ 1 + max / q_i + max / q_j, whatever others do,
/// and a turn more where quanta are shorter than packets.
#[test]
fn backlogged_flows_share_by_their_quanta() {
    const LARGEST: u32 = 9_000;
    let mut widest = 0.0_f64;
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "fair");
        let quantum = pick(&mut rng, &[1_500, 9_000, 200]);
        let mut world = World::with(drr(quantum, 100_000));
        world.audited = false;
        let weights = [0; 2].map(|_| 1 + rng.below(9));
        let pair = weights.map(|weight| world.open(0, &reserved(weight * 100_000)));
        let of_others = [0; 4].map(|_| pick(&mut rng, &[100_000, 100_000, 5_000_000]));
        let others = of_others.map(|bits| world.open(0, &reserved(bits)));
        let largest = of_others.into_iter().chain(weights.map(|weight| weight * 100_000)).max().unwrap();
        let sizes = [0; 2].map(|_| pick(&mut rng, &[40, 1_000, LARGEST]));
        let send = |world: &mut World, rng: &mut Rng, ix: usize| {
            let len = if rng.chance(0.7) { sizes[ix] } else { 40 + rng.below(8_961) as u32 };
            world.arrive(&[pair[ix]], len);
        };
        (0..2).for_each(|ix| (0..400).for_each(|_| send(&mut world, &mut rng, ix)));
        // In units that make them whole.
        let quanta = weights.map(|weight| i128::from(weight * 100_000 * quantum));
        let unit = i128::from(largest);
        // A flow whose packets are longer than its quantum joins behind all others, so that it may
        // have a turn less.
        let rests = quanta.iter().any(|quantum| *quantum < i128::from(LARGEST) * unit);
        let turns = 1 + i128::from(rests);
        let bound = turns * quanta[0] * quanta[1] + i128::from(LARGEST) * unit * (quanta[0] + quanta[1]);
        let (mut ahead, mut least, mut most) = (0, 0, 0);
        for _ in 0..4_000 {
            while rng.chance(0.4) {
                world.arrive(&[pick(&mut rng, &others)], 40 + rng.below(8_961) as u32);
            }
            let sent = world.send(0).unwrap();
            let Some(ix) = pair.iter().position(|leg| leg.flow == sent.flow) else { continue };
            send(&mut world, &mut rng, ix);
            let bytes = i128::from(sent.len) * unit * quanta[1 - ix];
            ahead += if ix == 0 { bytes } else { -bytes };
            (least, most) = (least.min(ahead), most.max(ahead));
            assert!(most - least <= bound, "seed {seed}: {} of {bound}", most - least);
        }
        widest = widest.max((most - least) as f64 / bound as f64);
    }
    // The bound is not far from the measured difference.
    assert!(widest > 0.5, "{widest}");
}

/// Shares are equal for any traffic: small packets ten times too fast, large ones twice too fast,
/// bursts. (A scheduler that gives a flow its quantum whenever a packet arrives fails here.)
#[test]
fn shares_are_equal_under_asymmetric_load() {
    let link = rate(12_000_000);
    for quantum in [1_514, 64, 9_000] {
        let mut lines = Lines::new(World::with(drr(quantum, 10_000)), &[link]);
        lines.world.audited = false;
        // A third of the link is 500 bytes a millisecond.
        let legs = [0; 3].map(|_| lines.world.open(0, &FlowPlan::default()));
        let mut rng = Rng::named(quantum, "asymmetric");
        for milli in 0..4_000 {
            lines.run(Time::ORIGIN + Span::from_millis(milli));
            (0..78).for_each(|_| _ = lines.arrive(&[legs[0]], 64));
            if milli % 3 < 2 {
                lines.arrive(&[legs[1]], 1_500);
            }
            if rng.chance(0.03) {
                (0..40).for_each(|_| _ = lines.arrive(&[legs[2]], 40 + rng.below(1_460) as u32));
            }
        }
        // Once all are backlogged.
        let (from, to) = (Time::ORIGIN + Span::from_secs(1), Time::ORIGIN + Span::from_secs(4));
        lines.run(to);
        let bytes = legs.map(|leg| lines.bytes(from, to, |sent| sent.packet.flow == leg.flow));
        assert!(bytes.iter().sum::<u64>() + 1_500 > 4_500_000, "the link is not busy: {bytes:?}");
        let spread = bytes.iter().max().unwrap() - bytes.iter().min().unwrap();
        assert!(spread <= quantum + 2 * 1_500, "quantum {quantum}: {bytes:?}");
    }
}

/// A latency-rate server (Lenzini, Mingozzi and Stea 2004, for quanta of any length): from the
/// beginning of a busy period on, a flow with the quantum φ among quanta that sum to F has its
/// share of the link C, less what it has in ((F − φ) (1 + l / φ) + ΣL + L) / C, when its packets
/// are no longer than l, and those of all at most L, which sum to ΣL. The source is without the
/// last L: there a turn ends when its last packet is sent, and here when that packet's service
/// begins, so that a flow may join behind one packet more. And a flow whose packets are longer than
/// its quantum joins behind all others when it may send, so that it may wait for another F − φ.
#[test]
fn a_flow_has_its_share_after_the_latency() {
    const BITS: u64 = 8_000_000;
    let mut nearest = 0.0f64;
    for seed in 0..rounds(60) {
        let mut rng = Rng::named(seed, "latency");
        let quantum = pick(&mut rng, &[1_500, 1_500, 200, 6_000]);
        let mut lines = Lines::new(World::with(drr(quantum, 100_000)), &[rate(BITS)]);
        lines.world.audited = false;
        let kinds = pick(&mut rng, &[[1, 2, 3, 5], [1, 1, 1, 40], [1, 7, 30, 200]]);
        let weights: Vec<u64> = (0..2 + rng.below(6)).map(|_| pick(&mut rng, &kinds)).collect();
        let lengths: Vec<u32> = weights.iter().map(|_| pick(&mut rng, &[40, 200, 1_500])).collect();
        let open = |weight: &u64| lines.world.open(0, &reserved(weight * 100_000));
        let legs: Vec<Leg> = weights.iter().map(open).collect();
        for (leg, len) in legs.iter().zip(&lengths).skip(1) {
            (0..600_000 / len).for_each(|_| _ = lines.arrive(&[*leg], *len));
        }
        let begins = Time::ORIGIN + Span::from_micros(rng.below(20_000));
        lines.run(begins);
        (0..20).for_each(|_| _ = lines.arrive(&[legs[0]], lengths[0]));
        lines.drain();
        // In bytes of the link: a microsecond each. A packet counts as sent with its last bit.
        let largest = *weights.iter().max().unwrap() as f64;
        let quanta: Vec<f64> = weights.iter().map(|weight| (quantum * weight) as f64 / largest).collect();
        let (frame, own) = (quanta.iter().sum::<f64>(), quanta[0]);
        let of_all: f64 = lengths.iter().map(|len| f64::from(*len)).sum();
        let longest = f64::from(*lengths.iter().max().unwrap());
        let joins = if own < f64::from(lengths[0]) { 2.0 } else { 1.0 };
        let latency = (frame - own) * (joins + f64::from(lengths[0]) / own) + of_all + longest;
        let mut had = 0.0;
        for sent in lines.sent.iter().filter(|sent| sent.packet.flow == legs[0].flow) {
            // Just before its last bit is out.
            let since = sent.at.since(begins) + rate(BITS).time_for(sent.packet.len);
            let bytes = since.as_secs_f64() * 1e6;
            let late = bytes - had * frame / own;
            nearest = nearest.max(late / latency);
            assert!(late <= latency * (1.0 + 1e-9), "seed {seed}: {late} of {latency}");
            had += f64::from(sent.packet.len);
        }
    }
    assert!(nearest > 0.6, "{nearest}");
}
