//! Closed loops in miniature: hosts that answer, control that flows back, stages that pace and
//! gate. Each is an endpoint or a stage of at most 60 lines; the world has no special case for any
//! of them.

mod common;

use common::{add, chain, rate};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::dropper::{Dropper, DropperKind, Occupancy};
use tidegate_core::endpoint::window::WindowParams;
use tidegate_core::endpoint::{
    BuiltInTransport, Endpoint, EndpointSetup, HostCx, Notice, Payload, TransportKind,
};
use tidegate_core::link::Loss;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::host::TransportEnd;
use tidegate_sim::network::{Network, StagePlan};
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::source::{EndpointFactory, Traffic};
use tidegate_sim::stage::{Crossing, Interest, Passage, Site, Stage, StageCx, StageFactory};
use tidegate_sim::world::World;

/// Nodes s1 … s(N+1) in a row, joined by duplex links: link 2i goes from the i-th node to the next,
/// link 2i + 1 back.
fn row(links: usize, bits: u64, delay: Span, seconds: u64) -> Network {
    let mut network = chain(links, bits, delay, "fifo", Span::from_secs(seconds));
    network.links = std::mem::take(&mut network.links)
        .into_iter()
        .flat_map(|there| {
            let mut back = there.clone();
            (back.from, back.to) = (there.to, there.from);
            back.name = format!("s{}->s{}", there.to + 1, there.from + 1);
            [there, back]
        })
        .collect();
    network
}

/// A connection over all links of a row: the data's flow there, the answers' flow back.
fn connect(network: &mut Network, there: Traffic, back: Traffic) {
    let (links, flow) = (network.links.len(), network.flows.len());
    add(network, 0..links / 2, None, there);
    add(network, 0..links / 2, None, back);
    network.flows[flow].route = (0..links).step_by(2).collect();
    network.flows[flow + 1].route = (0..links).rev().step_by(2).collect();
    (network.flows[flow].peer, network.flows[flow + 1].peer) = (Some(flow + 1), Some(flow));
}

fn window(network: &mut Network, window: u32, acknowledgement: u32) {
    let params = WindowParams { window, acknowledgement, timeout: Span::from_secs(10) };
    let transport = TransportKind::BuiltIn(BuiltInTransport::Window(params));
    let [data, back] = TransportEnd::both(&transport, 1000, None).unwrap();
    connect(network, data, back);
}

fn run(network: &Network) -> World<Calendar> {
    let probes = Probes { sample: Some(Span::from_millis(10)), ..Probes::default() };
    common::run_with(network, 1, &probes)
}

fn throughput(world: &World<Calendar>, flow: usize, network: &Network) -> f64 {
    world.records()[flow].received.1 as f64 * 8.0 / (network.duration - network.warmup).as_secs_f64()
}

/// Throughput is window / round-trip time while that is below the rate, and the rate beyond.
#[test]
fn acknowledgements_clock_a_window() {
    for packets in [1, 2, 5, 9, 10, 14, 30] {
        let mut network = row(2, 8_000_000, Span::from_millis(2), 20);
        network.warmup = Span::from_secs(1);
        window(&mut network, packets, 40);
        let measured = throughput(&run(&network), 0, &network);
        // Two links of 2 ms and a packet's time of 1 ms there, of 40 µs back.
        let round_trip = 2.0 * (2e-3 + 1e-3) + 2.0 * (2e-3 + 40e-6);
        let expected = (packets as f64 * 8000.0 / round_trip).min(8e6);
        assert!((measured / expected - 1.0).abs() < 0.01, "{packets}: {measured} of {expected}");
    }
}

