//! Rules, prefixes and keys over any headers, and flows that are opened, kept, forgotten and moved
//! to a new plan.
//!
//! A slow oracle finds the rule of each packet independently.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tidegate_core::classifier::circuits::{Circuit, CircuitTerms, Circuits};
use tidegate_core::classifier::matching::{Match, PortRange};
use tidegate_core::classifier::rules::{Direction, Each, NotAPrefix, Prefix, inside};
use tidegate_core::classifier::{FiveTuple, FlowPattern};
use tidegate_core::context::Ctx;
use tidegate_core::contract::Contract;
use tidegate_core::headers::{Fragment, Headers, Ip, LinkType, Vlan};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::steering::{Conversations, Rule, Split, Steering};
use tidegate_core::switch::Switch;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::{Rate, Span, Time};
use tidegate_fuzz::Bytes;

const PORT: PortIx = PortIx(0);

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    match bytes.byte() {
        0 => text(bytes.0),
        _ => steer(bytes),
    }
});

/// The text of a prefix, a flow or a pattern that was read reads back as the same value.
fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(prefix) = text.parse::<Prefix>() {
        assert_eq!(prefix.to_string().parse(), Ok(prefix));
    }
    if let Ok(flow) = text.parse::<FiveTuple>() {
        assert_eq!(flow.to_string().parse(), Ok(flow));
        assert!(text.parse::<FlowPattern>().is_ok_and(|pattern| pattern.matches(&flow)));
    }
}

fn address(bytes: &mut Bytes<'_>) -> IpAddr {
    // Few values, so that packets and rules meet.
    match bytes.below(4) {
        0 => Ipv4Addr::from([10, 0, 0, bytes.byte() % 8]).into(),
        1 => Ipv4Addr::from(bytes.array::<4>()).into(),
        2 => Ipv6Addr::from([
            0x2001,
            0xdb8,
            0,
            u16::from(bytes.byte() % 2),
            0,
            0,
            0,
            u16::from(bytes.byte() % 8),
        ])
        .into(),
        _ => Ipv6Addr::from(bytes.array::<16>()).into(),
    }
}

/// An address, and the number of its leading bits that count.
type Network = (IpAddr, u8);

fn network(bytes: &mut Bytes<'_>) -> Option<Network> {
    if bytes.byte() & 1 == 0 {
        return None;
    }
    let address = address(bytes);
    Some((address, bytes.byte() % if address.is_ipv4() { 33 } else { 129 }))
}

/// The prefix, read from its text. With bits beyond its length it is refused, and the message names
/// the correct prefix.
fn prefix((address, length): Network) -> Prefix {
    match format!("{address}/{length}").parse() {
        Ok(prefix) => prefix,
        Err(NotAPrefix::HostBits(prefix)) => prefix,
        Err(NotAPrefix::Text) => panic!("{address}/{length} is no prefix"),
    }
}

fn bits(address: IpAddr) -> Vec<bool> {
    let of = |bytes: &[u8]| {
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect()
    };
    match address {
        IpAddr::V4(address) => of(&address.octets()),
        IpAddr::V6(address) => of(&address.octets()),
    }
}

/// A rule, and the networks of its prefixes and circuits.
#[derive(Clone)]
struct Told {
    rule: Rule,
    inside: Option<Network>,
    outside: Option<Network>,
    /// The networks of every circuit.
    owned: Vec<(Network, u32)>,
}

fn small(bytes: &mut Bytes<'_>) -> Option<u16> {
    (bytes.byte() & 3 == 0).then(|| u16::from(bytes.byte() % 4))
}

/// None, a port, or a few in a row.
fn ports(bytes: &mut Bytes<'_>) -> Vec<PortRange> {
    let first = small(bytes);
    first.and_then(|first| PortRange::new(first, first + u16::from(bytes.byte() % 3))).into_iter().collect()
}

fn conversations() -> Conversations {
    Conversations { scheduler: SchedulerKind::named("drr++").expect("a scheduler's name"), dropper: None }
}

