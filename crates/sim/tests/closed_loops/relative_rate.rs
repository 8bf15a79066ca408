//! Rates that rise until packets are marked.

use crate::common::rate;
use crate::toy::toy;
use crate::{connect, row, run, throughput};
use std::sync::Arc;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::dropper::{Dropper, DropperKind, Occupancy};
use tidegate_core::endpoint::{Endpoint, EndpointSetup, HostCx, Notice, Payload};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::params::Role;
use tidegate_core::units::{Span, Time};
use tidegate_sim::source::{EndpointFactory, Traffic};

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
pub struct MarkByVirtualQueue {
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

toy!(VirtualQueueParams makes MarkByVirtualQueue: "virtual-queue", Role::Dropper);

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
    network.links[2].port.dropper = Some(DropperKind::outside(VirtualQueueParams {}).into());
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