/// Acknowledgements wait behind the traffic of the way back, and the window is clocked by the
/// longer round trip.
#[test]
fn acknowledgements_queue_behind_reverse_traffic() {
    let mut network = row(1, 8_000_000, Span::from_millis(2), 20);
    network.warmup = Span::from_secs(1);
    window(&mut network, 4, 40);
    add(&mut network, 0..1, None, Traffic::Greedy { window: 20, sizes: Arc::new([1000]) });
    network.flows[2].route = vec![1];
    let world = run(&network);
    // An acknowledgement finds 20 packets of 1 ms; the one in service is half through on average.
    let queueing =
        world.records()[1].queueing.sum_ticks() as f64 / world.records()[1].queueing.count() as f64;
    let waited = Span::from_ticks(queueing as u64).as_secs_f64();
    assert!((19e-3..=20.2e-3).contains(&waited), "{waited}");
    let expected = 4.0 * 8000.0 / (1e-3 + 2e-3 + waited + 40e-6 + 2e-3);
    let measured = throughput(&world, 0, &network);
    assert!((measured / expected - 1.0).abs() < 0.02, "{measured} of {expected}");
}

/// Relative rate marking: the port marks more often the longer a queue that it would have at a part
/// of its rate, the destination returns the mark, the source adds to its rate for each packet that
/// came unmarked and takes a share away for each marked one.
#[derive(Clone, Copy, Debug)]
enum RelativeRate {
    Source { bits: f64, next: Time },
    Destination,
}
impl EndpointFactory for RelativeRate {
    fn make(&self, _: EndpointSetup) -> Box<dyn Endpoint> {
        Box::new(*self)
    }
}
impl Endpoint for RelativeRate {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        let RelativeRate::Source { bits, next } = self else { return Time::NEVER };
        cx.send(500, ECN_CAPABLE, Payload::None);
        *next = cx.now() + rate(*bits as u64).time_for(500);
        *next
    }
    fn receive(&mut self, cx: &mut HostCx<'_>, packet: &Packet, payload: &Payload) -> Time {
        match (self, payload) {
            (RelativeRate::Destination, _) => {
                let marked = u64::from(packet.mark.is_congested());
                cx.send(40, Mark::NONE, Payload::Words([marked, 0, 0]));
                Time::NEVER
            }
            (RelativeRate::Source { bits, next }, Payload::Words([marked, ..])) => {
                *bits = if *marked == 1 { *bits * (1.0 - DECREASE) } else { *bits + INCREASE };
                *next
            }
            (RelativeRate::Source { next, .. }, _) => *next,
        }
    }
    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        if let RelativeRate::Source { next, .. } = self { *next } else { Time::NEVER }
    }
}
const ECN_CAPABLE: Mark = Mark::from_ip(0, 0b10);
/// Decrease for each marked packet, as a share of the rate.
const DECREASE: f64 = 1.0 / 64.0;
/// Increase for each unmarked packet, in bit/s.
const INCREASE: f64 = 5_000.0;
/// Service rate of the port's virtual queue, in bit/s.
const TARGET: f64 = 5_400_000.0;
/// A virtual queue (Gibbens and Kelly 1999): each packet of it makes a mark more likely by 1/1000.
#[derive(Default)]
struct MarkByVirtualQueue {
    bits: f64,
    as_of: Option<Time>,
}
impl Dropper for MarkByVirtualQueue {
    fn arrive(&mut self, cx: &mut Ctx<'_>, packet: &Packet, _: &Occupancy) -> Verdict {
        let served = cx.now.since(self.as_of.replace(cx.now).unwrap_or(cx.now)).as_secs_f64() * TARGET;
        self.bits = (self.bits - served).max(0.0) + f64::from(packet.len) * 8.0;
        let marks = cx.rng.chance((self.bits / 4000.0 / 1000.0).min(1.0));
        if marks { Verdict::Congested(Reason::EarlyDrop) } else { Verdict::Accept }
    }
}