fn told(bytes: &mut Bytes<'_>) -> Told {
    let (inside, outside) = (network(bytes), network(bytes));
    let matching = Match {
        inside: inside.map(prefix).into_iter().collect(),
        outside: outside.map(prefix).into_iter().collect(),
        inside_port: ports(bytes),
        outside_port: ports(bytes),
        port: ports(bytes),
        protocol: (bytes.byte() & 1 == 0).then(|| bytes.pick(&[1, 6, 17])).into_iter().collect(),
        dscp: small(bytes).map(|dscp| dscp as u8).into_iter().collect(),
        ethertype: (bytes.byte() & 3 == 0).then(|| bytes.pick(&[0x0800, 0x86dd])).into_iter().collect(),
        vlan: small(bytes).into_iter().collect(),
        direction: (bytes.byte() & 3 == 0).then(|| bytes.pick(&Direction::BOTH)),
        ..Match::default()
    };
    let mut owned = Vec::new();
    let split = match bytes.below(8) {
        0..=2 => Split::Together,
        3 => Split::Each(Each::Subscriber),
        4 => Split::Each(Each::FiveTuple),
        5 => Split::Each(Each::Host),
        _ => {
            let listed;
            (listed, owned) = circuits(bytes);
            Split::Circuits(Arc::new(listed))
        }
    };
    let rate = |bits| Rate::from_bits_per_second(bits);
    let contract = Contract {
        reserve: bytes.pick(&[None, rate(64_000), rate(1_000_000)]),
        priority: bytes.byte() % 8,
        ..Contract::default()
    };
    let plan = FlowPlan { contract, ceiling: bytes.pick(&[None, rate(500_000)]), ..FlowPlan::default() };
    let idle = Span::from_millis(u64::from(bytes.byte()) + 1);
    let divided = matches!(split, Split::Each(Each::Host | Each::Subscriber) | Split::Circuits(_));
    let within = (divided && bytes.byte() & 1 == 1).then(|| Arc::new(conversations()));
    Told { rule: Rule { within, ..Rule::new(matching, split, plan, idle) }, inside, outside, owned }
}

/// Up to seven circuits of a few networks each, and the circuit of each network. There are few
/// names, so that lists have some in common.
fn circuits(bytes: &mut Bytes<'_>) -> (Circuits, Vec<(Network, u32)>) {
    let names = bytes.byte();
    let mut owned: Vec<(Network, u32)> = Vec::new();
    let mut listed = Vec::new();
    for name in (0..7).filter(|bit| names >> bit & 1 == 1) {
        let mut addresses = Vec::new();
        for network in (0..bytes.below(4)).filter_map(|_| network(bytes)) {
            let addressed = prefix(network);
            // No circuit gets a network of another.
            if owned.iter().all(|(other, _)| prefix(*other) != addressed) {
                owned.push((network, listed.len() as u32));
                addresses.push(addressed);
            }
        }
        let rates = [None, Rate::from_bits_per_second(100_000), Rate::from_bits_per_second(2_000_000)];
        let terms =
            CircuitTerms { class: None, reserve: [bytes.pick(&rates); 2], ceiling: [bytes.pick(&rates); 2] };
        listed.push(Circuit { name: format!("c{name}"), addresses, terms });
    }
    (Circuits::new(listed).expect("every network is there once"), owned)
}

/// The circuit of the most specific network that contains an address.
fn owner(owned: &[(Network, u32)], address: IpAddr) -> Option<u32> {
    let its = owned.iter().filter(|(network, _)| within(Some(*network), Some(address)));
    its.max_by_key(|((_, length), _)| *length).map(|(_, circuit)| *circuit)
}

fn within(network: Option<Network>, address: Option<IpAddr>) -> bool {
    let Some((network, length)) = network else { return true };
    let Some(address) = address else { return false };
    let length = usize::from(length);
    network.is_ipv4() == address.is_ipv4() && bits(network)[..length] == bits(address)[..length]
}

