//! Deficit round robin: the paper's loop, step by step; its fairness (Shreedhar and Varghese 1996, theorem 2) and its latency
//! (Stiliadis and Varma 1998, table I, and a packet), exactly.

mod common;

use common::lines::Lines;
use common::twins::{Line, Model, Twins, Waiting};
use common::{World, pick, rate, reserved, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::{BuiltIn, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, Participation, SchedulerKind};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, TICKS_PER_SECOND, Time};

fn drr(quantum: u64, unreserved: u64) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum)), ("unreserved", Value::Rate(unreserved))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("drr", &values).unwrap().unwrap())
}

/// A list of flows with their deficits in 2⁻¹⁶ bytes, the first of which may always send.
struct Drr {
    line: Line,
    quantum: u64,
    unreserved: u64,
    turns: Vec<Turn>,
    /// Deficits and turns of flows that are held.
    held: Vec<Turn>,
    next_round: u64,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: usize,
    round: u64,
    deficit: u64,
    /// Whether it has had its quantum, and whether it has sent.
    begun: bool,
    sent: bool,
    /// Its deficit when the turn began.
    before: u64,
}

impl Drr {
    fn new(quantum: u64, unreserved: u64) -> Drr {
        Drr { line: Line::default(), quantum, unreserved, turns: Vec::new(), held: Vec::new(), next_round: 0 }
    }

    fn quantum_of(&self, flow: usize) -> u64 {
        let bits =
            self.line.flows[flow].0.reserve.map_or(self.unreserved as f64, |rate| rate.bits_per_second());
        (self.quantum as f64 * bits / self.unreserved as f64 * 65_536.0).round() as u64
    }

    fn need(&self, flow: usize) -> u64 {
        self.line.of(flow).next().map_or(0, |head| u64::from(head.len) * 65_536)
    }

    /// Turn by turn, until the first may send.
    fn settle(&mut self) {
        while let Some(mut turn) = self.turns.first().copied() {
            if !turn.begun {
                turn =
                    Turn { before: turn.deficit, deficit: turn.deficit + self.quantum_of(turn.flow), ..turn };
                turn.begun = true;
            }
            self.turns[0] = turn;
            if turn.deficit >= self.need(turn.flow) {
                return;
            }
            self.turns.remove(0);
            self.next_round = turn.round + 1;
            self.turns.push(Turn { begun: false, sent: false, round: turn.round + 1, ..turn });
        }
    }

    fn join(&mut self, flow: usize, deficit: u64) {
        let round = self.next_round;
        self.turns.push(Turn { flow, round, deficit, begun: false, sent: false, before: 0 });
    }
}

