//! Links with credit: no packet exceeds its bound, and no VC of a flow that has one is without credit.

use super::common::{add, chain, rate};
use super::{LINK, Shares, compare_with, long, network, pick};
use std::sync::Arc;
use tidegate_core::credit::params::{Conduct, CreditPlan, CreditTerms, Per, Protocol};
use tidegate_core::curves::whole;
use tidegate_core::link::{Loss, Reordering};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::Span;
use tidegate_formats::{CreditLinks, LinkCredit};
use tidegate_sim::bounds::bounds;
use tidegate_sim::network::Network;
use tidegate_sim::source::Traffic;

fn plan(buf_alloc: u32, n2: u32, credit_cell: u32) -> CreditPlan {
    CreditPlan {
        per: Per::Flow,
        protocol: Protocol::Cup,
        terms: CreditTerms::Static { buf_alloc, n2 },
        credit_cell,
        repeats: 0,
        duplicate: 0.0,
        sender: Conduct::Obeys,
        check: None,
        rtt: Span::from_millis(100),
    }
}

/// Adds the link back of every link.
fn make_duplex(network: &mut Network) {
    for ix in 0..network.links.len() {
        let mut back = network.links[ix].clone();
        (back.from, back.to) = (back.to, back.from);
        back.name = format!("{} back", back.name);
        network.links.push(back);
    }
}

/// Gives each link with static credit as many places as the flows need that would otherwise run out of
/// credit.
fn give_what_is_needed(network: &mut Network) {
    for _ in 0..20 {
        let mut credit = network.stage_terms.get::<CreditLinks>().unwrap().clone();
        let mut is_enough = true;
        for why in bounds(network).flows.iter().filter_map(|bound| bound.as_ref().err()) {
            let Some((port, needs)) = why.split_once(": its credit of ") else { continue };
            let Some((_, needs)) = needs.split_once("it needs ") else { continue };
            let link = network.links.iter().position(|link| link.name == port).unwrap();
            if let CreditTerms::Static { buf_alloc, .. } =
                &mut credit.links[link].as_mut().unwrap().plan.terms
            {
                *buf_alloc = (*buf_alloc).max(needs.parse().unwrap());
                is_enough = false;
            }
        }
        if is_enough {
            return;
        }
        network.stage_terms.set(Some(credit));
    }
}

/// Sets credit on links, with the number of their VCs.
fn set_credit(network: &mut Network, plans: &[Option<CreditPlan>]) {
    let links = plans.iter().enumerate().map(|(link, plan)| {
        let flows = network.flows.iter().filter(|flow| flow.route.contains(&link)).count() as u64;
        plan.map(|plan| LinkCredit {
            plan,
            vcs: if plan.per == Per::Link { flows.min(1) } else { flows },
            further: Vec::new(),
        })
    });
    let credit = CreditLinks { links: links.collect(), outputs: Vec::new() };
    network.stage_terms.set(Some(credit));
}

/// A network with links in both directions, of which most have credit. Beside the flows that conform
/// are others, there and back, that send as fast as credit lets them.
fn network_with_credit(rng: &mut Rng, seed: u64) -> Network {
    let mut network = network(rng, seed);
    network.links.iter_mut().for_each(|link| link.port.ceiling = None);
    let hops = network.links.len();
    let conforming = network.flows.len();
    make_duplex(&mut network);
    // Some flows go back instead.
    for flow in &mut network.flows {
        if rng.chance(0.25) {
            flow.route = flow.route.iter().rev().map(|link| hops + link).collect();
        }
    }
    // Seldom are there more VCs than records in a credit cell.
    let others = if rng.chance(0.1) { 12 } else { rng.below(4) };
    for _ in 0..others {
        let like = network.flows[rng.below(conforming as u64) as usize].clone();
        let sizes: Arc<[u32]> = Arc::new([pick(rng, &[100, 400, 1_500])]);
        let reserve = pick(rng, &[None, Some(LINK / 20)]);
        let window = 1 + rng.below(30) as u32;
        add(&mut network, 0..like.route.len(), reserve, Traffic::Greedy { window, sizes });
        let flow = network.flows.last_mut().unwrap();
        flow.route = like.route.clone();
        let priority = rng.below(3) as u8;
        flow.plans.iter_mut().for_each(|plan| plan.contract.priority = priority);
    }
    let few = rng.chance(0.5);
    let plans: Vec<Option<CreditPlan>> = (0..network.links.len())
        .map(|ix| {
            if rng.chance(0.2) {
                return None;
            }
            let n2 = pick(rng, &[1, 1, 2, 3, 8]);
            let more = if few { rng.below(6) } else { rng.below(80) };
            let mut plan = plan(n2 + more as u32, n2, pick(rng, &[10, 53, 100]));
            plan.repeats = pick(rng, &[0, 0, 1]);
            plan.protocol = if plan.repeats > 0 {
                Protocol::Cup
            } else {
                pick(rng, &[Protocol::Cup, Protocol::Incremental])
            };
            plan.per = if rng.chance(0.15) { Per::Link } else { Per::Flow };
            if rng.chance(0.05) {
                network.links[ix].line.loss = Loss::new(0.1).unwrap();
                plan.protocol = Protocol::Cup;
                plan.check = Some(Span::from_millis(300));
            }
            Some(plan)
        })
        .collect();
    set_credit(&mut network, &plans);
    network
}