fn headers(bytes: &mut Bytes<'_>) -> Headers {
    if bytes.byte() & 7 == 0 {
        let length = bytes.byte().into();
        return Headers::read(LinkType::Ethernet, bytes.take(length));
    }
    let source = address(bytes);
    let mut destination = address(bytes);
    if source.is_ipv4() != destination.is_ipv4() {
        destination = source;
    }
    let protocol = bytes.pick(&[1, 6, 17]);
    let ports = (protocol != 1).then(|| (u16::from(bytes.byte() % 4), u16::from(bytes.byte() % 4)));
    let ip = Ip {
        source,
        destination,
        protocol,
        dscp: bytes.byte() % 4,
        ecn: 0,
        fragment: Fragment::Whole,
        ports,
    };
    let vlans =
        [small(bytes).map(|id| Vlan { id, priority: 0 }), small(bytes).map(|id| Vlan { id, priority: 1 })];
    Headers { vlans, ip: Some(ip), ..Headers::default() }
}

/// Returns true if a list is empty, or `holds` is true for one of its members.
fn one_of<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(holds)
}

/// The rule of a packet, word by word.
fn rule_of(rules: &[Told], headers: &Headers, direction: Direction) -> Option<usize> {
    let sides = headers.ip.map(|ip| match direction {
        Direction::Up => ((ip.source, ip.ports.map(|p| p.0)), (ip.destination, ip.ports.map(|p| p.1))),
        Direction::Down => ((ip.destination, ip.ports.map(|p| p.1)), (ip.source, ip.ports.map(|p| p.0))),
    });
    rules.iter().position(|told| {
        let matching = &told.rule.matching;
        let (inside, outside) = (sides.map(|sides| sides.0), sides.map(|sides| sides.1));
        let (inside_port, outside_port) = (inside.and_then(|end| end.1), outside.and_then(|end| end.1));
        let of_ip = headers.ip.map(|ip| if ip.source.is_ipv4() { 0x0800 } else { 0x86dd });
        within(told.inside, inside.map(|end| end.0))
            && within(told.outside, outside.map(|end| end.0))
            && one_of(&matching.inside_port, |ports| inside_port.is_some_and(|port| ports.contains(port)))
            && one_of(&matching.outside_port, |ports| outside_port.is_some_and(|port| ports.contains(port)))
            && one_of(&matching.port, |ports| {
                [inside_port, outside_port].into_iter().flatten().any(|port| ports.contains(port))
            })
            && one_of(&matching.protocol, |protocol| headers.ip.is_some_and(|ip| ip.protocol == *protocol))
            && one_of(&matching.ethertype, |kind| headers.ethertype.or(of_ip) == Some(*kind))
            && one_of(&matching.dscp, |dscp| headers.ip.is_some_and(|ip| ip.dscp == *dscp))
            && one_of(&matching.vlan, |id| headers.vlans.iter().flatten().any(|vlan| vlan.id == *id))
            && matching.direction.is_none_or(|only| only == direction)
            && match told.rule.split {
                Split::Circuits(_) => inside.is_some_and(|end| owner(&told.owned, end.0).is_some()),
                _ => true,
            }
    })
}

fn switch_plan(bytes: &mut Bytes<'_>) -> SwitchPlan {
    let name = bytes.pick(&["fifo", "virtual-clock", "strict-priority"]);
    let scheduler = SchedulerKind::named(name).expect("a scheduler's name");
    SwitchPlan {
        ports: vec![PortPlan::new(scheduler)],
        buffer: Some(Limit::Packets(20)),
        ..SwitchPlan::default()
    }
}