impl Model for Drr {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn arrived(&mut self, waiting: Waiting) {
        let active = self.line.flows[waiting.flow].1 == Participation::Active;
        if active && self.turns.iter().all(|turn| turn.flow != waiting.flow) {
            self.join(waiting.flow, 0);
            if self.turns.len() == 1 {
                self.settle();
            }
        }
    }
    fn takes_part(&mut self, _: Time, flow: usize, _: Participation) {
        let listed = self.turns.iter().position(|turn| turn.flow == flow);
        let turn = listed.map(|at| self.turns.remove(at));
        self.held.extend(turn);
        match self.line.flows[flow].1 {
            Participation::Held => {}
            Participation::Absent => self.held.retain(|turn| turn.flow != flow),
            Participation::Active => {
                let kept = self.held.iter().position(|turn| turn.flow == flow);
                let kept = kept.map(|at| self.held.remove(at));
                if self.line.of(flow).next().is_some() {
                    match kept {
                        Some(turn) if turn.sent => {
                            let round = self.turns.first().map_or(self.next_round, |first| first.round);
                            self.turns.insert(0, Turn { round, ..turn });
                        }
                        Some(turn) if turn.begun => self.join(flow, turn.before),
                        Some(turn) => self.join(flow, turn.deficit),
                        None => self.join(flow, 0),
                    }
                }
            }
        }
        self.settle();
    }
    fn start(&mut self, _: Time) -> Option<Waiting> {
        let flow = self.turns.first()?.flow;
        let head = *self.line.of(flow).next().unwrap();
        let sent = self.line.remove(head.body);
        self.turns[0].deficit -= u64::from(sent.len) * 65_536;
        self.turns[0].sent = true;
        if self.line.of(flow).next().is_none() {
            self.turns.remove(0);
        }
        self.settle();
        Some(sent)
    }
    /// Quantum by quantum, the round in which the last packet is sent.
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        let turn = *self.turns.iter().find(|turn| turn.flow == last.flow).unwrap();
        let need: u64 = self.line.of(last.flow).map(|waiting| u64::from(waiting.len) * 65_536).sum();
        let (mut round, mut deficit) = (turn.round, turn.deficit);
        if !turn.begun {
            deficit += self.quantum_of(last.flow);
        }
        while deficit < need {
            deficit += self.quantum_of(last.flow);
            round += 1;
        }
        round
    }
    fn removed(&mut self, gone: Waiting) {
        if self.line.of(gone.flow).next().is_none() {
            self.turns.retain(|turn| turn.flow != gone.flow);
            self.held.retain(|turn| turn.flow != gone.flow);
        }
        self.settle();
    }
}

/// Reservations from a hundredth of `unreserved` on, so that quanta are from a few bytes to many packets.
fn any_contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(1_000), Some(3_333), Some(100_000), Some(777_777)]);
    Contract { reserve: reserve.map(rate), ..Contract::default() }
}

#[test]
fn packets_are_those_of_the_papers_loop() {
    let mut pushed_out = 0;
    for seed in 0..rounds(20) {
        for (most, gated) in [(None, true), (Some(12), false), (Some(40), false)] {
            let mut rng = Rng::named(seed, "deficits");
            let (quantum, unreserved) = pick(&mut rng, &[(1_500, 100_000), (9_000, 10_000), (100, 50_000)]);
            let model = Drr::new(quantum, unreserved);
            let mut twins = Twins::new(drr(quantum, unreserved), rate(8_000_000), most, model);
            let flows = 1 + rng.below(9);
            twins.storm(&mut rng, flows, gated, any_contract, |_| 0);
            pushed_out += twins.pushed_out;
        }
    }
    assert!(pushed_out > 500, "{pushed_out}");
}

/// A packet of several quanta: the turns that passed before it may be sent are not lost when its flow is held.
#[test]
fn a_flow_that_is_held_keeps_the_turns_that_have_passed() {
    let mut world = World::with(drr(100, 10_000));
    let legs = [0; 3].map(|_| world.open(0, &FlowPlan::default()));
    world.arrive(&[legs[0]], 100);
    world.start(0).unwrap();
    // Alone, it has had four quanta, and the fifth is that of its turn.
    world.arrive(&[legs[1]], 450);
    world.take_part(legs[1], Participation::Held);
    (0..2).for_each(|_| _ = world.arrive(&[legs[0]], 100));
    world.arrive(&[legs[2]], 450);
    world.take_part(legs[1], Participation::Active);
    world.finish(0);
    let order: Vec<_> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow).collect();
    assert_eq!(order, [legs[0], legs[1], legs[0], legs[2]].map(|leg| leg.flow));
}

