//! The program against core's own matching, on frames drawn at random, by a small interpreter.

use super::*;
use libc::c_int;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::net::{Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::matching::PortRange;
use tidegate_core::classifier::rules::Prefix;
use tidegate_core::headers::{Headers, LinkType, MacAddress};

/// A frame as the kernel hands it to the program: without its outer tag, from the network header
/// on, with its link header before that.
struct Arrived {
    mac: [u8; 14],
    outer_tag: Option<u16>,
    protocol: u16,
    network: Vec<u8>,
}

impl Arrived {
    /// As the kernel receives a frame: it removes an outer tag of 802.1Q or 802.1ad.
    fn of(frame: &[u8]) -> Arrived {
        let mac = frame[..14].try_into().unwrap();
        let half = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        match half(12) {
            0x8100 | 0x88a8 if frame.len() >= 18 => {
                Arrived { mac, outer_tag: Some(half(14)), protocol: half(16), network: frame[18..].to_vec() }
            }
            protocol => Arrived { mac, outer_tag: None, protocol, network: frame[14..].to_vec() },
        }
    }

    fn load(&self, at: u32, size: usize) -> Option<u32> {
        let special = |what: c_int| (libc::SKF_AD_OFF + what) as u32;
        match at {
            at if at == special(libc::SKF_AD_PROTOCOL) => return Some(u32::from(self.protocol)),
            at if at == special(libc::SKF_AD_VLAN_TAG) => {
                return Some(u32::from(self.outer_tag.unwrap_or(0)));
            }
            at if at == special(libc::SKF_AD_VLAN_TAG_PRESENT) => {
                return Some(u32::from(self.outer_tag.is_some()));
            }
            _ => {}
        }
        let (bytes, from): (&[u8], i64) = match i64::from(at as i32) {
            at if at >= 0 => panic!("an offset from the data"),
            at if at >= i64::from(libc::SKF_NET_OFF) => (&self.network, at - i64::from(libc::SKF_NET_OFF)),
            at => (&self.mac, at - i64::from(libc::SKF_LL_OFF)),
        };
        let from = usize::try_from(from).ok()?;
        let found = bytes.get(from..from + size)?;
        Some(found.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}

/// Result of the kernel's classic BPF machine, as Documentation/networking/filter.rst describes it.
fn run(code: &[sock_filter], frame: &Arrived) -> u32 {
    let (mut a, mut x, mut at, mut kept) = (0_u32, 0_u32, 0, [None; 16]);
    loop {
        let sock_filter { code, jt, jf, k } = code[at];
        at += 1;
        let size = match code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            _ => 1,
        };
        let jump = |met: bool| usize::from(if met { jt } else { jf });
        match code {
            0x20 | 0x28 | 0x30 => match frame.load(k, size) {
                Some(value) => a = value,
                None => return 0,
            },
            0x40 | 0x48 | 0x50 => match frame.load(k.wrapping_add(x), size) {
                Some(value) => a = value,
                None => return 0,
            },
            0x80 => a = frame.network.len() as u32,
            0x00 => a = k,
            0x60 => a = kept[k as usize].expect("a word that was kept"),
            0x61 => x = kept[k as usize].expect("a word that was kept"),
            0x02 => kept[k as usize] = Some(a),
            0x07 => x = a,
            0x05 => at += k as usize,
            0x15 => at += jump(a == k),
            0x25 => at += jump(a > k),
            0x35 => at += jump(a >= k),
            0x24 => a = a.wrapping_mul(k),
            0x54 => a &= k,
            0x64 => a <<= k,
            0x74 => a >>= k,
            0x0c => a = a.wrapping_add(x),
            0x1c => a = a.wrapping_sub(x),
            0xac => a ^= x,
            0x16 => return a,
            0x06 => return k,
            other => panic!("{other:#x}"),
        }
    }
}

/// The member of a frame by core's own reading and matching; `None` where the program may not see
/// enough.
fn judged(rules: &[Rule], direction: Direction, frame: &[u8]) -> Option<u32> {
    let headers = Headers::read(LinkType::Ethernet, frame);
    let mut promised = 0;
    for rule in rules {
        let matching = rule.matching.as_ref()?;
        if matching.matches(&headers, direction) {
            return rule.promised.then_some(promised % PROMISED);
        }
        promised += u32::from(rule.promised);
    }
    None
}

fn address4() -> impl Strategy<Value = Ipv4Addr> {
    prop_oneof![
        4 => (0..4_u8, 0..3_u8).prop_map(|(net, host)| Ipv4Addr::new(10, 0, net, host)),
        1 => any::<u32>().prop_map(Ipv4Addr::from),
    ]
}

fn address6() -> impl Strategy<Value = Ipv6Addr> {
    let near = (0..3_u16, 0..2_u16, 0..3_u16)
        .prop_map(|(net, middle, host)| Ipv6Addr::new(0x2001, 0xdb8, 0, net, middle, 0, 0, host));
    prop_oneof![4 => near, 1 => any::<u128>().prop_map(Ipv6Addr::from)]
}

fn prefix() -> impl Strategy<Value = Prefix> {
    let four = (address4(), 0..=32_u32).prop_map(|(address, length)| {
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        format!("{}/{length}", Ipv4Addr::from(address.to_bits() & mask)).parse().unwrap()
    });
    let six = (address6(), 0..=128_u32).prop_map(|(address, length)| {
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        format!("{}/{length}", Ipv6Addr::from(address.to_bits() & mask)).parse().unwrap()
    });
    prop_oneof![four, six]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 5000..5004_u16, 1 => Just(0), 1 => Just(u16::MAX), 1 => any::<u16>()]
}

fn ports() -> impl Strategy<Value = PortRange> {
    (port(), port()).prop_map(|(a, b)| PortRange::new(a.min(b), a.max(b)).unwrap())
}

fn mac() -> impl Strategy<Value = MacAddress> {
    (0..2_u8, 0..3_u8).prop_map(|(a, b)| MacAddress([2, a, 0, 0, 0, b]))
}

fn vlan() -> impl Strategy<Value = u16> {
    prop_oneof![0..3_u16, Just(4095)]
}

const PROTOCOLS: [u8; 12] = [6, 17, 1, 58, 132, 33, 136, 51, 44, 0, 60, 50];

fn protocol() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(17), 2 => Just(6), 3 => proptest::sample::select(&PROTOCOLS[..])]
}