/// The virtual queue neither grows nor empties where the sum of the rates equals its service rate.
/// A rate is steady where the increase by unmarked packets equals the decrease by marked ones: (1 -
/// p) · INCREASE = p · DECREASE · rate, which is one rate for both (Chiu and Jain 1989, section 3).
/// Tolerances are 3.29 standard deviations: a mark moves a rate by a share DECREASE, which is
/// forgotten after 1 / DECREASE further marks, so that the mean of a rate over N marks is off by a
/// share √(1 / N); and p, of which two thirds and more are due to the rate, by no more.
#[test]
fn relative_rates_settle_at_equal_shares() {
    let mut network = row(2, 8_000_000, Span::from_millis(2), 150);
    network.links[2].rate = rate(6_000_000);
    network.links[2].port.dropper = Some(DropperKind::custom(|| Box::<MarkByVirtualQueue>::default()).into());
    network.warmup = Span::from_secs(50);
    for bits in [4_000_000.0, 200_000.0] {
        let source = RelativeRate::Source { bits, next: Time::NEVER };
        connect(
            &mut network,
            Traffic::Endpoint(Arc::new(source)),
            Traffic::Endpoint(Arc::new(RelativeRate::Destination)),
        );
    }
    let world = run(&network);
    let [one, other] = [0, 2].map(|flow| throughput(&world, flow, &network));
    let record = |flow: usize| &world.records()[flow];
    let marks = (record(0).marked + record(2).marked) as f64 / 2.0;
    let packets = (record(0).received.0 + record(2).received.0) as f64 / 2.0;
    let likely = INCREASE / (INCREASE + DECREASE * TARGET / 2.0);
    println!("{one} + {other} bit/s, {marks} marks each, {} of {likely}", marks / packets);
    let off = 3.29 * (1.0 / marks).sqrt();
    assert!((one / other - 1.0).abs() < 2.0_f64.sqrt() * off, "{one} {other}");
    // All that the virtual queue can hold, spread over the time.
    assert!(((one + other) - TARGET).abs() < 1000.0 * 4000.0 / 100.0, "{one} {other}");
    assert!((marks / packets / likely - 1.0).abs() < off, "{} {likely}", marks / packets);
    assert!(world.records().iter().all(|record| record.dropped == 0));
}

/// Content of an explicit-rate source's control packets: the flow of the loop, and the allowed
/// rate.
fn control(of: u64, rate: Rate) -> Payload {
    Payload::Words([of, rate.bits_per_second() as u64, 0])
}

const SOURCE_LOOP: u64 = 1;
const SWITCH_LOOP: u64 = 2;
const PEAK: u64 = 10_000_000;

/// Sends at the rate that it is allowed, every eighth packet a control packet; the other end
/// returns those.
#[derive(Clone, Copy, Debug)]
enum ExplicitRate {
    Source { rate: Rate, sent: u64, next: Time },
    Destination,
}
impl EndpointFactory for ExplicitRate {
    fn make(&self, _: EndpointSetup) -> Box<dyn Endpoint> {
        Box::new(*self)
    }
}
impl Endpoint for ExplicitRate {
    fn wake(&mut self, cx: &mut HostCx<'_>) -> Time {
        let ExplicitRate::Source { rate, sent, next } = self else { return Time::NEVER };
        let is_control = sent.is_multiple_of(8);
        let payload = if is_control { control(SOURCE_LOOP, common::rate(PEAK)) } else { Payload::None };
        cx.send(500, Mark::NONE, payload);
        (*sent, *next) = (*sent + 1, cx.now() + rate.time_for(500));
        *next
    }
    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        match (self, payload) {
            (ExplicitRate::Source { rate, next, .. }, Payload::Words([_, bits, _])) => {
                *rate = common::rate(*bits);
                *next
            }
            (ExplicitRate::Destination, Payload::Words(_)) => {
                cx.send(50, Mark::NONE, *payload);
                Time::NEVER
            }
            (ExplicitRate::Source { next, .. }, _) => *next,
            _ => Time::NEVER,
        }
    }
    fn notice(&mut self, _: &mut HostCx<'_>, _: Notice) -> Time {
        if let ExplicitRate::Source { next, .. } = self { *next } else { Time::NEVER }
    }
    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        if let ExplicitRate::Source { rate, .. } = self {
            show("rate", rate.bits_per_second());
        }
    }
}

fn explicit_rate(network: &mut Network, initial: u64) {
    let source = ExplicitRate::Source { rate: rate(initial), sent: 0, next: Time::NEVER };
    connect(
        network,
        Traffic::Endpoint(Arc::new(source)),
        Traffic::Endpoint(Arc::new(ExplicitRate::Destination)),
    );
}