/// Theorem 2: over any time in which flows i and j have packets, |W_i / f_i − W_j / f_j| ≤ Q + 2 max; by their quanta,
/// |W_i / q_i − W_j / q_j| ≤ 1 + max / q_i + max / q_j, whatever others do.
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
        let others: Vec<Leg> =
            (0..4).map(|_| world.open(0, &reserved(pick(&mut rng, &[100_000, 5_000_000])))).collect();
        let sizes = [0; 2].map(|_| pick(&mut rng, &[40, 1_000, LARGEST]));
        let send = |world: &mut World, rng: &mut Rng, ix: usize| {
            let len = if rng.chance(0.7) { sizes[ix] } else { 40 + rng.below(8_961) as u32 };
            world.arrive(&[pair[ix]], len);
        };
        (0..2).for_each(|ix| (0..400).for_each(|_| send(&mut world, &mut rng, ix)));
        let quanta = weights.map(|weight| i128::from(weight * quantum));
        let bound = quanta[0] * quanta[1] + i128::from(LARGEST) * (quanta[0] + quanta[1]);
        let (mut ahead, mut least, mut most) = (0, 0, 0);
        for _ in 0..4_000 {
            while rng.chance(0.4) {
                world.arrive(&[pick(&mut rng, &others)], 40 + rng.below(8_961) as u32);
            }
            let sent = world.send(0).unwrap();
            let Some(ix) = pair.iter().position(|leg| leg.flow == sent.flow) else { continue };
            send(&mut world, &mut rng, ix);
            let bytes = i128::from(sent.len) * quanta[1 - ix];
            ahead += if ix == 0 { bytes } else { -bytes };
            (least, most) = (least.min(ahead), most.max(ahead));
            assert!(most - least <= bound, "seed {seed}: {} of {bound}", most - least);
        }
        widest = widest.max((most - least) as f64 / bound as f64);
    }
    // The bound is not far from what happens.
    assert!(widest > 0.5, "{widest}");
}

/// Equal shares, whatever flows send and however: small packets ten times too fast, large ones twice too fast, bursts.
/// (A scheduler that gives a flow its quantum whenever a packet arrives fails here.)
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

/// A latency-rate server (Stiliadis and Varma 1998, table I): from the beginning of a busy period on, a flow with the quantum φ
/// among quanta that sum to F has its share of the link C, less what it has in (3 F − 2 φ + L) / C, when no packet is longer
/// than L and no quantum shorter. The table is without L: there a turn ends when its last packet is sent, and here when
/// that packet's service begins, so that a flow may join behind one turn more.
#[test]
fn a_flow_has_its_share_after_the_latency() {
    const BITS: u64 = 8_000_000;
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "latency");
        let mut lines = Lines::new(World::with(drr(1_500, 100_000)), &[rate(BITS)]);
        lines.world.audited = false;
        let weights: Vec<u64> = (0..2 + rng.below(6)).map(|_| 1 + rng.below(5)).collect();
        let legs: Vec<Leg> =
            weights.iter().map(|weight| lines.world.open(0, &reserved(weight * 100_000))).collect();
        let others = &legs[1..];
        others
            .iter()
            .for_each(|leg| (0..600).for_each(|_| _ = lines.arrive(&[*leg], pick(&mut rng, &[40, 1_500]))));
        let begins = Time::ORIGIN + Span::from_micros(rng.below(20_000));
        lines.run(begins);
        (0..200).for_each(|_| _ = lines.arrive(&[legs[0]], pick(&mut rng, &[40, 1_500])));
        lines.drain();
        // In bytes of the link: a microsecond each. What is sent counts with its last bit.
        let frame: u64 = weights.iter().sum::<u64>() * 1_500;
        let latency = 3 * frame - 2 * weights[0] * 1_500 + 1_500;
        let mut had = 0;
        for sent in lines.sent.iter().filter(|sent| sent.packet.flow == legs[0].flow) {
            // Just before its last bit is out.
            let since = (sent.at.since(begins) + rate(BITS).time_for(sent.packet.len)).ticks();
            let micros = u128::from(since) * 1_000_000 / u128::from(TICKS_PER_SECOND);
            let due = micros.saturating_sub(u128::from(latency)) * u128::from(weights[0] * 1_500);
            assert!(had * u128::from(frame) >= due, "seed {seed}: {had} bytes after {micros} µs");
            had += u128::from(sent.packet.len);
        }
    }
}

