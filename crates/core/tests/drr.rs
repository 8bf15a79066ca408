//! Deficit round robin: the paper's loop, step by step; its fairness (Shreedhar and Varghese 1996,
//! theorem 2) and its latency (Stiliadis and Varma 1998, table I, and a packet), exactly.

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
use tidegate_core::units::{Rate, Span, Time};

fn drr(quantum: u64, unreserved: u64) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum)), ("unreserved", Value::Rate(unreserved))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("drr", &values).unwrap().unwrap())
}

/// A list of flows with their deficits in 2⁻²⁴ bytes, the first of which may always send, and those
/// that rest.
///
/// The loop of the paper's figures 3 and 4 sends a packet, and then looks whether its flow has
/// another: without one the flow leaves the list and its deficit is 0, and a packet that has come
/// by then is of the same turn. So a flow whose last packet is in service has its turn until the
/// next packet is to be sent.
struct Drr {
    line: Line,
    quantum: u64,
    unreserved: u64,
    turns: Vec<Turn>,
    /// Flow of the packet sent last, until the next one is sent.
    served: Option<usize>,
    /// Flows that may not send in their next turn, in the order in which they began to rest.
    resting: Vec<Turn>,
    /// Deficits and turns of flows that are held.
    held: Vec<Turn>,
    next_round: u64,
    /// The round that has begun.
    round: u64,
    /// The largest weight so far.
    largest: std::cell::Cell<u128>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: usize,
    round: u64,
    deficit: u64,
    /// True if the flow has had its quantum, and true if it has sent.
    begun: bool,
    sent: bool,
    /// Deficit when the turn began.
    before: u64,
}

const BYTE: u64 = 1 << 24;

/// A rate as it is held, in units of 2⁻¹⁶ bit/s.
fn weight(rate: Rate) -> u128 {
    let held = u128::from(rate.time_for(1 << 24).ticks());
    ((800_000_000_000u128 << 40) + held / 2) / held
}

impl Drr {
    fn new(quantum: u64, unreserved: u64) -> Drr {
        Drr {
            line: Line::default(),
            quantum,
            unreserved,
            turns: Vec::new(),
            served: None,
            resting: Vec::new(),
            held: Vec::new(),
            next_round: 0,
            round: 0,
            largest: std::cell::Cell::new(0),
        }
    }

    fn quantum_of(&self, flow: usize) -> u64 {
        let of = |(contract, _): &(Contract, Participation)| {
            weight(contract.reserve.unwrap_or_else(|| rate(self.unreserved)))
        };
        let largest = self.line.flows.iter().map(of).max().unwrap().max(self.largest.get());
        self.largest.set(largest);
        let quantum = u128::from(self.quantum * BYTE) * of(&self.line.flows[flow]) / largest;
        (quantum as u64).max(1)
    }

    fn need(&self, flow: usize) -> u64 {
        self.line.of(flow).next().map_or(0, |head| u64::from(head.len) * BYTE)
    }

    fn is_empty(&self, flow: usize) -> bool {
        self.line.of(flow).next().is_none()
    }

    fn forget(&mut self, flow: usize) {
        for list in [&mut self.turns, &mut self.resting, &mut self.held] {
            list.retain(|turn| turn.flow != flow);
        }
    }

    /// Moves flows whose next turns have become too short for their packets among the resting.
    fn see_to_changes(&mut self) {
        for turn in std::mem::take(&mut self.turns) {
            match turn.begun {
                true => self.turns.push(turn),
                false => self.take_turns(turn),
            }
        }
    }