/// Lowers the rate in a control packet on its way back to the fair share of the port that it passed
/// forward.
#[derive(Clone, Debug, Default)]
struct FairShare {
    node: u32,
    flows: BTreeSet<u32>,
}
impl StageFactory for FairShare {
    fn make(&self, node: u32, _: Rng) -> Box<dyn Stage> {
        Box::new(FairShare { node, flows: BTreeSet::new() })
    }
}
impl Stage for FairShare {
    fn interest(&self, _: &Site) -> Interest {
        Interest::ENTER
    }
    fn enter(
        &mut self,
        cx: &mut StageCx<'_>,
        at: Crossing,
        _: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        // Even flows go there, odd ones back.
        if at.flow.is_multiple_of(2) {
            self.flows.insert(at.flow);
        } else if let (Payload::Words([_, allowed, _]), Some(there)) = (payload, cx.peer(at.flow))
            && let Some(hop) = cx.hop_at(there, self.node)
        {
            let share = 0.9 * cx.rate_of(cx.link_of(hop)).bits_per_second() / self.flows.len() as f64;
            *allowed = (*allowed).min(share as u64);
        }
        Passage::Forward
    }
}

fn place(network: &mut Network, node: usize, factory: Arc<dyn StageFactory>) {
    network.stages.push(StagePlan { name: format!("stage {node}"), node, factory });
}

/// Three sources of 4 Mbit/s each share 6 Mbit/s: each is told 0.9 · 6 / 3 within a round trip and
/// a control packet's spacing, and the queue that built up until then drains.
#[test]
fn an_explicit_rate_is_lowered_on_its_way_back() {
    let mut network = row(3, 6_000_000, Span::from_millis(5), 5);
    (0..3).for_each(|_| explicit_rate(&mut network, 4_000_000));
    (0..4).for_each(|node| place(&mut network, node, Arc::new(FairShare::default())));
    let world = run(&network);
    let series = world.series().unwrap();
    for flow in [0, 2, 4] {
        let rates = series.values(Subject::Flow(flow), "rate");
        assert!((rates[0] - 4e6).abs() < 1e3 && rates[20..].iter().all(|bits| (bits - 1.8e6).abs() < 1e3));
    }
    let queue = series.values(Subject::Link(0), "queue");
    assert!(
        queue[..20].iter().any(|packets| *packets > 20.0)
            && queue[200..].iter().all(|packets| *packets <= 3.0)
    );
}

/// Ends the sources' loop and begins one of its own (a virtual destination and a virtual source):
/// control packets of the sources are answered here with the rate that the next loop allows, and
/// queued packets leave at that rate.
#[derive(Clone, Debug, Default)]
struct VirtualSource {
    node: u32,
    /// The rate that the next loop allows each flow.
    allowed: Vec<(u32, Rate)>,
}
impl StageFactory for VirtualSource {
    fn make(&self, node: u32, _: Rng) -> Box<dyn Stage> {
        Box::new(VirtualSource { node, allowed: Vec::new() })
    }
}
impl Stage for VirtualSource {
    fn interest(&self, _: &Site) -> Interest {
        Interest::ENTER
    }
    fn begin(&self) -> Time {
        Time::ORIGIN
    }
    fn enter(
        &mut self,
        cx: &mut StageCx<'_>,
        at: Crossing,
        _: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        let Payload::Words([of, bits, _]) = *payload else { return Passage::Forward };
        let Some(peer) = cx.peer(at.flow) else { return Passage::Forward };
        let (there, back) = if at.flow < peer { (at.flow, peer) } else { (peer, at.flow) };
        let place = self.allowed.iter().position(|(flow, _)| *flow == there);
        match (of, at.flow == there, place) {
            (SOURCE_LOOP, true, _) if at.from.is_some() => {
                let place = place.unwrap_or_else(|| {
                    self.allowed.push((there, rate(PEAK)));
                    self.allowed.len() - 1
                });
                let hop = cx.hop_at(back, self.node).unwrap();
                cx.send(back, hop, 50, Mark::NONE, control(of, self.allowed[place].1));
                Passage::Absorb
            }
            (SWITCH_LOOP, false, Some(place)) => {
                let hop = cx.hop_at(there, self.node).unwrap();
                self.allowed[place].1 = rate(bits);
                let pace = ShaperPlan {
                    rate: rate(bits),
                    burst: 500,
                    peak: None,
                    queue: None,
                    excess: Excess::Wait,
                };
                cx.set_pace(hop, Some(pace));
                Passage::Absorb
            }
            _ => Passage::Forward,
        }
    }
    fn wake(&mut self, cx: &mut StageCx<'_>) {
        for (flow, _) in &self.allowed {
            let hop = cx.hop_at(*flow, self.node).unwrap();
            cx.send(*flow, hop, 50, Mark::NONE, control(SWITCH_LOOP, rate(PEAK)));
        }
        cx.wake_at(cx.now() + Span::from_millis(10));
    }
}

