//! Rates that switches write into control packets.

use crate::common::rate;
use crate::{connect, place, row, run};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_core::endpoint::{Endpoint, EndpointSetup, HostCx, Notice, Payload};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_sim::network::Network;
use tidegate_sim::probe::Subject;
use tidegate_sim::source::{EndpointFactory, Traffic};
use tidegate_sim::stage::{Crossing, Interest, Passage, Site, Stage, StageCx, StageFactory};

/// Content of an explicit-rate source's control packets: the flow of the loop, and the allowed
/// rate.
pub fn control(of: u64, rate: Rate) -> Payload {
    Payload::Words([of, rate.bits_per_second() as u64, 0])
}

const SOURCE_LOOP: u64 = 1;

const SWITCH_LOOP: u64 = 2;

const PEAK: u64 = 10_000_000;

/// Sends at the rate that it is allowed, every eighth packet a control packet; the other end
/// returns those.
#[derive(Clone, Copy, Debug)]
pub enum ExplicitRate {
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
        let payload =
            if is_control { control(SOURCE_LOOP, crate::common::rate(PEAK)) } else { Payload::None };
        cx.send(500, Mark::NONE, payload);
        (*sent, *next) = (*sent + 1, cx.now() + rate.time_for(500));
        *next
    }
    fn receive(&mut self, cx: &mut HostCx<'_>, _: &Packet, payload: &Payload) -> Time {
        match (self, payload) {
            (ExplicitRate::Source { rate, next, .. }, Payload::Words([_, bits, _])) => {
                *rate = crate::common::rate(*bits);
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
    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, _: &mut Packet, payload: &mut Payload) -> Passage {
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
    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, _: &mut Packet, payload: &mut Payload) -> Passage {
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
                    calendar: None,
                };
                cx.set_pace(hop, Some(pace));
                Passage::Absorb
            }
            _ => Passage::Forward,
        }
    }
    fn wake(&mut self, cx: &mut StageCx) {
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