#[test]
fn no_random_network_with_credit_exceeds_its_bounds_or_waits_for_credit() {
    let (mut most, mut bounded, mut vcs, mut waiting, mut refused) = (Shares::default(), 0, 0, 0, 0);
    let few = if long::is_long() { 5_000 } else { 700 };
    for seed in 0..few {
        let mut rng = Rng::named(seed, "bounds with credit");
        let mut network = network_with_credit(&mut rng, seed);
        if rng.chance(0.5) {
            give_what_is_needed(&mut network);
        }
        let found = bounds(&network);
        let (shares, world) = match compare_with(&network, &found, seed) {
            Ok(compared) => compared,
            Err(why) if why.contains(" of ") && !why.contains("slot") => panic!("seed {seed}: {why}"),
            Err(_) => {
                refused += 1;
                continue;
            }
        };
        for vc in world.credit_vcs() {
            let is_its = |ix: usize| match vc.flow {
                Some(flow) => flow as usize == ix,
                None => network.flows[ix].route.contains(&(vc.link as usize)),
            };
            let has_bound = (0..network.flows.len()).any(|ix| is_its(ix) && found.flows[ix].is_ok());
            if has_bound {
                vcs += 1;
                assert_eq!(vc.without_credit, Span::ZERO, "seed {seed}: {vc:?}");
            } else {
                waiting += u32::from(vc.without_credit > Span::ZERO);
            }
        }
        bounded += shares.bounded;
        most.delay = most.delay.max(shares.delay);
        most.hop = most.hop.max(shares.hop);
        most.backlog = most.backlog.max(shares.backlog);
    }
    println!(
        "{bounded} flows, {vcs} VCs of theirs, {waiting} others without credit at times, {refused} refused; {:.3} {:.3} {:.3}",
        most.delay, most.hop, most.backlog
    );
    assert!(bounded > few as u32 / 2 && vcs > few as u32 / 2 && waiting > few as u32 / 2);
}

/// A link of 125 bytes/ms in both directions with a delay of 1 ms, under FIFO.
fn one_link() -> Network {
    let mut network = chain(1, LINK, Span::from_millis(1), "fifo", Span::from_secs(1));
    network.links[0].port.rate = Some(rate(LINK));
    make_duplex(&mut network);
    network
}

/// Adds a flow over a link, in packets of one size with a bucket.
fn add_bucket(network: &mut Network, link: usize, size: u32, burst: u32, bits: u64) {
    let traffic = super::bursts(&mut Rng::named(1, "burst"), size, burst, bits);
    add(network, link..link + 1, None, traffic);
    network.flows.last_mut().unwrap().envelope = Some(ShaperPlan {
        rate: rate(bits),
        burst,
        peak: None,
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    });
}

fn reason(network: &Network, flow: usize) -> String {
    bounds(network).flows[flow].as_ref().unwrap_err().clone()
}

/// Records of two packets each for 125 bytes/ms of 500-byte packets are 6.25 bytes/ms in cells of 50
/// bytes, and for 8 packets outstanding, one more and a cell on its way out 275 bytes: 1,500 bytes take
/// (1,500 + 275) / 118.75 ms.
#[test]
fn credit_cells_delay_packets_on_the_link_back() {
    let mut network = one_link();
    add_bucket(&mut network, 0, 500, 500, LINK / 4);
    add_bucket(&mut network, 1, 500, 1_500, LINK / 4);
    set_credit(&mut network, &[Some(plan(8, 2, 50)), None]);
    let delay = bounds(&network).flows[1].as_ref().unwrap().hops[0].delay.clone();
    assert_eq!(delay, whole(284) / whole(19_000));
}

