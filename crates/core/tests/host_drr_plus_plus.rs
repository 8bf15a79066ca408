//! Fairness among hosts first, then among their flows: the lists, step by step; CAKE's divided quanta;
//! the promises to hosts, flows and sparse flows; and with one host, DRR++.

mod common;

use common::lines::Lines;
use common::lists::{Model, assert_sparse, at_random, beside};
use common::{World, kind, pick, rate, rounds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tidegate_core::contract::Contract;
use tidegate_core::dropper::{BuiltInDropper, DropperKind};
use tidegate_core::packet::Leg;
use tidegate_core::params::{NamedPolicy, Value};
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::host_drr_plus_plus::LEAD;
use tidegate_core::scheduler::{BuiltInScheduler, SchedulerKind};
use tidegate_core::switch::plan::{DropperPlan, FlowPlan, PortPlan, Scope, SwitchPlan};
use tidegate_core::units::{Span, Time};

const LINK: u64 = 10_000_000;
const FULL: u32 = 1500;

fn scheduler(name: &str, quantum: u64, form: &str) -> SchedulerKind {
    let values = [("quantum", Value::Size(quantum)), ("form", Value::Text(form.into()))];
    SchedulerKind::BuiltIn(BuiltInScheduler::read(name, &values).unwrap().unwrap())
}

fn of_host(host: Option<u32>) -> FlowPlan {
    FlowPlan { contract: Contract { host, ..Contract::default() }, ..FlowPlan::default() }
}

/// A port, and a flow for each of these hosts.
fn port(scheduler: SchedulerKind, hosts: &[u32]) -> (Lines, Vec<Leg>) {
    let mut lines = Lines::new(World::with(scheduler), &[rate(LINK)]);
    lines.world.audited = false;
    let legs = hosts.iter().map(|host| lines.world.open(0, &of_host(Some(*host)))).collect();
    (lines, legs)
}

/// A flow of the model: its host, deficit and packets (number and length).
struct Flow {
    host: Option<u32>,
    deficit: i64,
    packets: VecDeque<(u32, u32)>,
}

/// The lists, with the queues.
struct Lists {
    quantum: i64,
    linux: bool,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    /// Hosts with old flows, in the order of their turns.
    hosts: VecDeque<Option<u32>>,
    /// The deficit and the old flows of each.
    old: BTreeMap<Option<u32>, (i64, VecDeque<usize>)>,
}

impl Lists {
    fn new(quantum: u64, linux: bool, hosts: &[Option<u32>]) -> Lists {
        let flow = |host: &Option<u32>| Flow { host: *host, deficit: 0, packets: VecDeque::new() };
        let flows = hosts.iter().map(flow).collect();
        let (new, hosts, old) = (VecDeque::new(), VecDeque::new(), BTreeMap::new());
        Lists { quantum: quantum as i64, linux, flows, new, hosts, old }
    }

    fn join_old(&mut self, flow: usize) {
        let host = self.flows[flow].host;
        if !self.old.contains_key(&host) {
            self.hosts.push_back(host);
            self.old.insert(host, (self.quantum, VecDeque::new()));
        }
        self.old.get_mut(&host).unwrap().1.push_back(flow);
    }

    fn end_turns(&mut self) {
        while let Some(host) = self.hosts.front().copied() {
            let deficit = &mut self.old.get_mut(&host).unwrap().0;
            if *deficit > 0 {
                return;
            }
            *deficit += self.quantum;
            self.hosts.rotate_left(1);
        }
    }
}

impl Model for Lists {
    fn enqueue(&mut self, flow: usize, body: u32, len: u32) {
        self.flows[flow].packets.push_back((body, len));
        let listed = self.new.contains(&flow) || self.old.values().any(|(_, flows)| flows.contains(&flow));
        if !listed {
            self.flows[flow].deficit = self.quantum;
            self.new.push_back(flow);
        }
    }

    fn dequeue(&mut self) -> Option<(u32, u32)> {
        // The link does not ask in vain.
        self.flows.iter().find(|flow| !flow.packets.is_empty())?;
        loop {
            let (flow, is_new) = match self.new.front() {
                Some(flow) => (*flow, true),
                None => (self.old[self.hosts.front()?].1[0], false),
            };
            let Flow { host, deficit, packets } = &mut self.flows[flow];
            let host = *host;
            let waits = *deficit <= 0;
            let ahead =
                is_new && self.old.get(&host).is_some_and(|(deficit, _)| *deficit <= -LEAD * self.quantum);
            if waits {
                *deficit += self.quantum;
            } else if !ahead && let Some((body, len)) = packets.pop_front() {
                *deficit -= i64::from(len);
                if let Some((deficit, _)) = self.old.get_mut(&host) {
                    *deficit -= i64::from(len);
                }
                self.end_turns();
                return Some((body, len));
            }
            if is_new {
                self.new.pop_front();
                if waits || ahead || !self.linux || !self.hosts.is_empty() {
                    self.join_old(flow);
                }
                continue;
            }
            let flows = &mut self.old.get_mut(&host).unwrap().1;
            flows.pop_front();
            if waits {
                flows.push_back(flow);
            } else if flows.is_empty() {
                self.old.remove(&host);
                self.hosts.pop_front();
                self.end_turns();
            }
        }
    }
}

#[test]
fn packets_are_sent_as_the_lists_say() {
    let mut led = 0;
    for seed in 0..rounds(120) {
        let mut rng = Rng::named(seed, "lists of hosts");
        let quantum = pick(&mut rng, &[1, 100, 1514, 5000, 100_000]);
        let form = pick(&mut rng, &["rfc", "linux"]);
        let most = 1 + rng.below(4);
        let hosts: Vec<Option<u32>> = (0..1 + rng.below(12))
            .map(|_| Some(rng.below(most) as u32 * 1_000_000_007 % 11).filter(|host| *host > 0))
            .collect();
        let mut lines = Lines::new(World::with(scheduler("host-drr++", quantum, form)), &[rate(LINK)]);
        let legs: Vec<_> = hosts.iter().map(|host| lines.world.open(0, &of_host(*host))).collect();
        let mut lists = Lists::new(quantum, form == "linux", &hosts);
        let see = |lists: &Lists, _| {
            led += usize::from(lists.old.values().any(|(deficit, _)| *deficit <= -LEAD * lists.quantum));
        };
        let loads = [0.7, 0.95, 1.3, 3.0];
        let (real, sent) = beside(&mut lines, &legs, &mut lists, &mut rng, &loads, see);
        assert_eq!(real, sent, "seed {seed}: quantum {quantum}, {form}, {hosts:?}");
    }
    assert!(led > 100, "hosts were ahead of their turns {led} times");
}

/// With one host, packets are sent and dropped as by DRR++, with CoDel at each flow's queue, too.
#[test]
fn one_host_has_drr_plus_plus() {
    let codel = DropperKind::BuiltIn(BuiltInDropper::read("codel", &[]).unwrap().unwrap());
    for seed in 0..rounds(60) {
        let run = |name: &str| {
            let mut rng = Rng::named(seed, "one host");
            let quantum = pick(&mut rng, &[1, 300, 1514, 20_000]);
            let form = pick(&mut rng, &["rfc", "linux"]);
            let dropper = DropperPlan { kind: codel.clone(), scope: Scope::Flow, detector: None };
            let port = PortPlan::new(scheduler(name, quantum, form));
            let port = PortPlan { dropper: rng.chance(0.5).then_some(dropper), ..port };
            let plan = SwitchPlan { ports: vec![port], ..SwitchPlan::default() };
            let mut lines = Lines::new(World::new(&plan), &[rate(LINK)]);
            let host = pick(&mut rng, &[None, Some(7)]);
            let legs: Vec<_> = (0..1 + rng.below(9)).map(|_| lines.world.open(0, &of_host(host))).collect();
            at_random(&mut lines, &legs, &mut rng);
            let dropped: Vec<u32> = lines.dropped.iter().map(|(_, packet, _)| packet.body.0).collect();
            (lines.sent, dropped)
        };
        assert!(run("host-drr++") == run("drr++"), "seed {seed}");
    }
}

/// While all are backlogged, two hosts differ by less than two quanta and two packets, whatever their
/// numbers of flows, and two flows of a host by less than that. So do their bytes from those that
/// CAKE's quanta give, which are divided by the number of a host's flows.
#[test]
fn backlogged_hosts_share_equally_and_so_do_the_flows_of_each() {
    for seed in 0..rounds(20) {
        let mut rng = Rng::named(seed, "shares of hosts");
        let quantum = pick(&mut rng, &[300, 1514, 3000]);
        let mut flows = |host: u32| vec![host; 1 + rng.below([2, 30][host as usize % 2]) as usize];
        let hosts = [0, 1, 2, 3, 4].map(&mut flows)[..2 + seed as usize % 4].concat();
        let (mut lines, legs) = port(scheduler("host-drr++", quantum, "rfc"), &hosts);
        let mut queues = vec![VecDeque::new(); hosts.len()];
        for _ in 0..800 {
            for (leg, queue) in legs.iter().zip(&mut queues) {
                let len = pick(&mut rng, &[40, 576, FULL]);
                lines.world.arrive(&[*leg], len);
                queue.push_back(len);
            }
        }
        lines.run(Time::ORIGIN + Span::from_millis(800));
        let least = (quantum + u64::from(FULL)) as i64;
        // From when every flow is old, for a new one sends a quantum and a packet at most; and every
        // host has sent its turns for what it sent then.
        let new = (hosts.len() as i64 * least + 6 * (LEAD + 2) * quantum as i64) as usize;
        let mut by_host: BTreeMap<u32, i64> = hosts.iter().map(|host| (*host, 0)).collect();
        let (mut by_flow, mut all) = (vec![0i64; hosts.len()], 0);
        for sent in &lines.sent {
            all += sent.packet.len as usize;
            if all < new {
                continue;
            }
            let flow = sent.packet.flow.ix();
            by_flow[flow] += i64::from(sent.packet.len);
            *by_host.get_mut(&hosts[flow]).unwrap() += i64::from(sent.packet.len);
            let spread = |values: &[i64]| values.iter().max().unwrap() - values.iter().min().unwrap();
            let of_hosts: Vec<i64> = by_host.values().copied().collect();
            assert!(spread(&of_hosts) <= 2 * least, "seed {seed}: {of_hosts:?}, {quantum}");
            for host in by_host.keys() {
                let own: Vec<i64> =
                    (0..hosts.len()).filter(|flow| hosts[*flow] == *host).map(|flow| by_flow[flow]).collect();
                assert!(spread(&own) <= 2 * least, "seed {seed}: {own:?}, quantum {quantum}");
            }
        }
        assert!(all > 3 * new / 2, "seed {seed}: {all} bytes, {new} of new flows");
        let cake = cake(quantum as f64, &hosts, queues, all);
        let mut real = vec![0.0; hosts.len()];
        lines.sent.iter().for_each(|sent| real[sent.packet.flow.ix()] += f64::from(sent.packet.len));
        // A host may have been ahead by what its new flows send.
        let most = ((LEAD + 2) * quantum as i64 + 3 * least) as f64;
        let apart = |(real, cake): (&f64, &f64)| (real - cake).abs() <= most;
        assert!(real.iter().zip(&cake).all(apart), "seed {seed}: {real:?}, CAKE {cake:?}");
    }
}

/// The bytes of flows that are backlogged from the start, in CAKE: DRR++, in which a flow's quantum
/// is divided by the number of its host's flows.
fn cake(quantum: f64, hosts: &[u32], mut queues: Vec<VecDeque<u32>>, until: usize) -> Vec<f64> {
    let load = |flow: usize| hosts.iter().filter(|host| **host == hosts[flow]).count() as f64;
    let mut sent = vec![0.0; hosts.len()];
    let mut deficits = vec![0.0; hosts.len()];
    while sent.iter().sum::<f64>() < until as f64 {
        for flow in 0..hosts.len() {
            deficits[flow] += quantum / load(flow);
            while deficits[flow] > 0.0
                && let Some(len) = queues[flow].pop_front()
            {
                deficits[flow] -= f64::from(len);
                sent[flow] += f64::from(len);
            }
        }
    }
    sent
}

/// Hosts that begin conversations all the time, of a packet each, get no more than the others: they
/// are ahead by the quanta that new flows may send at most.
#[test]
fn hosts_share_equally_however_often_conversations_begin() {
    let quantum = 1514;
    let hosts: Vec<u32> = [vec![0, 1], vec![2; 200], vec![3; 200]].concat();
    let (mut lines, legs) = port(scheduler("host-drr++", quantum, "rfc"), &hosts);
    for _ in 0..1000 {
        legs[..4].iter().for_each(|leg| _ = lines.world.arrive(&[*leg], FULL));
    }
    legs[202..204].iter().for_each(|leg| (0..1000).for_each(|_| _ = lines.world.arrive(&[*leg], FULL)));
    let mut rng = Rng::named(1, "conversations begin");
    for _ in 0..8_000 {
        let flow = 204 + rng.below(198) as usize;
        lines.arrive(&[legs[flow]], pick(&mut rng, &[100, FULL]));
        let now = lines.world.now + Span::from_micros(300);
        lines.run(now);
    }
    let (mut by_host, mut all) = ([0i64; 4], 0);
    for sent in &lines.sent {
        by_host[hosts[sent.packet.flow.ix()] as usize] += i64::from(sent.packet.len);
        all += i64::from(sent.packet.len);
        let (most, least) = (by_host.iter().max().unwrap(), by_host.iter().min().unwrap());
        let bound = (LEAD + 3) * quantum as i64 + 3 * i64::from(FULL);
        assert!(most - least <= bound, "{by_host:?}");
    }
    assert!(all > 2_900_000, "{all}");
}

/// Hosts that ask for less than their share get what they ask for, and the others share the rest.
#[test]
fn the_unused_share_goes_to_the_others() {
    let hosts = [0, 1, 1, 1, 1, 2];
    let (mut lines, legs) = port(scheduler("host-drr++", 1514, "rfc"), &hosts);
    for _ in 0..4000 {
        legs[1..].iter().for_each(|leg| _ = lines.world.arrive(&[*leg], FULL));
    }
    // A fifth of the link, which is less than a third.
    for _ in 0..1000 {
        lines.arrive(&[legs[0]], FULL);
        let now = lines.world.now + Span::from_millis(6);
        lines.run(now);
    }
    let end = lines.world.now;
    let of = |host| lines.bytes(Time::ORIGIN, end, |sent| hosts[sent.packet.flow.ix()] == host) as f64;
    let all = LINK as f64 * 6.0 / 8.0;
    for (host, share) in [(0, 0.2), (1, 0.4), (2, 0.4)] {
        assert!((of(host) / all - share).abs() < 0.002, "host {host}: {}", of(host) / all);
    }
}

/// A flow that sends less than a quantum in a round of its host waits for one packet in service at most, of a host with
/// many backlogged flows and of one without, whatever the others have queued.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    let hosts: Vec<u32> = [vec![1; 10], vec![2; 2], vec![1, 2, 3]].concat();
    let (mut lines, legs) = port(scheduler("host-drr++", 1514, "rfc"), &hosts);
    for _ in 0..300 {
        legs[..12].iter().for_each(|leg| _ = lines.world.arrive(&[*leg], FULL));
    }
    // Until the others are new no more.
    lines.run(Time::ORIGIN + Span::from_millis(100));
    assert_sparse(&mut lines, &legs[12..], Span::from_micros(15_700), 200, FULL);
}