    /// Goes on turn by turn, until the first flow may send, or has no packet yet.
    fn pass_turns(&mut self) {
        while !(self.turns.is_empty() && self.resting.is_empty()) {
            let Some(first) = self.turns.first().copied() else {
                self.begin_round(self.round + 1);
                continue;
            };
            if !first.begun {
                self.begin_round(first.round);
                let deficit = first.deficit + self.quantum_of(first.flow);
                self.turns[0] = Turn { before: first.deficit, deficit, begun: true, ..first };
            }
            let turn = self.turns[0];
            if turn.deficit >= self.need(turn.flow) {
                return;
            }
            self.turns.remove(0);
            self.next_round = turn.round + 1;
            self.take_turns(Turn { begun: false, sent: false, round: turn.round + 1, ..turn });
        }
    }

    /// Puts the flow behind all others, if it may send in its next turn; otherwise it rests.
    fn take_turns(&mut self, turn: Turn) {
        match turn.deficit + self.quantum_of(turn.flow) >= self.need(turn.flow) {
            true => self.turns.push(turn),
            false => self.resting.push(turn),
        }
    }

    /// Begins rounds one by one: a resting flow has had its turn in the round before, and takes
    /// turns again if it may send in this one.
    fn begin_round(&mut self, round: u64) {
        while self.round < round {
            self.round += 1;
            let resting = std::mem::take(&mut self.resting);
            let mut awake = Vec::new();
            for mut turn in resting {
                if turn.round < self.round {
                    turn.deficit += self.quantum_of(turn.flow);
                }
                match turn.deficit + self.quantum_of(turn.flow) >= self.need(turn.flow) {
                    true => awake.push(turn),
                    false => self.resting.push(turn),
                }
            }
            self.next_round = self.next_round.max(self.round);
            let next_round = self.next_round;
            self.turns.extend(awake.into_iter().map(|turn| Turn { round: next_round, ..turn }));
        }
    }

    fn join(&mut self, flow: usize, deficit: u64) {
        let round = self.next_round;
        self.take_turns(Turn { flow, round, deficit, begun: false, sent: false, before: 0 });
    }
}

impl Model for Drr {
    fn line(&mut self) -> &mut Line {
        &mut self.line
    }
    fn arrived(&mut self, waiting: Waiting) {
        self.see_to_changes();
        let active = self.line.flows[waiting.flow].1 == Participation::Active;
        let mut present = self.turns.iter().chain(&self.resting);
        let present = present.any(|turn| turn.flow == waiting.flow);
        let held = self.held.iter().position(|turn| turn.flow == waiting.flow);
        match held {
            // It was held with its last packet in service, and is not held any more.
            Some(at) if active => {
                let turn = self.held.remove(at);
                self.turns.insert(0, turn);
            }
            // The packet is too long for the turn, which is over.
            Some(at) if self.held[at].deficit < self.need(waiting.flow) => {
                (self.held[at].begun, self.held[at].sent) = (false, false);
            }
            None if active && !present => self.join(waiting.flow, 0),
            _ => {}
        }
        self.pass_turns();
    }
    fn takes_part(&mut self, _: Time, flow: usize, _: Participation) {
        self.see_to_changes();
        for list in [&mut self.turns, &mut self.resting] {
            let listed = list.iter().position(|turn| turn.flow == flow);
            self.held.extend(listed.map(|at| list.remove(at)));
        }
        match self.line.flows[flow].1 {
            Participation::Held => {}
            Participation::Absent => self.forget(flow),
            Participation::Active if self.is_empty(flow) => {}
            Participation::Active => {
                let kept = self.held.iter().position(|turn| turn.flow == flow);
                match kept.map(|at| self.held.remove(at)) {
                    Some(turn) if turn.sent => {
                        // Behind the flow in turn while its last packet is in service.
                        let emptied = self.turns.first().is_some_and(|first| self.is_empty(first.flow));
                        let round = self.turns.first().map_or(self.next_round, |first| first.round);
                        self.turns.insert(usize::from(emptied), Turn { round, ..turn });
                    }
                    Some(turn) if turn.begun => self.join(flow, turn.before),
                    Some(turn) => self.join(flow, turn.deficit),
                    None => self.join(flow, 0),
                }
            }
        }
        self.pass_turns();
    }
    fn start(&mut self, _: Time) -> Option<Waiting> {
        self.see_to_changes();
        if self.line.packets.iter().any(|waiting| self.line.flows[waiting.flow].1 == Participation::Active)
            && let Some(served) = self.served.take().filter(|served| self.is_empty(*served))
        {
            self.forget(served);
        }
        self.pass_turns();
        let flow = self.turns.first()?.flow;
        let head = *self.line.of(flow).next()?;
        let sent = self.line.remove(head.body);
        self.turns[0].deficit -= u64::from(sent.len) * BYTE;
        self.turns[0].sent = true;
        self.served = Some(flow);
        self.pass_turns();
        Some(sent)
    }
    /// Takes from the longest queue.
    fn rank_to_lose(&mut self, last: Waiting) -> u64 {
        self.line.of(last.flow).count() as u64
    }
    fn removed(&mut self, gone: Waiting) {
        self.see_to_changes();
        if self.is_empty(gone.flow) {
            self.forget(gone.flow);
        }
        self.pass_turns();
    }
}

