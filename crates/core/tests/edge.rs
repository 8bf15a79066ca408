//! The edge of a network: charge and mark added to the flow that steering finds.

mod common;

use common::kind;
use proptest::prelude::*;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::headers::{Fragment, Headers, Ip};
use tidegate_core::link::Framing;
use tidegate_core::packet::{Mark, PortIx};
use tidegate_core::steering::{Edge, EdgePlan, Rule, Split, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Span, Time};

const PORT: PortIx = PortIx(0);
const TCP: u8 = 6;
const UDP: u8 = 17;

fn switch() -> Switch {
    let plan = SwitchPlan {
        ports: vec![PortPlan::new(kind("virtual-clock"))],
        buffer: None,
        ..SwitchPlan::default()
    };
    Switch::new(Time::ORIGIN, &plan).unwrap()
}

/// One flow for TCP, one for each host's UDP; other packets go with the rest.
fn plan([tcp, udp]: [Option<u8>; 2], framing: Framing) -> EdgePlan {
    let rule = |protocol, split| {
        let matching = Match { protocol: vec![protocol], ..Match::default() };
        Rule::new(matching, split, FlowPlan::default(), Span::from_secs(1))
    };
    EdgePlan {
        rules: vec![rule(TCP, Split::Together), rule(UDP, Split::Each(Each::Host))],
        set_dscp: vec![tcp, udp],
        rest: FlowPlan::default(),
        most_flows: 2,
        framing,
    }
}

/// Packets of four hosts; protocol 0 stands for a packet that is not IP.
fn headers(host: u32, protocol: u8, dscp: u8, ecn: u8) -> Headers {
    let ip = Ip {
        source: std::net::Ipv4Addr::from_bits(host).into(),
        destination: std::net::Ipv4Addr::LOCALHOST.into(),
        protocol,
        dscp,
        ecn,
        fragment: Fragment::Whole,
        ports: Some((1, 2)),
    };
    Headers { ip: (protocol > 0).then_some(ip), ..Headers::default() }
}

fn framings() -> impl Strategy<Value = Framing> {
    (-20i32..100, 0u32..100, any::<bool>())
        .prop_map(|(overhead, mpu, atm)| Framing::new(overhead, mpu, atm).unwrap())
}

fn codepoints() -> impl Strategy<Value = [Option<u8>; 2]> {
    prop::array::uniform2(prop::option::of(0u8..64))
}

proptest! {
    /// The flow is steering's, the charge is framing's, and the mark is that of the headers, but
    /// for the DSCP that the packet's rule sets on IP packets. A cached lookup gives the same, also
    /// after another plan.
    #[test]
    fn an_edge_charges_and_marks_what_steering_finds(
        plans in prop::collection::vec((codepoints(), framings()), 2),
        packets in prop::collection::vec((0u32..4, prop::sample::select(vec![0, TCP, UDP, 50]), 0u8..64, 0u8..4, 1u32..3000), 1..60),
        again in 0usize..60,
    ) {
        let now = Time::ORIGIN;
        let first = plan(plans[0].0, plans[0].1);
        let (mut switch, mut twin_switch) = (switch(), switch());
        let mut edge = Edge::new(now, &mut switch, PORT, Direction::Up, first.clone()).unwrap();
        let mut steering =
            Steering::new(now, &mut twin_switch, PORT, Direction::Up, first.rules, first.rest, first.most_flows).unwrap();
        let mut cached = std::collections::BTreeMap::new();
        let (mut dscp, mut framing) = plans[0];
        for (ix, (host, protocol, came_with, ecn, len)) in packets.into_iter().enumerate() {
            if ix == again {
                (dscp, framing) = plans[1];
                let next = plan(dscp, framing);
                steering.replan(now, &mut twin_switch, next.rules.clone(), &[Some(0), Some(1)], next.rest, next.most_flows);
                edge.replan(now, &mut switch, next, &[Some(0), Some(1)]);
            }
            let headers = headers(host, protocol, came_with, ecn);
            let cached = cached.entry((host, protocol, came_with, ecn)).or_default();
            let steered = edge.steer_again(now, &mut switch, &headers, len, cached);
            let leg = steering.steer(now, &mut twin_switch, &headers);
            prop_assert_eq!(steered.leg, leg);
            prop_assert_eq!(steered.charged, framing.charge(len));
            // Beyond two hosts, packets share a flow of their rule, whose DSCP they get.
            let set = match protocol {
                TCP => dscp[0],
                UDP => dscp[1],
                _ => None,
            };
            if protocol == 0 {
                prop_assert_eq!(steered.mark, Mark::NONE);
            } else {
                prop_assert_eq!(steered.mark.dscp(), set.unwrap_or(came_with));
                prop_assert_eq!(steered.mark.ecn(), ecn);
                prop_assert_eq!(steered.mark.is_modified(), set.is_some());
            }
            prop_assert_eq!(edge.steer(now, &mut switch, &headers, len), steered);
            steering.steer(now, &mut twin_switch, &headers);
            prop_assert_eq!(edge.steering().overflowed() > 0, steering.overflowed() > 0);
        }
    }
}
