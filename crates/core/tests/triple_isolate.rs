//! Triple isolation: the lists with CAKE's divided quanta, step by step; the shares of hosts, in closed
//! form; with one flow of each host, DRR++.

mod common;

use common::lines::Lines;
use common::lists::{Model, assert_sparse, at_random, beside};
use common::{World, kind, pick, rate, rounds};
use std::collections::VecDeque;
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::FlowPlan;
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;
const FULL: u32 = 1500;
/// Deficits of the model are exact in these parts of a byte.
const PARTS: i64 = 1 << 16;

fn scheduler(quantum: u64) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read("triple-isolate", &values).unwrap().unwrap())
}

/// A flow between two hosts.
fn between([host, peer]: [u32; 2]) -> FlowPlan {
    let number = |host: u32| Some(host).filter(|host| *host > 0);
    let contract = Contract { host: number(host), peer: number(peer), ..Contract::default() };
    FlowPlan { contract, ..FlowPlan::default() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    /// In no list.
    None,
    Sparse,
    /// In the old list, and without a packet since it came there.
    Waiting,
    Bulk,
}

struct Flow {
    ends: [u32; 2],
    set: Set,
    deficit: i64,
    packets: VecDeque<(u32, u32)>,
}

/// The lists, with the queues: the number of bulk flows of a host is counted anew whenever it is asked
/// for.
struct Lists {
    quantum: i64,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    /// Flows in the order in which they were given their turns, with the rounds of these.
    old: Vec<(i64, usize)>,
    round: i64,
}

impl Lists {
    fn new(quantum: u64, ends: &[[u32; 2]]) -> Lists {
        let flow =
            |ends: &[u32; 2]| Flow { ends: *ends, set: Set::None, deficit: 0, packets: VecDeque::new() };
        let flows = ends.iter().map(flow).collect();
        Lists { quantum: quantum as i64 * PARTS, flows, new: VecDeque::new(), old: Vec::new(), round: 0 }
    }

    fn quantum(&self, flow: usize) -> i64 {
        let bulk = |end: usize| {
            let same = |other: &&Flow| other.ends[end] == self.flows[flow].ends[end];
            self.flows.iter().filter(same).filter(|other| other.set == Set::Bulk).count() as i64
        };
        self.quantum / bulk(0).max(bulk(1)).max(1)
    }
}

impl Model for Lists {
    fn enqueue(&mut self, flow: usize, body: u32, len: u32) {
        self.flows[flow].packets.push_back((body, len));
        match self.flows[flow].set {
            Set::None => {
                self.flows[flow].set = Set::Sparse;
                self.flows[flow].deficit = self.quantum(flow);
                self.new.push_back(flow);
            }
            Set::Waiting => self.flows[flow].set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn dequeue(&mut self) -> Option<(u32, u32)> {
        // The link does not ask in vain.
        self.flows.iter().find(|flow| !flow.packets.is_empty())?;
        loop {
            let is_new = !self.new.is_empty();
            let turn = (0..self.old.len()).min_by_key(|at| self.old[*at].0);
            let flow = match self.new.front() {
                Some(flow) => *flow,
                None => self.old[turn?].1,
            };
            if !is_new {
                self.round = self.old[turn?].0;
            }
            let (waits, empty) = (self.flows[flow].deficit <= 0, self.flows[flow].packets.is_empty());
            if !waits && !empty {
                let (body, len) = self.flows[flow].packets.pop_front()?;
                self.flows[flow].deficit -= i64::from(len) * PARTS;
                return Some((body, len));
            }
            if is_new {
                self.new.pop_front();
                self.flows[flow].set = if empty { Set::Waiting } else { Set::Bulk };
            } else {
                self.old.remove(turn?);
            }
            if waits {
                let (deficit, quantum) = (self.flows[flow].deficit, self.quantum(flow));
                let needed = (1..).find(|needed| deficit + needed * quantum > 0)?;
                let power =
                    (0..).map(|doublings| 1 << doublings).take_while(|power| *power <= needed).last()?;
                self.flows[flow].deficit += power * quantum;
                self.old.push((self.round + power, flow));
            } else if is_new {
                self.old.push((self.round + 1, flow));
            } else {
                self.flows[flow].set = Set::None;
            }
        }
    }
}

#[test]
fn packets_are_sent_as_the_lists_say() {
    let mut divided = 0;
    for seed in 0..rounds(120) {
        let mut rng = Rng::named(seed, "triple isolation");
        let quantum = pick(&mut rng, &[100, 1514, 5000, 100_000]);
        let most = [1 + rng.below(5), 1 + rng.below(5)];
        let ends: Vec<[u32; 2]> =
            (0..1 + rng.below(14)).map(|_| most.map(|most| rng.below(most) as u32)).collect();
        let mut lines = Lines::new(World::with(scheduler(quantum)), &[rate(LINK)]);
        let legs: Vec<_> = ends.iter().map(|ends| lines.world.open(0, &between(*ends))).collect();
        let mut lists = Lists::new(quantum, &ends);
        let see = |lists: &Lists, flow| divided += usize::from(lists.quantum(flow) < lists.quantum);
        let loads = [0.7, 0.95, 1.3, 3.0];
        let (real, sent) = beside(&mut lines, &legs, &mut lists, &mut rng, &loads, see);
        assert_eq!(real, sent, "seed {seed}: quantum {quantum}, {ends:?}");
    }
    assert!(divided > 1000, "quanta were divided {divided} times");
}

/// The share of each flow while all are backlogged: in proportion to 1 / max(flows of one host, flows
/// of the other).
fn shares(ends: &[[u32; 2]]) -> Vec<f64> {
    let flows = |end: usize, flow: &[u32; 2]| ends.iter().filter(|other| other[end] == flow[end]).count();
    let weights: Vec<f64> = ends.iter().map(|flow| 1.0 / flows(0, flow).max(flows(1, flow)) as f64).collect();
    weights.iter().map(|weight| weight / weights.iter().sum::<f64>()).collect()
}

/// The parts of a backlogged link that flows have had, after those of new flows.
fn measured(ends: &[[u32; 2]], lengths: &[u32]) -> Vec<f64> {
    let mut lines = Lines::new(World::with(scheduler(1514)), &[rate(LINK)]);
    lines.world.audited = false;
    let legs: Vec<Leg> = ends.iter().map(|ends| lines.world.open(0, &between(*ends))).collect();
    let all = LINK as f64 * 4.0 / 8.0;
    for ((leg, len), share) in legs.iter().zip(lengths.iter().cycle()).zip(shares(ends)) {
        for _ in 0..(1.3 * share * all / f64::from(*len)) as u64 + 10 {
            lines.world.arrive(&[*leg], *len);
        }
    }
    let end = Time::ORIGIN + Span::from_secs(4);
    lines.run(end);
    let of = |flow: usize| lines.bytes(Time::ORIGIN, end, |sent| sent.packet.flow.ix() == flow) as f64 / all;
    (0..ends.len()).map(of).collect()
}

/// Hosts with one flow have what hosts with many have, whichever side those are on.
#[test]
fn hosts_of_both_sides_have_their_shares() {
    let fan_out = |host: u32, count: u32| (0..count).map(move |peer| [host, 100 + peer]).collect::<Vec<_>>();
    let fan_in = |peer: u32, count: u32| (0..count).map(move |host| [100 + host, peer]).collect::<Vec<_>>();
    let pair = |host: u32, peer: u32| vec![[host, peer]];
    let fan_in_of = |hosts: u32, peer: u32, count: u32| {
        fan_in(peer, count).iter().map(|[host, peer]| [host + hosts, *peer]).collect::<Vec<_>>()
    };
    let cases = [
        // One to many beside a pair; many to one beside a pair; both; several flows of a pair; and all
        // to all.
        (vec![fan_out(1, 10), pair(2, 2)], vec![0.5; 2]),
        (vec![fan_in(1, 10), pair(2, 2)], vec![0.5; 2]),
        (vec![fan_out(1, 8), fan_in_of(50, 2, 8), pair(3, 3)], vec![1.0 / 3.0; 3]),
        (vec![vec![[1, 1]; 5], pair(2, 2)], vec![0.5; 2]),
        (vec![fan_out(1, 4), fan_out(2, 4)], vec![0.5; 2]),
        // A host with two flows to a host that eight others send to has less than the pair.
        (vec![vec![[1, 1]; 2], fan_in_of(50, 1, 8), pair(3, 3)], vec![0.1, 0.4, 0.5]),
    ];
    for (groups, parts) in cases {
        let ends = groups.concat();
        let expected = shares(&ends);
        for lengths in [&[FULL][..], &[FULL, 300, 64]] {
            let real = measured(&ends, lengths);
            let apart = |(real, share): (&f64, &f64)| (real - share).abs() < 0.004;
            assert!(real.iter().zip(&expected).all(apart), "{ends:?}: {real:?}, {expected:?}");
        }
        let mut at = 0;
        for (group, part) in groups.iter().zip(parts) {
            let of_group: f64 = expected[at..at + group.len()].iter().sum();
            assert!((of_group - part).abs() < 1e-9, "{group:?}: {of_group}, {part}");
            at += group.len();
        }
    }
}

/// Drawn at random, too.
#[test]
fn flows_between_any_hosts_have_the_shares_of_the_quanta() {
    for seed in 0..rounds(6) {
        let mut rng = Rng::named(seed, "ends");
        let most = [1 + rng.below(6), 1 + rng.below(6)];
        let ends: Vec<[u32; 2]> =
            (0..2 + rng.below(20)).map(|_| most.map(|most| 1 + rng.below(most) as u32)).collect();
        let (real, expected) = (measured(&ends, &[FULL, 700]), shares(&ends));
        let apart = |(real, share): (&f64, &f64)| (real - share).abs() < 0.005;
        assert!(real.iter().zip(&expected).all(apart), "{ends:?}: {real:?}, {expected:?}");
    }
}

/// A flow that has waited as one of 201 of its host has the host's share once the others have ended
/// and had their next turns: 201 rounds later, of a packet of a flow between two other hosts each.
#[test]
fn a_flow_that_is_left_alone_has_the_share_of_its_host() {
    let ends: Vec<[u32; 2]> = (0..201).map(|flow| [1, 1000 + flow]).chain([[2, 2]]).collect();
    let mut lines = Lines::new(World::with(scheduler(1514)), &[rate(LINK)]);
    lines.world.audited = false;
    let legs: Vec<Leg> = ends.iter().map(|ends| lines.world.open(0, &between(*ends))).collect();
    for (ix, leg) in legs.iter().enumerate() {
        let packets = if ix < 200 { 5 } else { 4000 };
        (0..packets).for_each(|_| _ = lines.world.arrive(&[*leg], FULL));
    }
    lines.run(Time::ORIGIN + Span::from_secs(7));
    let others = lines.sent.iter().filter(|sent| sent.packet.flow.ix() < 200);
    let (count, last) = others.fold((0, Time::ORIGIN), |(count, _), sent| (count + 1, sent.at));
    assert_eq!(count, 1000);
    let begin = last + Span::from_micros(201 * 1_200);
    let end = begin + Span::from_secs(1);
    assert!(end < Time::ORIGIN + Span::from_secs(7));
    let part = lines.bytes(begin, end, |sent| sent.packet.flow.ix() == 200) as f64 * 8.0 / LINK as f64;
    assert!((part - 0.5).abs() < 0.005, "{part}");
}

/// A flow that sends less than a quantum in a round waits for one packet in service at most, of a host
/// with many backlogged flows, too.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    let ends: Vec<[u32; 2]> = (0..12).map(|flow| [1 + flow / 10, 1 + flow]).chain([[1, 50]]).collect();
    let mut lines = Lines::new(World::with(scheduler(1514)), &[rate(LINK)]);
    let legs: Vec<Leg> = ends.iter().map(|ends| lines.world.open(0, &between(*ends))).collect();
    for _ in 0..400 {
        legs[..12].iter().for_each(|leg| _ = lines.world.arrive(&[*leg], FULL));
    }
    lines.run(Time::ORIGIN + Span::from_millis(100));
    assert_sparse(&mut lines, &legs[12..], Span::from_micros(35_700), 120, FULL);
}

/// With a host of its own at each end, every flow has what it has under DRR++.
#[test]
fn flows_of_different_hosts_have_drr_plus_plus() {
    for seed in 0..rounds(40) {
        let run = |kind: SchedulerKind| {
            let mut rng = Rng::named(seed, "pairs");
            let mut lines = Lines::new(World::with(kind), &[rate(LINK)]);
            let legs: Vec<Leg> =
                (1..2 + rng.below(9) as u32).map(|host| lines.world.open(0, &between([host; 2]))).collect();
            at_random(&mut lines, &legs, &mut rng);
            lines.sent
        };
        assert!(run(scheduler(1514)) == run(kind("drr++")), "seed {seed}");
    }
}