/// Behind the port a burst is no more than a packet and 125 bytes/ms. A credit cell takes 0.8 ms, behind a
/// packet of 400 bytes that takes 3.2 ms, and the way there and back 2 ms: 850 bytes in a loop of 6 ms.
/// With seven VCs a second credit cell may be before it, so that 950 bytes come.
#[test]
fn a_credit_cell_has_the_records_of_six_vcs() {
    for (others, needs) in [(5, 9), (6, 10)] {
        let mut network = one_link();
        add_bucket(&mut network, 0, 100, 2_000, LINK / 10);
        (0..others).for_each(|_| add_bucket(&mut network, 0, 100, 100, LINK / 100));
        add_bucket(&mut network, 1, 400, 400, LINK / 10);
        set_credit(&mut network, &[Some(plan(1, 1, 100)), None]);
        let needs = format!("s1->s2: its credit of 1 packets may run out, and it needs {needs}");
        assert_eq!(reason(&network, 0), needs);
    }
}

/// Credit of which nothing is known has the reason instead, there or on the link back.
#[test]
fn where_a_window_is_not_known_the_reason_is_given() {
    type Change = fn(&mut Network, &mut CreditPlan);
    let cases: &[(&str, usize, Change)] = &[
        ("s1->s2: its credit is allocated adaptively", 0, |_, plan| {
            plan.terms = CreditTerms::Sender { pool: 100, n2: 1, interval: Span::from_millis(500) };
        }),
        ("s1->s2: its sender ignores credit", 0, |_, plan| plan.sender = Conduct::Ignores),
        ("s1->s2: its credit cells may arrive twice and count twice", 0, |_, plan| {
            (plan.protocol, plan.duplicate) = (Protocol::Incremental, 0.1);
        }),
        ("s1->s2: its credit may be lost with packets or credit cells", 0, |network, _| {
            network.links[0].line.loss = Loss::new(0.1).unwrap();
        }),
        ("s1->s2: its credit may be lost with packets or credit cells", 0, |network, _| {
            network.links[1].line.loss = Loss::new(0.1).unwrap();
        }),
        ("s1->s2: the time of its credit cells is not known", 0, |network, _| {
            network.links[1].line.reordering = Reordering::new(0.1, Span::from_millis(3)).unwrap();
        }),
        ("s1->s2: credit_check cells go over it", 0, |_, plan| plan.check = Some(Span::from_millis(300))),
        ("s1->s2 back: the number of credit cells over it has no bound", 1, |_, plan| {
            plan.check = Some(Span::from_millis(300));
        }),
        ("s1->s2 back: it has a ceiling beside credit cells", 1, |network, _| {
            network.links[1].port.ceiling = Some(rate(LINK / 2));
        }),
        (
            "s1->s2 back: the buffer of its node is divided among VCs with and without credit",
            1,
            |network, _| {
                network.nodes[1].buffer = Some(Limit::Packets(1_000));
            },
        ),
    ];
    for (why, flow, change) in cases {
        let mut network = one_link();
        add_bucket(&mut network, 0, 500, 500, LINK / 4);
        add_bucket(&mut network, 1, 500, 500, LINK / 4);
        let mut plan = plan(100, 2, 50);
        change(&mut network, &mut plan);
        set_credit(&mut network, &[Some(plan), None]);
        assert_eq!(reason(&network, *flow), *why);
    }
}

/// A burst whose packets are back to back. The condition counts a credit cell on its way out that this VC
/// never meets, but no packet more: with one place less than it asks for, the VC is without credit.
#[test]
fn a_window_of_one_packet_less_than_needed_waits_for_credit() {
    for n2 in 1..8 {
        let of_places = |places: u32| {
            let mut network = one_link();
            network.links.iter_mut().for_each(|link| link.line.delay = Span::from_micros(10_700));
            add_bucket(&mut network, 0, 500, 30_000, LINK / 2);
            set_credit(&mut network, &[Some(plan(places, n2, 50)), None]);
            let found = bounds(&network);
            let (_, world) = compare_with(&network, &found, 1).unwrap();
            (found.flows[0].is_ok(), world.credit_vcs()[0].without_credit)
        };
        let least = (n2..).find(|places| of_places(*places).0).unwrap();
        assert_eq!(of_places(least).1, Span::ZERO);
        assert!(least > n2 && of_places(least - 1).1 > Span::ZERO, "N2 {n2}: {least}");
    }
}