/// The last link of a long path is slow. With the path cut at its second node, that node learns of
/// the share within its own loop, paces the flows, and tells the sources within theirs.
#[test]
fn a_loop_ends_and_another_begins_at_a_switch() {
    let settled = |cut: bool| {
        let mut network = row(3, 8_000_000, Span::from_millis(1), 10);
        (network.links[0].delay, network.links[1].delay) = (Span::from_millis(50), Span::from_millis(50));
        network.links[4].rate = rate(3_000_000);
        (0..2).for_each(|_| explicit_rate(&mut network, 3_000_000));
        place(&mut network, 2, Arc::new(FairShare::default()));
        if cut {
            place(&mut network, 1, Arc::new(VirtualSource::default()));
        }
        let world = run(&network);
        let series = world.series().unwrap();
        let rates = series.values(Subject::Flow(0), "rate");
        assert!(rates[100..].iter().all(|bits| (bits - 1.35e6).abs() < 1e3), "{:?}", &rates[95..110]);
        let longest = series.values(Subject::Link(4), "queue").iter().copied().fold(0.0, f64::max);
        assert_eq!(world.records()[0].absorbed > 0, cut);
        (rates.iter().position(|bits| *bits < 2e6).unwrap(), longest)
    };
    let ((when_whole, queue_whole), (when_cut, queue_cut)) = (settled(false), settled(true));
    // A source hears of the slow link after its loop's round trip. The cut path adds the next loop:
    // the switch's control packets every 10 ms and their round trip of 2 ms, and the spacing of the
    // source's, 11 ms.
    assert!(when_whole <= when_cut && when_cut <= when_whole + 3, "{when_whole} {when_cut}");
    // The slow link is relieved as soon as the switch in front of it knows.
    assert!(queue_cut * 3.0 < queue_whole, "{queue_cut} of {queue_whole}");
}

/// Both ends of credit-based flow control over one link, by absolute counts (Kung and Morris 1995):
/// the count of forwarded packets reaches the sender on the link's other direction, every other
/// packet.
#[derive(Clone, Debug)]
enum Credit {
    Sender { sent: u64, forwarded: u64 },
    Receiver { forwarded: u64 },
}
const DATA: u32 = 0;
const CREDITS: u32 = 1;
const BUFFER: u64 = 24;
impl StageFactory for Credit {
    fn make(&self, _: u32, _: Rng) -> Box<dyn Stage> {
        Box::new(self.clone())
    }
}
impl Stage for Credit {
    fn interest(&self, site: &Site) -> Interest {
        if site.to.is_some() { Interest::ENTER | Interest::LEAVE } else { Interest::ENTER }
    }
    fn enter(
        &mut self,
        cx: &mut StageCx<'_>,
        at: Crossing,
        _: &mut Packet,
        payload: &mut Payload,
    ) -> Passage {
        if let (Credit::Sender { sent, forwarded }, Payload::Words([count, ..]), None) =
            (self, payload, at.to)
        {
            *forwarded = (*forwarded).max(*count);
            if *sent < *forwarded + BUFFER {
                cx.take_part(cx.hops_of(DATA).start, Participation::Active);
            }
        }
        Passage::Forward
    }
    fn leave(&mut self, cx: &mut StageCx<'_>, flow: u32, hop: u32, _: &mut Packet, _: &mut Payload) {
        match self {
            Credit::Sender { sent, forwarded } if flow == DATA => {
                *sent += 1;
                if *sent >= *forwarded + BUFFER {
                    cx.take_part(hop, Participation::Absent);
                }
            }
            Credit::Receiver { forwarded } if flow == DATA => {
                *forwarded += 1;
                if forwarded.is_multiple_of(2) {
                    let back = cx.hops_of(CREDITS).start;
                    cx.send(CREDITS, back, 53, Mark::NONE, Payload::Words([*forwarded, 0, 0]));
                }
            }
            _ => {}
        }
    }
}