fn dscp() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0_u8), Just(46), 0..64_u8]
}

/// A list of conditions that is mostly empty.
fn few<T: std::fmt::Debug>(one: impl Strategy<Value = T> + 'static) -> impl Strategy<Value = Vec<T>> {
    let some = proptest::collection::vec(one.boxed(), 1..4);
    (any::<u8>(), some).prop_map(|(draw, some)| if draw < 70 { some } else { Vec::new() })
}

fn simple() -> impl Strategy<Value = Match> {
    let addresses = (few(prefix()), few(prefix()), few(mac()), few(mac()));
    let numbers = (few(ports()), few(ports()), few(ports()), few(protocol()), few(dscp()));
    let types = proptest::sample::select(&[0x0800_u16, 0x86dd, 0x0806, 0x8864][..]);
    let direction =
        prop_oneof![6 => Just(None), 1 => Just(Some(Direction::Up)), 1 => Just(Some(Direction::Down))];
    (addresses, numbers, (few(types), few(vlan()), direction)).prop_map(|(addresses, numbers, others)| {
        Match {
            inside: addresses.0,
            outside: addresses.1,
            inside_mac: addresses.2,
            outside_mac: addresses.3,
            port: numbers.0,
            inside_port: numbers.1,
            outside_port: numbers.2,
            protocol: numbers.3,
            dscp: numbers.4,
            ethertype: others.0,
            vlan: others.1,
            direction: others.2,
            except: None,
        }
    })
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let except = prop_oneof![2 => Just(None), 1 => simple().prop_map(|except| Some(Box::new(except)))];
    let rule =
        (simple(), except, any::<bool>(), any::<u8>()).prop_map(|(matching, except, promised, draw)| {
            let matching = (draw > 5).then_some(Match { except, ..matching });
            Rule { matching, promised }
        });
    proptest::collection::vec(rule, 0..14)
}

