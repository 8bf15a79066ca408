use super::*;
use crate::classifier::FiveTuple;
use crate::classifier::rules::{Each, Key};
use crate::headers::{Fragment, Ip, Macs, Vlan};
use crate::rng::Rng;

fn headers(flow: &str, dscp: u8, vlan: Option<u16>) -> Headers {
    let vlans = [vlan.map(|id| Vlan { id, priority: 0 }), None];
    let FiveTuple::Ip { source, destination, ports, protocol } = flow.parse().unwrap() else {
        return Headers { vlans, ..Headers::default() };
    };
    let fragment = Fragment::Whole;
    let ip = Some(Ip { source, destination, protocol, dscp, ecn: 0, fragment, ports });
    Headers { ip, vlans, ..Headers::default() }
}

fn prefix(text: &str) -> Vec<Prefix> {
    vec![text.parse().unwrap()]
}

#[test]
fn a_match_turns_with_the_direction() {
    let out = headers("10.0.0.7:5000>192.0.2.1:5060/udp", 46, Some(7));
    let back = headers("192.0.2.1:5060>10.0.0.7:5000/udp", 46, Some(7));
    let matched = |rule: Match| {
        [(out, Direction::Up), (back, Direction::Down), (out, Direction::Down), (back, Direction::Up)]
            .map(|(headers, direction)| rule.matches(&headers, direction))
    };
    assert_eq!(matched(Match::default()), [true; 4]);
    assert_eq!(
        matched(Match { inside: prefix("10.0.0.0/24"), ..Match::default() }),
        [true, true, false, false]
    );
    assert_eq!(
        matched(Match { outside: prefix("192.0.2.1"), ..Match::default() }),
        [true, true, false, false]
    );
    assert_eq!(
        matched(Match { inside_port: vec![PortRange::from(5000)], ..Match::default() }),
        [true, true, false, false]
    );
    assert_eq!(
        matched(Match { outside_port: vec![PortRange::from(5060)], ..Match::default() }),
        [true, true, false, false]
    );
    assert_eq!(matched(Match { port: vec![PortRange::from(5060)], ..Match::default() }), [true; 4]);
    assert_eq!(matched(Match { port: vec![PortRange::from(5061)], ..Match::default() }), [false; 4]);
    assert_eq!(
        matched(Match { direction: Some(Direction::Up), ..Match::default() }),
        [true, false, false, true]
    );
    assert_eq!(
        matched(Match { protocol: vec![17], dscp: vec![46], vlan: vec![7], ..Match::default() }),
        [true; 4]
    );
    for wrong in [
        Match { protocol: vec![6], ..Match::default() },
        Match { dscp: vec![0], ..Match::default() },
        Match { vlan: vec![8], ..Match::default() },
    ] {
        assert_eq!(matched(wrong), [false; 4]);
    }
}

#[test]
fn what_is_not_ip_has_no_addresses() {
    let arp = headers("other", 0, Some(7));
    assert!(Match::default().matches(&arp, Direction::Up));
    assert!(Match { vlan: vec![7], ..Match::default() }.matches(&arp, Direction::Up));
    assert!(!Match { inside: prefix("0.0.0.0/0"), ..Match::default() }.matches(&arp, Direction::Up));
    assert!(!Match { dscp: vec![0], ..Match::default() }.matches(&arp, Direction::Up));
    assert_eq!(Each::Host.key(&arp, Direction::Up), Key::Other);
}

#[test]
fn a_frames_type_is_matched_whatever_it_carries() {
    let of = |ethertype| Match { ethertype: vec![ethertype], ..Match::default() };
    let matched = |rule: Match, headers: &Headers| rule.matches(headers, Direction::Up);
    let four = headers("10.0.0.7>10.0.0.8/icmp", 0, Some(7));
    let six = headers("[2001:db8::1]:1>[2001:db8::9]:2/tcp", 0, None);
    // Without a link header the IP version decides.
    assert!(matched(of(0x0800), &four) && matched(of(0x86dd), &six));
    assert!(!matched(of(0x86dd), &four) && !matched(of(0x0800), &six));
    let arp = Headers { ethertype: Some(0x0806), ..Headers::default() };
    assert!(matched(of(0x0806), &arp) && !matched(of(0x0806), &four));
    assert!(!matched(of(0x0800), &Headers::default()));
    // In a PPPoE session the frame's type is the session's, and its addresses are those of the IP
    // packet that it carries.
    let session = Headers { ethertype: Some(0x8864), ..four };
    assert!(matched(of(0x8864), &session) && !matched(of(0x0800), &session));
    assert!(matched(Match { inside: prefix("10.0.0.0/8"), ..of(0x8864) }, &session));
}