/// The sender of a flow on which stages send.
#[derive(Debug)]
struct Silent;
impl EndpointFactory for Silent {
    fn make(&self, _: EndpointSetup) -> Box<dyn Endpoint> {
        Box::new(ExplicitRate::Destination)
    }
}

/// Nothing is lost, the slow link never idles, although one credit in ten is lost.
#[test]
fn credits_gate_a_flow() {
    let mut network = row(2, 8_000_000, Span::from_millis(1), 10);
    network.links[2].rate = rate(4_000_000);
    network.links[1].loss = Loss::new(0.1).unwrap();
    network.nodes[1].buffer = Some(Limit::Packets(BUFFER + 4));
    network.warmup = Span::from_secs(1);
    add(&mut network, 0..2, None, Traffic::Greedy { window: 4, sizes: Arc::new([1000]) });
    network.flows[0].route = vec![0, 2];
    add(&mut network, 0..1, None, Traffic::Endpoint(Arc::new(Silent)));
    network.flows[1].route = vec![1];
    place(&mut network, 0, Arc::new(Credit::Sender { sent: 0, forwarded: 0 }));
    place(&mut network, 1, Arc::new(Credit::Receiver { forwarded: 0 }));
    let world = run(&network);
    let [data, credits] = [&world.records()[0], &world.records()[1]];
    assert_eq!((data.dropped, credits.dropped), (0, 0));
    let lost = world.lost(1) as f64 / credits.sent.0 as f64;
    assert!((0.07..0.13).contains(&lost), "{lost}");
    assert!(world.link(2).sent.0.abs_diff(9 * 500) <= 1, "the slow link is always busy");
    assert!(world.link(2).stats.unwrap().longest <= BUFFER, "the receiver's buffer is enough");
    assert!(world.link(0).sent.0 < 9 * 510, "the fast link waits for credit");
}

/// A packet for three hosts is stored once in the switch where its route forks.
#[test]
fn multicast_stores_one_body() {
    let network = |multicast: bool| {
        let mut network = row(4, 8_000_000, Span::from_millis(1), 10);
        // A hub behind the first link, three hosts at it by slow links.
        for (ix, host) in [(2, 2), (4, 3), (6, 4)] {
            (network.links[ix].from, network.links[ix].to) = (1, host);
            network.links[ix].rate = rate(1_000_000);
        }
        network.nodes[1].buffer = Some(Limit::Packets(30));
        let train = Traffic::Trains {
            rate: rate(200_000),
            length: 4.0,
            gap: tidegate_sim::source::Gap::Fixed(Span::from_millis(1)),
            sizes: Arc::new([1000]),
        };
        for hosts in if multicast { vec![vec![2, 4, 6]] } else { vec![vec![2], vec![4], vec![6]] } {
            add(&mut network, 0..1 + hosts.len(), None, train.clone());
            let flow = network.flows.last_mut().unwrap();
            flow.name = "train".into();
            flow.depths = if multicast { vec![1, 2, 2, 2] } else { Vec::new() };
            flow.route = [vec![0], hosts].concat();
        }
        network
    };
    let world = run(&network(true));
    let record = &world.records()[0];
    assert!(record.sent.0 > 150);
    assert!(record.dropped == 0 && 3 * record.sent.0 - record.received.0 <= 3 * 30, "{record:?}");
    let links = [2, 4, 6].map(|ix| world.link(ix).sent);
    assert!(links[0].0 > 150 && links.iter().all(|sent| *sent == links[0]), "{links:?}");
    let separate = run(&network(false));
    let dropped: u64 = separate.records().iter().map(|record| record.dropped).sum();
    assert!(dropped > 10, "three copies do not fit: {dropped} dropped");
}