/// A frame, mostly of IP, some of whose fields are wrong and which may be cut off.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let tags = proptest::collection::vec(
        (proptest::sample::select(&[0x8100_u16, 0x88a8, 0x9100][..]), vlan(), 0..8_u16),
        0..4,
    );
    let tags = (any::<bool>(), tags).prop_map(|(tagged, tags)| if tagged { tags } else { Vec::new() });
    let four = (address4(), address4(), protocol(), dscp(), port(), port(), 5..16_u8, any::<[u8; 3]>());
    let four = four.prop_map(|(source, destination, protocol, dscp, from, to, words, draw)| {
        let mut packet = vec![0; 20];
        let length = usize::from(words) * 4;
        packet[0] = 0x40 | if draw[0] < 30 { words } else { 5 };
        let header = if draw[0] < 30 { length } else { 20 };
        packet[1] = dscp << 2 | draw[1] & 3;
        let total =
            if draw[1] < 40 { u16::from(draw[2]) } else { header as u16 + 8 + u16::from(draw[2] % 9) };
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        let fragment: u16 = [0, 0, 0, 0, 0x2000, 1, 0x1fff, 0x4000][usize::from(draw[2] % 8)];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet[12..16].copy_from_slice(&source.octets());
        packet[16..20].copy_from_slice(&destination.octets());
        packet.resize(header, 1);
        packet.extend(from.to_be_bytes().into_iter().chain(to.to_be_bytes()));
        (0x0800_u16, packet)
    });
    let six = (address6(), address6(), protocol(), dscp(), port(), port(), any::<[u8; 3]>());
    let six = six.prop_map(|(source, destination, protocol, dscp, from, to, draw)| {
        let mut packet = vec![0; 40];
        packet[..2]
            .copy_from_slice(&(0x6000 | u16::from(dscp) << 6 | u16::from(draw[0] & 3) << 4).to_be_bytes());
        let payload = u16::from(if draw[1] < 40 { draw[2] % 9 } else { 8 + draw[2] % 9 });
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
        packet[6] = protocol;
        packet[8..24].copy_from_slice(&source.octets());
        packet[24..40].copy_from_slice(&destination.octets());
        packet.extend(from.to_be_bytes().into_iter().chain(to.to_be_bytes()));
        (0x86dd_u16, packet)
    });
    let other =
        (proptest::sample::select(&[0x0806_u16, 0x8864, 0x8847, 0x0800, 0x86dd, 60][..]), any::<[u8; 32]>())
            .prop_map(|(kind, bytes)| (kind, bytes.to_vec()));
    let packet = prop_oneof![6 => four, 5 => six, 1 => other];
    (mac(), mac(), tags, packet, any::<u8>(), 0..50_usize).prop_map(
        |(to, from, tags, (kind, packet), draw, cut)| {
            let mut frame: Vec<u8> = to.0.into_iter().chain(from.0).collect();
            for (tag, id, priority) in tags {
                frame.extend(tag.to_be_bytes().into_iter().chain((priority << 13 | id).to_be_bytes()));
            }
            frame.extend(kind.to_be_bytes());
            frame.extend(&packet);
            if draw < 50 {
                frame.truncate((frame.len() - cut.min(frame.len())).max(14));
            } else {
                // A short frame is padded.
                frame.resize(frame.len().max(60), 0xff);
            }
            frame
        },
    )
}

/// True for a frame whose fields the program does not see, although core does.
fn is_hidden(frame: &[u8]) -> bool {
    let (mut at, mut tags) = (12, 0);
    let half = |at: usize| frame.get(at..at + 2).map_or(0, |half| u16::from_be_bytes([half[0], half[1]]));
    while matches!(half(at), 0x8100 | 0x88a8 | 0x9100) {
        (at, tags) = (at + 4, tags + 1);
    }
    let next = match half(at) {
        0x0800 => frame.get(at + 11),
        0x86dd => frame.get(at + 8),
        _ => return true,
    };
    let hides = if half(at) == 0x0800 { &[51][..] } else { &[0, 43, 44, 60, 135, 51] };
    // The kernel removes the outer tag of two of the three kinds only.
    let most = if half(12) == 0x9100 { 1 } else { 2 };
    tags > most || next.is_none_or(|next| hides.contains(next))
}

/// A frame of a promised flow has the member of that flow, unless the program cannot see its
/// fields; a frame of no promised flow never has one.
#[test]
fn the_program_selects_what_core_matches() {
    let mut runner = TestRunner::deterministic();
    let (mut found, mut hidden, mut none) = (0, 0, 0);
    for _ in 0..4_000 {
        let rules = rules().new_tree(&mut runner).unwrap().current();
        let frames: Vec<Vec<u8>> = (0..8).map(|_| frame().new_tree(&mut runner).unwrap().current()).collect();
        for (direction, others) in Direction::BOTH.into_iter().zip([Others::ByHost, Others::Together]) {
            let code = program(&rules, direction, others);
            assert_accepted(&code);
            for frame in &frames {
                let member = run(&code, &Arrived::of(frame));
                assert!(member < others.all_members() as u32);
                let selected = member.checked_sub(others.members() as u32);
                let judged = judged(&rules, direction, frame);
                let headers = Headers::read(LinkType::Ethernet, frame);
                if judged.is_some() && (headers.ip.is_none() || is_hidden(frame)) {
                    assert!(selected.is_none() || selected == judged, "{headers:?} {rules:?}");
                    hidden += 1;
                } else {
                    assert_eq!(selected, judged, "{headers:?} {rules:?}");
                    *(if judged.is_some() { &mut found } else { &mut none }) += 1;
                }
            }
        }
    }
    assert!(found > 2_000 && hidden > 200 && none > 10_000, "{found} {hidden} {none}");
}