/// Reservations from a hundredth of `unreserved` on, so that quanta are from a few bytes to many
/// packets.
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

/// A packet of several quanta: the turns that passed before it may be sent are not lost when its
/// flow is held.
#[test]
fn a_flow_that_is_held_keeps_the_turns_that_have_passed() {
    let mut world = World::with(drr(100, 10_000));
    let legs = [0; 3].map(|_| world.open(0, &FlowPlan::default()));
    // Alone, it has had four quanta, and the fifth is that of its turn.
    world.arrive(&[legs[1]], 450);
    world.take_part(legs[1], Participation::Held);
    (0..2).for_each(|_| _ = world.arrive(&[legs[0]], 100));
    world.arrive(&[legs[2]], 450);
    world.take_part(legs[1], Participation::Active);
    let order: Vec<_> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow).collect();
    assert_eq!(order, [legs[0], legs[1], legs[0], legs[2]].map(|leg| leg.flow));
}

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

/// A ceiling holds a flow after every packet, and takes nothing of its quantum away: one above the
/// fair share leaves it that.
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

/// A flow that sends for long without rivals has nothing saved, and nothing to pay, when they come:
/// the rest of its turn.
#[test]
fn a_flow_without_rivals_saves_nothing() {
    let mut world = World::with(drr(1_500, 10_000));
    let legs = [0; 2].map(|_| world.open(0, &FlowPlan::default()));
    for _ in 0..100 {
        world.arrive(&[legs[0]], 100);
        assert_eq!(world.send(0).unwrap().flow, legs[0].flow);
    }
    // Turns are of fifteen packets, and it has ten of the seventh.
    (0..60).for_each(|_| legs.iter().for_each(|leg| _ = world.arrive(&[*leg], 100)));
    let order: Vec<u32> = std::iter::from_fn(|| world.send(0)).map(|packet| packet.flow.0).collect();
    assert!(order[..5].iter().all(|flow| *flow == 0), "{order:?}");
    let turns = order[5..110].chunks(15).enumerate();
    assert!(turns.into_iter().all(|(nth, turn)| turn.iter().all(|flow| *flow == 1 - nth as u32 % 2)));
}

/// Rounds without a packet are counted, not gone through: 64 KiB by quanta of a byte, and a hundred
/// thousand flows.
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
    // The largest has all that it has sent before the others have had a quantum of four bytes.
    assert!(order[..440].iter().all(|flow| *flow == legs[2].flow.0) && order.len() == 520, "{order:?}");
    let ahead = order[440..].iter().scan(0i32, |ahead, flow| {
        *ahead += if *flow == legs[0].flow.0 { 1 } else { -1 };
        Some(*ahead)
    });
    assert!(ahead.clone().all(|ahead| (-3..=1).contains(&ahead)), "{:?}", ahead.collect::<Vec<_>>());
}