/// Flows are closed and their indexes given to flows of other hosts: every packet is sent once.
#[test]
fn hosts_come_and_go() {
    for seed in 0..rounds(30) {
        let mut rng = Rng::named(seed, "hosts come and go");
        let mut lines = Lines::new(World::with(kind("host-drr++")), &[rate(LINK)]);
        let mut open: Vec<Leg> = Vec::new();
        let mut arrived = 0;
        for _ in 0..600 {
            match rng.below(8) {
                0 => open.push(lines.world.open(0, &of_host(Some(rng.below(4) as u32)))),
                1 if !open.is_empty() => {
                    let leg = open.swap_remove(rng.below(open.len() as u64) as usize);
                    let World { switch, now, .. } = &mut lines.world;
                    _ = switch.close(*now, leg);
                }
                _ if !open.is_empty() => {
                    let leg = pick(&mut rng, &open);
                    lines.arrive(&[leg], pick(&mut rng, &[64, FULL]));
                    arrived += 1;
                }
                _ => {}
            }
            let now = lines.world.now + Span::from_micros(rng.below(1_000));
            lines.run(now);
        }
        lines.drain();
        let sent: BTreeSet<u32> = lines.sent.iter().map(|sent| sent.packet.body.0).collect();
        assert_eq!((sent.len(), lines.sent.len()), (arrived, arrived), "seed {seed}");
    }
}