/// The kernel takes the program: at most 4096 instructions, jumps within it, and a return at the
/// end.
fn assert_accepted(code: &[sock_filter]) {
    assert!(code.len() <= 4096);
    for (at, one) in code.iter().enumerate() {
        let furthest = match one.code {
            0x05 => one.k as usize,
            0x15 | 0x25 | 0x35 => usize::from(one.jt.max(one.jf)),
            _ => 0,
        };
        assert!(at + furthest + 1 < code.len() || matches!(one.code, 0x06 | 0x16));
    }
    assert!(matches!(code.last().unwrap().code, 0x06 | 0x16));
    let (near, _far) = std::os::unix::net::UnixDatagram::pair().unwrap();
    crate::io::group::filter(&near.into(), code).unwrap();
}

fn of(matching: Match) -> Rule {
    Rule { matching: Some(matching), promised: true }
}

#[test]
fn rules_beyond_the_room_are_left_to_the_hash() {
    let port = |port: u16| of(Match { protocol: vec![17], port: vec![port.into()], ..Match::default() });
    let rules: Vec<Rule> = (0..2000).map(port).collect();
    let code = program(&rules, Direction::Up, Others::ByHost);
    assert_accepted(&code);
    let selected = |port: u16| {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 255, 255]);
        frame.extend(port.to_be_bytes().into_iter().chain([0; 30]));
        let first = Others::ByHost.members() as u32;
        run(&code, &Arrived::of(&frame)).checked_sub(first)
    };
    let of_number: Vec<Option<u32>> = (0..2000).map(selected).collect();
    let tested = of_number.iter().position(Option::is_none).unwrap();
    assert!((50..500).contains(&tested), "{tested}");
    for (number, member) in of_number.iter().enumerate() {
        assert_eq!(*member, (number < tested).then_some(number as u32 % PROMISED), "{number}");
    }
}

#[test]
fn a_host_has_one_part_and_a_network_has_them_all() {
    let [up, down] = Direction::BOTH.map(|direction| program(&[], direction, Others::ByHost));
    let arrived = |protocol: u16, network: &[u8]| Arrived {
        mac: [2; 14],
        outer_tag: None,
        protocol,
        network: network.to_vec(),
    };
    let [v4, v6] = [Version::Four, Version::Six].map(Version::ethertype);
    let (mut parts4, mut parts6) = ([0; PARTS as usize], [0; PARTS as usize]);
    for host in 0..=255_u8 {
        let (mut to, mut from) = ([0x45; 40], [0x45; 40]);
        for (header, at) in [(&mut from, 12), (&mut to, 16)] {
            header[at..at + 4].copy_from_slice(&[192, 168, 7, host]);
        }
        let part = run(&up, &arrived(v4, &from));
        assert_eq!(part, run(&down, &arrived(v4, &to)));
        // Nor do an inner tag and the other end's address make a difference.
        let tagged: Vec<u8> = [0, 7, 8, 0].into_iter().chain(from).collect();
        assert_eq!(part, run(&up, &arrived(0x8100, &tagged)));
        from[16..20].copy_from_slice(&[host, 1, 2, 3]);
        assert_eq!(part, run(&up, &arrived(v4, &from)));
        parts4[part as usize] += 1;
        let (mut to, mut from) = ([0x60; 40], [0x60; 40]);
        for (header, at) in [(&mut from, 8), (&mut to, 24)] {
            header[at..at + 8].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 7, host, 0, host ^ 3]);
            // Behind the /64.
            header[at + 8] = host;
        }
        let part = run(&up, &arrived(v6, &from));
        assert_eq!(part, run(&down, &arrived(v6, &to)));
        parts6[part as usize] += 1;
    }
    let even = 256 / PARTS;
    for part in parts4.into_iter().chain(parts6) {
        assert!((even / 2..=even * 2).contains(&part), "{parts4:?} {parts6:?}");
    }
    assert_eq!(run(&up, &arrived(libc::ETH_P_ARP as u16, &[])), PARTS);
}
