//! Push-out, against its rules carried out by hand: stamp and insert, then evict from the longest
//! queue by packets (the packet in service counts and stays; ties to the latest arrival) the packet
//! with the largest stamp (ties to the latest arrival); or from the port that holds most beyond its
//! share, first packets that may not be sent when those are more than a third of the rest. Clocks
//! keep the advance.

mod common;

use common::oracle::{Oracle, Rule, evict_one, push_out, shares};
use common::{World, every_scheduler, kind, pick, rate, reserved, rounds};
use tidegate_core::context::{Body, Reason};
use tidegate_core::contract::Contract;
use tidegate_core::packet::{Leg, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::{ClassPlan, FlowPlan, PacketSizes, PortPlan, PushOut, SwitchPlan};
use tidegate_core::units::Span;

const BOTH: [PushOut; 2] = [PushOut::Shares, PushOut::LongestQueue];

struct Pool {
    world: World,
    ports: Vec<Oracle>,
    legs: Vec<Vec<Leg>>,
    limit: Limit,
    push_out: PushOut,
    arrived: u64,
}

impl Pool {
    fn new(rules: &[Rule], limit: Limit, push_out: PushOut) -> Pool {
        let ports = rules.iter().map(|rule| PortPlan::new(kind(rule.name()))).collect();
        let plan = SwitchPlan { ports, buffer: Some(limit), push_out, ..SwitchPlan::default() };
        Pool {
            world: World::new(&plan),
            ports: rules.iter().map(|rule| Oracle::new(*rule)).collect(),
            legs: vec![Vec::new(); rules.len()],
            limit,
            push_out,
            arrived: 0,
        }
    }

    fn open(&mut self, port: usize, contract: Contract, sizes: Option<(u32, u32)>) {
        let known = sizes.map(|(smallest, largest)| PacketSizes { smallest, largest });
        let leg = self.world.open(port as u16, &FlowPlan { contract, sizes: known, ..FlowPlan::default() });
        self.legs[port].push(leg);
        self.ports[port].open_sized(contract, sizes);
    }

    /// Changes the flow's contract from now on.
    fn set(&mut self, port: usize, flow: usize, contract: Contract) {
        let (leg, sizes) = (self.legs[port][flow], self.ports[port].flows[flow].sizes);
        let sizes = sizes.map(|(smallest, largest)| PacketSizes { smallest, largest });
        let plan = FlowPlan { contract, sizes, ..FlowPlan::default() };
        _ = self.world.cx(|switch, cx| switch.change(cx.now, leg, &plan)).unwrap();
        self.ports[port].set(self.world.now, flow, contract);
    }

    fn arrive(&mut self, port: usize, flow: usize, len: u32) {
        let body = self.world.arrive(&[self.legs[port][flow]], len);
        self.arrived += 1;
        self.ports[port].arrive(self.world.now, flow, body, len, self.arrived);
        let mut expected = Vec::new();
        while !self.fits() {
            let goes = match self.push_out {
                PushOut::Shares => evict_one(&mut self.ports, self.limit),
                PushOut::LongestQueue => push_out(&mut self.ports),
            };
            expected.push((goes.body, Reason::PushedOut, Body::Released));
        }
        assert_eq!(self.world.dropped(), expected);
        for (port, oracle) in self.ports.iter().enumerate() {
            assert_eq!(self.world.switch.backlog(PortIx(port as u16)).packets, oracle.packets());
        }
    }

    fn fits(&self) -> bool {
        let packets = self.ports.iter().map(Oracle::packets).sum();
        let bytes = self.ports.iter().map(Oracle::bytes).sum();
        self.limit.admits(packets, bytes)
    }

    fn turn(&mut self, port: usize) {
        if self.ports[port].in_service.take().is_some() {
            self.world.finish(port as u16);
        } else {
            let sent = self.world.start(port as u16).map(|packet| packet.body.0);
            assert_eq!(sent, self.ports[port].start());
        }
    }
}

fn contract(rng: &mut Rng) -> Contract {
    let reserve = pick(rng, &[None, Some(1_000_000), Some(4_000_000), Some(8_000_000), Some(333_333)]);
    Contract { reserve: reserve.map(rate), priority: rng.below(3) as u8, ..Contract::default() }
}

/// Adds a bucket to the contract: as stated, or by the interval.
fn with_bucket(rng: &mut Rng, contract: Contract) -> Contract {
    let workahead = pick(rng, &[None, Some(1_500), Some(4_000), Some(30_000)]);
    let interval = pick(rng, &[None, Some(Span::from_millis(1)), Some(Span::from_millis(20))]);
    Contract { workahead, interval, ..contract }
}

/// Returns true if the pool covers the needs of all ports, or there is no pool.
fn shares_fit(ports: &[Oracle], limit: Limit) -> bool {
    let (Limit::Packets(pool) | Limit::Bytes(pool)) = limit;
    let (shares, whole) = shares(ports, limit);
    shares.iter().sum::<i128>() < i128::from(pool) * whole
}

#[test]
fn the_victims_are_those_that_brute_force_finds() {
    // Pools that hold all buckets, and pools that do not.
    let mut covered = [0, 0];
    for (seed, push_out) in (0..rounds(60)).flat_map(|seed| BOTH.map(|push_out| (seed, push_out))) {
        let mut rng = Rng::named(seed, "push-out");
        let rules: Vec<Rule> = (0..1 + rng.below(4)).map(|_| pick(&mut rng, &Rule::ALL)).collect();
        let limit = match seed % 3 {
            0 => Limit::Packets(1 + rng.below(20)),
            1 => Limit::Packets(40),
            _ => Limit::Bytes(1000 + rng.below(40_000)),
        };
        let mut pool = Pool::new(&rules, limit, push_out);
        let buckets = rng.chance(0.6);
        for port in 0..rules.len() {
            for _ in 0..1 + rng.below(5) {
                let sizes = pick(&mut rng, &[None, Some((40, 1500)), Some((500, 1500)), Some((1000, 1000))]);
                let mut contract = contract(&mut rng);
                if buckets && rng.chance(0.7) {
                    contract = with_bucket(&mut rng, contract);
                }
                pool.open(port, contract, sizes);
            }
        }
        covered[usize::from(shares_fit(&pool.ports, limit))] += u64::from(buckets);
        for _ in 0..700 {
            let port = rng.below(rules.len() as u64) as usize;
            let flow = rng.below(pool.legs[port].len() as u64) as usize;
            match rng.below(100) {
                0..55 => pool.arrive(port, flow, pick(&mut rng, &[40, 500, 1000, 1000, 1000, 1500])),
                55..80 => pool.turn(port),
                80..91 => pool.world.wait(Span::from_micros(500 * rng.below(8))),
                91 if buckets => {
                    // The rate stays, so that the scheduler continues as before.
                    let contract = pool.ports[port].flows[flow].contract;
                    let contract = with_bucket(&mut rng, contract);
                    pool.set(port, flow, contract);
                }
                91..98 => {
                    let gate = pick(
                        &mut rng,
                        &[
                            Participation::Active,
                            Participation::Active,
                            Participation::Held,
                            Participation::Absent,
                        ],
                    );
                    pool.world.take_part(pool.legs[port][flow], gate);
                    pool.ports[port].take_part(pool.world.now, flow, gate);
                }
                _ => (0..40).for_each(|_| pool.turn(port)),
            }
        }
    }
    assert!(covered.iter().all(|cases| *cases > rounds(60) / 6), "{covered:?}");
}

/// A dropped packet was still sent too fast: the flow's next packet is stamped behind it.
#[test]
fn clocks_keep_the_advance_of_what_is_pushed_out() {
    let mut pool = Pool::new(&[Rule::VirtualClock], Limit::Packets(4), PushOut::default());
    pool.open(0, Contract { reserve: Some(rate(1_000_000)), ..Contract::default() }, None);
    pool.open(0, Contract { reserve: Some(rate(1_000_000)), ..Contract::default() }, None);
    (0..30).for_each(|_| pool.arrive(0, 0, 1000));
    // The second flow was quiet: it takes two of the four places. The first is 30 packets ahead.
    (0..3).for_each(|_| pool.arrive(0, 1, 1000));
    for _ in 0..2 {
        pool.turn(0);
        pool.turn(0);
    }
    pool.arrive(0, 0, 1000);
    pool.arrive(0, 1, 1000);
    let served: Vec<u32> = std::iter::from_fn(|| pool.world.send(0)).map(|packet| packet.flow.0).collect();
    assert_eq!(served, [0, 1, 1, 0]);
}

/// A multicast packet that does not fit goes without hurting others: all its copies are in
/// before anything is evicted.
#[test]
fn a_multicast_packet_is_inserted_everywhere_before_anything_goes() {
    let ports = vec![PortPlan::new(kind("virtual-clock")); 2];
    let mut world = World::new(&SwitchPlan {
        ports,
        buffer: Some(Limit::Packets(3)),
        push_out: PushOut::LongestQueue,
        ..SwitchPlan::default()
    });
    let both = [world.open(0, &reserved(64_000)), world.open(1, &reserved(64_000))];
    for _ in 0..3 {
        world.arrive(&both, 500);
    }
    let fourth = world.arrive(&both, 500);
    // Port 1 had the latest arrival, then port 0 is the longest.
    let expected = [(fourth, Reason::PushedOut, Body::Kept), (fourth, Reason::PushedOut, Body::Released)];
    assert_eq!(world.dropped(), expected);
}

/// The queue in service is the longest although only one packet of it can go.
#[test]
fn the_packet_in_service_counts_and_stays() {
    let mut pool = Pool::new(&[Rule::Fifo, Rule::Fifo], Limit::Packets(3), PushOut::LongestQueue);
    (0..2).for_each(|port| pool.open(port, Contract::default(), None));
    pool.arrive(0, 0, 100);
    pool.turn(0);
    pool.arrive(0, 0, 100);
    pool.arrive(1, 0, 100);
    // Two and two, the latest arrival at port 1; then the newcomer itself is the one to go.
    pool.arrive(1, 0, 100);
    // Now port 0 is longer, and gives up the newcomer.
    pool.arrive(0, 0, 100);
    // A port with nothing but a packet in service gives nothing.
    pool.turn(0);
    pool.turn(0);
    (0..3).for_each(|_| pool.arrive(1, 0, 100));
}

/// Property of every scheduler, whichever packet it would send last: packets go only while the pool
/// is beyond its limit, from the longest queue that has one to give, and each is the last of its
/// flow.
#[test]
fn every_scheduler_gives_up_the_last_packet_of_a_flow_at_the_longest_queue() {
    const PORTS: usize = 2;
    const LIMIT: usize = 12;
    for scheduler in every_scheduler() {
        for seed in 0..rounds(6) {
            let mut rng = Rng::named(seed, "last of a flow");
            let port = PortPlan { rate: Some(rate(1_000_000)), ..PortPlan::new(scheduler.clone()) };
            let buffer = Some(Limit::Packets(LIMIT as u64));
            let plan = SwitchPlan {
                ports: vec![port; PORTS],
                buffer,
                push_out: PushOut::LongestQueue,
                ..SwitchPlan::default()
            };
            let mut world = World::new(&plan);
            let legs = [0, 1].map(|port| {
                [100_000, 200_000, 0].map(|bits| {
                    let plan = if bits > 0 { reserved(bits) } else { FlowPlan::default() };
                    world.open(port, &plan)
                })
            });
            // Waiting packets of each flow, first to last; packet in service at each port; the
            // latest arrival at each.
            let mut waiting = [(); PORTS].map(|()| vec![Vec::<u32>::new(); 3]);
            let (mut sending, mut latest, mut gone) = ([None; PORTS], [0; PORTS], 0);
            for step in 1..1500 {
                let (port, flow) = (rng.below(PORTS as u64) as usize, rng.below(3) as usize);
                match rng.below(10) {
                    0..6 => {
                        waiting[port][flow]
                            .push(world.arrive(&[legs[port][flow]], 40 + rng.below(1400) as u32));
                        latest[port] = step;
                        for (body, reason, _) in world.dropped() {
                            let held = |at: usize| {
                                waiting[at].iter().map(Vec::len).sum::<usize>()
                                    + usize::from(sending[at].is_some())
                            };
                            assert!(held(0) + held(1) > LIMIT && reason == Reason::PushedOut);
                            let gives = |at: &usize| waiting[*at].iter().any(|flow| !flow.is_empty());
                            let longest = (0..PORTS).filter(gives).max_by_key(|at| (held(*at), latest[*at]));
                            let of =
                                waiting[longest.unwrap()].iter_mut().find(|flow| flow.last() == Some(&body));
                            of.unwrap_or_else(|| {
                                panic!("{scheduler:?}: {body} is the last of no flow there")
                            })
                            .pop();
                            gone += 1;
                        }
                        let all = waiting.iter().flatten().map(Vec::len).sum::<usize>();
                        assert!(all + sending.iter().flatten().count() <= LIMIT);
                    }
                    6..9 if sending[port].take().is_some() => _ = world.finish(port as u16),
                    6..9 => {
                        world.timer(port as u16);
                        if let Some(packet) = world.start(port as u16) {
                            let flow = legs[port].iter().position(|leg| leg.flow == packet.flow).unwrap();
                            assert_eq!(waiting[port][flow].remove(0), packet.body.0);
                            sending[port] = Some(packet.body.0);
                        }
                        world.out.clear();
                    }
                    // Whole slots of 12 ms, and the middle of them.
                    _ => world.wait(Span::from_millis(6 * rng.below(5))),
                }
            }
            assert!(gone > 100, "{scheduler:?}: {gone}");
        }
    }
}

/// Packets behind the token of a class are counted in push-out: while classes fill the pool, a
/// flow that sends less than its share loses nothing.
#[test]
fn a_full_class_loses_before_a_flow_within_its_share() {
    let link = rate(10_000_000);
    for scheduler in [
        "wfq",
        "wf2q-plus",
        "scfq",
        "sfq",
        "drr",
        "round-robin",
        "drr++",
        "host-drr++",
        "triple-isolate",
        "virtual-clock",
    ] {
        // Without reservations all weigh the same; VirtualClock sends nothing ahead of its clock
        // without one.
        let share = if scheduler == "virtual-clock" { reserved(2_500_000) } else { FlowPlan::default() };
        let class = ClassPlan { contract: share.contract, ..ClassPlan::new(kind("fifo")) };
        let port = PortPlan { rate: Some(link), classes: vec![class; 3], ..PortPlan::new(kind(scheduler)) };
        let plan =
            SwitchPlan { ports: vec![port], buffer: Some(Limit::Packets(60)), ..SwitchPlan::default() };
        let mut world = World::new(&plan);
        let mut rng = Rng::named(1, scheduler);
        let kept = world.open(0, &share);
        let floods: Vec<Leg> = (0..3)
            .map(|class| world.open(0, &FlowPlan { class: Some(class), ..FlowPlan::default() }))
            .collect();
        let (mut sent, mut dropped) = (Vec::new(), 0);
        for _ in 0..rounds(10_000) {
            // Now one class fills the pool, now another.
            let flood = floods[(sent.len() / 40) % 3];
            for _ in 0..rng.below(4) {
                world.arrive(&[flood], 60 + rng.below(1_400) as u32);
            }
            if rng.chance(0.1) {
                sent.push(world.arrive(&[kept], 60));
            }
            let lost = world.dropped();
            dropped += lost.len();
            for (body, ..) in lost {
                assert!(!sent.contains(&body), "{scheduler}: {} of the flow within its share", sent.len());
            }
            if let Some(packet) = world.start(0) {
                world.now += link.time_for(packet.len);
                world.finish(0);
            }
        }
        assert!(dropped > 1_000, "{scheduler}: the pool was full {dropped} times");
    }
}
