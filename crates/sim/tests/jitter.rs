//! Jitter over several hops: regulators keep it to that of the last hop, and FIFO+ slows its
//! growth.

mod common;

use common::{add, chain, five_servers, rate, run, run_with};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::{Gap, Traffic};
use tidegate_sim::world::World;

const LINK: u64 = 10_000_000;
const PACKET: u32 = 500;
const WORKAHEAD: u32 = 1_500;
const BOUND: Span = Span::from_millis(14);
const PROPAGATION: Span = Span::from_millis(2);

/// A flow over all hops, and at every hop nine that leave again: each with an envelope of 1500
/// bytes and 1 Mbit/s, and sources that fill it. Ten such bursts are 12 ms on the link, so that
/// deadlines of 14 ms are kept.
fn network(scheduler: &str, hops: usize) -> Network {
    let mut network = chain(hops, LINK, PROPAGATION, scheduler, Span::from_secs(3));
    let routes = std::iter::once(0..hops).chain((0..hops).flat_map(|hop| vec![hop..hop + 1; 9]));
    for route in routes {
        let (gap, sizes) = (Gap::AtRate(rate(LINK)), Arc::new([PACKET]));
        add(
            &mut network,
            route,
            Some(1_000_000),
            Traffic::Trains { rate: rate(900_000), length: 6.0, gap, sizes },
        );
        let flow = network.flows.last_mut().unwrap();
        flow.envelope = Some(ShaperPlan {
            rate: rate(1_000_000),
            burst: WORKAHEAD,
            peak: None,
            queue: None,
            excess: Excess::Wait,
            calendar: None,
        });
        for plan in &mut flow.plans {
            plan.contract.deadline = Some(BOUND);
            plan.contract.workahead = Some(WORKAHEAD);
        }
    }
    network
}

/// Delay of the first flow's packets from leaving their envelope to their last bit's end: least and
/// greatest.
fn delays(network: &Network, seed: u64) -> (Span, Span) {
    let world: World<Calendar> = run_with(network, seed, &Probes { log: true, ..Probes::default() });
    let mut began: BTreeMap<u64, Time> = BTreeMap::new();
    let mut took: Vec<Span> = Vec::new();
    for entry in world.log() {
        match entry.what {
            PacketEvent::Started { packet, queued, .. } if packet.flow == 0 && entry.link == 0 => {
                began.insert(packet.sequence, queued);
            }
            PacketEvent::Received(packet) if packet.flow == 0 => {
                took.push(entry.at.since(began[&packet.sequence]))
            }
            _ => {}
        }
    }
    assert!(took.len() > 500, "{}", took.len());
    (*took.iter().min().unwrap(), *took.iter().max().unwrap())
}

fn times(span: Span, count: usize) -> Span {
    Span::from_ticks(span.ticks() * count as u64)
}

/// Verma, Zhang and Ferrari 1991: with every deadline kept, a packet is eligible at each hop
/// exactly a bound and the propagation after it was at the hop before, so that only the last hop's
/// delay varies. Under EDF and FIFO every hop adds its own.
#[test]
fn regulators_keep_jitter_to_that_of_the_last_hop() {
    let mut grows = BTreeMap::from([("edf", Vec::new()), ("fifo", Vec::new())]);
    for hops in 1..=5 {
        let (least, most) = delays(&network("jitter-edd", hops), 1);
        let before = times(BOUND, hops - 1) + times(PROPAGATION, hops);
        assert!(least >= before + rate(LINK).time_for(PACKET), "{least:?} over {hops} hops");
        assert!(most <= before + BOUND, "{most:?} over {hops} hops");
        for (name, jitters) in &mut grows {
            let (least, most) = delays(&network(name, hops), 1);
            jitters.push(most.ticks() - least.ticks());
        }
    }
    for (name, jitters) in grows {
        assert!(jitters[4] * 2 > jitters[0] * 3, "{name}: {jitters:?}");
    }
}

/// Clark, Shenker and Zhang 1992, section 6: FIFO+ leaves the mean delay of long ways about as it
/// is, and makes it vary less.
#[test]
fn fifo_plus_makes_the_delay_of_long_ways_vary_less() {
    for seed in 1..=2 {
        let queueing = |scheduler: &str| {
            let world = run(&five_servers(scheduler, Span::from_secs(2)), seed);
            let flows = world.records()[..8].iter().map(|record| record.queueing);
            let mean = flows.clone().map(|queueing| queueing.mean().unwrap().as_secs_f64()).sum::<f64>();
            let deviation = flows.clone().map(|queueing| queueing.sd_seconds().unwrap()).sum::<f64>();
            let most = flows.map(|queueing| queueing.max().unwrap().as_secs_f64()).sum::<f64>();
            (mean, deviation, most)
        };
        let (fifo_plus, fifo) = (queueing("fifo-plus"), queueing("fifo"));
        assert!((fifo_plus.0 / fifo.0 - 1.0).abs() < 0.1, "seed {seed}: {fifo_plus:?}, {fifo:?}");
        assert!(fifo_plus.1 < 0.9 * fifo.1, "seed {seed}: {fifo_plus:?}, {fifo:?}");
        assert!(fifo_plus.2 < 0.9 * fifo.2, "seed {seed}: {fifo_plus:?}, {fifo:?}");
    }
}