#[test]
fn a_list_holds_when_one_of_its_members_does() {
    let web = headers("10.0.0.7:5000>192.0.2.1:443/tcp", 0, None);
    let range = |first, last| PortRange::new(first, last).unwrap();
    let holds = |rule: Match| rule.matches(&web, Direction::Up);
    let ports = vec![80.into(), range(440, 450)];
    assert!(holds(Match { outside_port: ports.clone(), protocol: vec![6, 17], ..Match::default() }));
    assert!(!holds(Match { inside_port: ports, ..Match::default() }));
    assert!(holds(Match {
        inside: [prefix("10.9.0.0/16"), prefix("10.0.0.7")].concat(),
        ..Match::default()
    }));
    let at = |port| vec![range(port, port + 1)];
    assert!(
        holds(Match { port: at(442), ..Match::default() })
            && holds(Match { port: at(443), ..Match::default() })
    );
    assert!(
        !holds(Match { port: at(441), ..Match::default() })
            && !holds(Match { port: at(444), ..Match::default() })
    );
    assert_eq!(PortRange::new(2, 1), None);
    assert_eq!([range(1, 1), range(1, 2)].map(|ports| ports.to_string()), ["1", "1-2"]);
}

#[test]
fn mac_addresses_turn_with_the_direction() {
    let mac = |text: &str| text.parse::<MacAddress>().unwrap();
    let (printer, router) = (mac("02:00:00:00:00:0a"), mac("02-00-00-00-00-0B"));
    assert_eq!(router.to_string(), "02:00:00:00:00:0b");
    let frame =
        |source, destination| Headers { macs: Some(Macs { source, destination }), ..Headers::default() };
    let inside = Match { inside_mac: vec![printer], ..Match::default() };
    assert!(inside.matches(&frame(printer, router), Direction::Up));
    assert!(inside.matches(&frame(router, printer), Direction::Down));
    assert!(!inside.matches(&frame(router, printer), Direction::Up));
    let outside = Match { outside_mac: vec![printer, router], ..Match::default() };
    assert!(outside.matches(&frame(printer, router), Direction::Up));
    // A packet that was captured without its frame has no MAC address.
    assert!(!outside.matches(&Headers::default(), Direction::Up));
    for text in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:0a:0b",
        "2:0:0:0:0:a",
        "02-00:00:00:00:0a",
        "0g:00:00:00:00:00",
    ] {
        assert_eq!(text.parse::<MacAddress>().ok(), None, "{text}");
    }
}

/// Packets that match `except` are removed from those that match the other conditions, for any rule
/// and packet.
#[test]
fn what_is_excepted_is_not_meant() {
    let mut rng = Rng::named(1, "matches");
    let mut met = [0; 3];
    for _ in 0..20_000 {
        let pick = |rng: &mut Rng, all: &[u16]| -> Vec<u16> {
            all.iter().copied().filter(|_| rng.chance(0.3)).collect()
        };
        let mut rule = || Match {
            port: pick(&mut rng, &[1, 2, 3]).into_iter().map(PortRange::from).collect(),
            protocol: pick(&mut rng, &[6, 17]).into_iter().map(|number| number as u8).collect(),
            dscp: pick(&mut rng, &[0, 46]).into_iter().map(|number| number as u8).collect(),
            vlan: pick(&mut rng, &[7]),
            ..Match::default()
        };
        let (all, but) = (rule(), rule());
        let (from, to) = (1 + rng.below(4), 1 + rng.below(4));
        let name = if rng.chance(0.5) { "tcp" } else { "udp" };
        let packet = headers(
            &format!("10.0.0.7:{from}>10.0.0.8:{to}/{name}"),
            if rng.chance(0.5) { 46 } else { 0 },
            rng.chance(0.5).then_some(7),
        );
        let holds = |rule: &Match| rule.matches(&packet, Direction::Up);
        let without = Match { except: Some(Box::new(but.clone())), ..all.clone() };
        assert_eq!(holds(&without), holds(&all) && !holds(&but));
        met[usize::from(holds(&all)) + usize::from(holds(&without))] += 1;
    }
    assert!(met.iter().all(|count| *count > 500), "{met:?}");
}