/// A ceiling holds a flow after every packet, and takes nothing of its quantum away: one above the fair share leaves it that.
#[test]
fn a_flow_with_a_ceiling_has_its_whole_turn() {
    let link = rate(10_000_000);
    for quantum in [1_500, 15_000, 100_000] {
        let mut lines = Lines::new(World::with(drr(quantum, 10_000)), &[link]);
        lines.world.audited = false;
        let ceiling = Some(rate(6_000_000));
        let capped = lines.world.open(0, &FlowPlan { ceiling, ..FlowPlan::default() });
        let other = lines.world.open(0, &FlowPlan::default());
        for leg in [capped, other] {
            (0..900).for_each(|_| _ = lines.world.arrive(&[leg], 1_000));
        }
        lines.run(Time::ORIGIN + Span::from_secs(1));
        let sent = |leg: Leg| lines.sent.iter().filter(|sent| sent.packet.flow == leg.flow).count() as u64;
        let (capped, other) = (sent(capped), sent(other));
        assert!(capped + other >= 1_250, "{capped} and {other}");
        assert!(capped.abs_diff(other) <= 2 * quantum / 1_000 + 2, "quantum {quantum}: {capped} and {other}");
    }
}

/// A flow that sends for long without rivals has nothing saved, and nothing to pay, when they come.
#[test]
fn an_emptied_flow_has_no_deficit() {
    let mut world = World::with(drr(1_500, 10_000));
    let legs = [0; 2].map(|_| world.open(0, &FlowPlan::default()));
    for _ in 0..100 {
        world.arrive(&[legs[0]], 100);
        assert_eq!(world.send(0).unwrap().flow, legs[0].flow);
    }
    (0..60).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 100)));
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    assert!(order.chunks(15).enumerate().all(|(nth, turn)| turn.iter().all(|flow| *flow == nth as u32 % 2)));
}

/// Rounds without a packet are counted, not gone through: 64 KiB by quanta of a byte, and a hundred thousand flows.
#[test]
fn short_quanta_take_no_longer() {
    let mut world = World::with(drr(1, 10_000));
    world.audited = false;
    let legs: Vec<Leg> = (0..3).map(|_| world.open(0, &FlowPlan::default())).collect();
    let mut sent = [0u64; 3];
    (0..2_000).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 65_535)));
    while let Some(packet) = world.send(0) {
        sent[packet.flow.ix()] += 1;
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1);
    }
    assert_eq!(sent, [2_000; 3]);

    let mut world = World::with(drr(100, 10_000));
    world.audited = false;
    let legs: Vec<Leg> = (0..100_000).map(|_| world.open(0, &FlowPlan::default())).collect();
    (0..2).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 1_000)));
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    assert!(order.iter().copied().eq((0..200_000).map(|nth| nth % 100_000)));
}

/// From one bit a second to ten terabit a second: the least quantum is a byte, and no flow starves.
#[test]
fn the_smallest_and_the_largest_reservations_take_turns() {
    let mut world = World::with(drr(1_514, 10_000));
    let legs = [1, 7, 10_000_000_000_000].map(|bits| world.open(0, &reserved(bits)));
    for _ in 0..40 {
        (0..10).for_each(|_| _ = world.arrive(&[legs[2]], 65_535));
        legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 4));
    }
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    // The largest has one turn for all that it has; the others send a packet in about four rounds.
    assert!(order[..440].iter().all(|flow| *flow == legs[2].flow.0) && order.len() == 520, "{order:?}");
    let ahead = order[440..].iter().scan(0i32, |ahead, flow| {
        *ahead += if *flow == legs[0].flow.0 { 1 } else { -1 };
        Some(*ahead)
    });
    assert!(ahead.clone().all(|ahead| (-3..=1).contains(&ahead)), "{:?}", ahead.collect::<Vec<_>>());
}
