//! Credit of a receiver, which a sender waits for.

use crate::common::{add, rate};
use crate::explicit_rate::ExplicitRate;
use crate::{place, row, run};
use std::sync::Arc;
use tidegate_core::endpoint::{Endpoint, EndpointSetup, Payload};
use tidegate_core::link::Loss;
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::Span;
use tidegate_sim::source::{EndpointFactory, Traffic};
use tidegate_sim::stage::{Crossing, Interest, Passage, Site, Stage, StageCx, StageFactory};

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
    fn enter(&mut self, cx: &mut StageCx, at: &Crossing, _: &mut Packet, payload: &mut Payload) -> Passage {
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
    fn leave(&mut self, cx: &mut StageCx, flow: u32, hop: u32, _: &mut Packet, _: &mut Payload) {
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