fn steer(mut bytes: Bytes<'_>) {
    let mut now = Time::ORIGIN;
    let mut rng = Rng::named(1, "fuzz");
    let direction = bytes.pick(&Direction::BOTH);
    let mut switch = Switch::new(now, &switch_plan(&mut bytes)).expect("a plan");
    let mut rules: Vec<Told> = (0..bytes.below(6)).map(|_| told(&mut bytes)).collect();
    let mut most = bytes.below(8);
    let plain = |rules: &[Told]| rules.iter().map(|told| told.rule.clone()).collect::<Vec<_>>();
    let rest = FlowPlan::default();
    let mut steering = Steering::new(now, &mut switch, PORT, direction, plain(&rules), rest, most)
        .expect("contracts that fit");
    let mut kept = [None; 4];
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let mut cx = Ctx { now, rng: &mut rng, out: &mut out };
        match bytes.below(8) {
            0..=4 => {
                let headers = headers(&mut bytes);
                let before = steering.overflowed();
                let leg = steering.steer(now, &mut switch, &headers);
                let wanted = rule_of(&rules, &headers, direction);
                if wanted.is_some() && leg == steering.rest() {
                    assert!(steering.overflowed() > before, "a packet of rule {wanted:?} went with the rest");
                } else {
                    assert_eq!(steering.rule_of(leg.flow), wanted);
                    match wanted.map(|rule| (rule, &rules[rule])) {
                        Some((rule, Told { rule: Rule { split: Split::Each(each), within, .. }, .. })) => {
                            let each = if within.is_some() { Each::FiveTuple } else { *each };
                            let key = each.key(&headers, direction);
                            match steering.overflowed() > before {
                                // It shares a flow, which is no member's own.
                                true => assert!(steering.members(rule).all(|(_, own)| own != leg)),
                                false => assert!(steering.members(rule).any(|member| member == (key, leg))),
                            }
                        }
                        Some((rule, Told { rule: Rule { split: Split::Circuits(_), .. }, owned, .. })) => {
                            let circuit = inside(&headers, direction).and_then(|at| owner(owned, at));
                            let legs = circuit.map(|at| steering.circuit_legs(rule, at));
                            assert!(legs.into_iter().flatten().any(|own| own == leg));
                        }
                        _ => {}
                    }
                }
                assert_eq!(steering.steer(now, &mut switch, &headers), leg);
                let place = &mut kept[bytes.below(4)];
                // A kept flow belongs to the headers that it was kept for.
                let (found, mut steered) = match *place {
                    Some((found, steered)) => (found, steered),
                    None => (headers, None),
                };
                let again = steering.steer_again(now, &mut switch, &found, &mut steered);
                *place = Some((found, steered));
                assert_eq!(steering.steer(now, &mut switch, &found), again);
                _ = switch.arrive(&mut cx, &[leg], Packet::new(BodyId(0), 40 + u32::from(bytes.byte()) * 5));
            }
            5 => {
                if switch.in_service(PORT).is_some() {
                    switch.finish(&mut cx, PORT);
                }
                _ = switch.timer(&mut cx, PORT);
                switch.start(&mut cx, PORT);
            }
            6 => {
                now += Span::from_millis(bytes.byte().into());
                steering.close_idle(now, &mut switch);
            }
            _ => {
                // Some rules continue, in reverse order; others come and go.
                let mut next: Vec<Told> = Vec::new();
                let mut from = Vec::new();
                for (ix, before) in rules.into_iter().enumerate().rev() {
                    match bytes.below(4) {
                        0 => {}
                        1 => {
                            from.push(Some(ix));
                            next.push(told(&mut bytes));
                        }
                        _ => {
                            from.push(Some(ix));
                            next.push(before);
                        }
                    }
                }
                if bytes.byte() & 1 == 1 && next.len() < 8 {
                    from.push(None);
                    next.push(told(&mut bytes));
                }
                most = bytes.below(8);
                rules = next;
                let mut plan = switch_plan(&mut bytes);
                let changes = steering.changes(&plain(&rules), &from, rest, &mut plan.ports[0].classes);
                _ = switch.reconfigure(&mut cx, &plan, &changes).expect("a plan");
                steering.replan(now, &mut switch, plain(&rules), &from, rest, most);
            }
        }
        out.clear();
        switch.audit(now).unwrap_or_else(|what| panic!("{what}"));
        let mut flows = BTreeSet::from([steering.rest().flow, steering.control().flow]);
        for rule in 0..rules.len() {
            let of_keys = steering.members(rule).map(|(_, leg)| leg);
            let of_circuits = (0..20).flat_map(|circuit| steering.circuit_legs(rule, circuit));
            for leg in of_keys.chain(of_circuits) {
                assert!(flows.insert(leg.flow), "two flows of rule {rule} are one");
            }
        }
    }
}
