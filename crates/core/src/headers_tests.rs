//! Packets built by etherparse or byte by byte, and parsed again.

use super::*;
use etherparse::PacketBuilder;
use proptest::prelude::*;

fn v4(a: [u8; 4]) -> IpAddr {
    Ipv4Addr::from(a).into()
}

/// An IPv4 header with the given length in words, fragment field and protocol.
fn ipv4_header(words: u8, total: u16, fragment: u16, protocol: u8) -> Vec<u8> {
    let mut bytes = vec![0x40 | words, 0xb9]; // EF, ECT(1)
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 7]);
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.resize(usize::from(words) * 4, 1);
    bytes
}

fn tagged_tcp() -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .double_vlan(etherparse::VlanId::try_new(100).unwrap(), etherparse::VlanId::try_new(200).unwrap())
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 80, 1, 1000);
    let mut frame = vec![0; builder.size(100)];
    builder.write_to_slice(&mut frame, &[9; 100]).unwrap();
    frame
}

#[test]
fn a_doubly_tagged_frame() {
    let headers = Headers::read(LinkType::Ethernet, &tagged_tcp());
    let ids = headers.vlans.map(|tag| tag.map(|t| t.id));
    assert_eq!(ids, [Some(100), Some(200)]);
    assert_eq!(headers.ethertype, Some(0x0800));
    let ip = headers.ip.unwrap();
    assert_eq!((ip.source, ip.destination), (v4([10, 0, 0, 1]), v4([10, 0, 0, 2])));
    assert_eq!((ip.protocol, ip.ports, ip.fragment), (6, Some((5001, 80)), Fragment::Whole));
}

#[test]
fn a_cut_packet_gives_what_is_there() {
    let frame = tagged_tcp();
    let ports_end = 14 + 8 + 20 + 4;
    for cut in 0..frame.len() {
        let ip = Headers::read(LinkType::Ethernet, &frame[..cut]).ip;
        assert_eq!(ip.is_some(), cut >= ports_end - 4, "cut at {cut}");
        assert_eq!(ip.and_then(|ip| ip.ports).is_some(), cut >= ports_end, "cut at {cut}");
    }
}

#[test]
fn dscp_ecn_options_and_zero_total_length() {
    let mut packet = ipv4_header(7, 0, 0, 17);
    packet.extend([0x13, 0x88, 0, 53, 0, 0]);
    let ip = Headers::read(LinkType::RawIp, &packet).ip.unwrap();
    assert_eq!((ip.dscp, ip.ecn, ip.ports), (46, 1, Some((5000, 53))));
    // The options cut off: the addresses are still known.
    let ip = Headers::read(LinkType::RawIp, &packet[..22]).ip.unwrap();
    assert_eq!((ip.source, ip.ports), (v4([10, 0, 0, 1]), None));
}

#[test]
fn padding_is_not_taken_for_ports() {
    let mut packet = ipv4_header(5, 20, 0, 17);
    packet.extend([0; 26]);
    assert_eq!(Headers::read(LinkType::RawIp, &packet).ip.unwrap().ports, None);
}

#[test]
fn later_fragments_have_no_ports() {
    for (field, fragment, ports) in [
        (0x2000, Fragment::First(7), Some((1, 2))),
        (0x2001, Fragment::Later(7), None),
        (0x0001, Fragment::Later(7), None),
        (0x4000, Fragment::Whole, Some((1, 2))),
    ] {
        let mut packet = ipv4_header(5, 100, field, 17);
        packet.extend([0, 1, 0, 2, 0, 0, 0, 0]);
        let ip = Headers::read(LinkType::RawIp, &packet).ip.unwrap();
        assert_eq!((ip.fragment, ip.ports, ip.protocol), (fragment, ports, 17));
    }
}

#[test]
fn ipv6_extensions_are_passed_over() {
    let mut packet = vec![0x6b, 0x90, 0, 0, 0, 28, 0, 64];
    packet.extend([0xfd; 16]);
    packet.extend([0xfe; 16]);
    packet.extend([44, 0, 1, 4, 0, 0, 0, 0]); // hop by hop, then a fragment header
    let fragment_at = packet.len();
    packet.extend([17, 0, 0, 1, 0, 0, 0, 9]);
    packet.extend([0, 1, 0, 2, 0, 12, 0, 0, 5, 5, 5, 5]);
    let ip = Headers::read(LinkType::RawIp, &packet).ip.unwrap();
    assert_eq!((ip.protocol, ip.ports, ip.fragment), (17, Some((1, 2)), Fragment::First(9)));
    assert_eq!((ip.dscp, ip.ecn), (0x2e, 1));
    packet[fragment_at + 3] = 8; // offset 1
    let ip = Headers::read(LinkType::RawIp, &packet).ip.unwrap();
    assert_eq!((ip.protocol, ip.ports, ip.fragment), (17, None, Fragment::Later(9)));
    packet.truncate(fragment_at + 4);
    let ip = Headers::read(LinkType::RawIp, &packet).ip.unwrap();
    assert_eq!((ip.protocol, ip.ports), (44, None));
}

/// Reads a PPPoE session: IP behind its header, tagged or not, and the protocol in two bytes or in
/// one.
#[test]
fn a_session_frame_is_read_as_the_packet_in_it() {
    let mut packet = ipv4_header(5, 28, 0, 17);
    packet.extend([0, 1, 0, 2, 0, 8, 0, 0]);
    let expected = Headers::read(LinkType::RawIp, &packet).ip;
    assert_eq!(expected.unwrap().ports, Some((1, 2)));
    let frame = |tags: &[u8], pppoe: [u8; 6], protocol: &[u8]| {
        [&[3; 12][..], tags, &[0x88, 0x64], &pppoe, protocol, &packet].concat()
    };
    let session = [0x11, 0, 0, 9, 0, 30];
    for tags in [&[][..], &[0x81, 0, 0, 7]] {
        for protocol in [&[0, 0x21][..], &[0x21]] {
            let headers = Headers::read(LinkType::Ethernet, &frame(tags, session, protocol));
            assert_eq!((headers.ip, headers.ethertype), (expected, Some(0x8864)));
        }
    }
    // Discovery, another version, and the protocols of the link itself carry no packet of a flow.
    for (pppoe, protocol) in [
        ([0x11, 9, 0, 9, 0, 30], [0, 0x21]),
        ([0x21, 0, 0, 9, 0, 30], [0, 0x21]),
        (session, [0xc0, 0x21]),
        (session, [0, 0x57]),
    ] {
        assert_eq!(Headers::read(LinkType::Ethernet, &frame(&[], pppoe, &protocol)).ip, None);
    }
    let whole = frame(&[], session, &[0, 0x21]);
    for cut in 0..whole.len() {
        let ip = Headers::read(LinkType::Ethernet, &whole[..cut]).ip;
        assert_eq!(ip.is_some(), cut >= 14 + 8 + 20, "cut at {cut}");
    }
}

#[test]
fn every_link_type_leads_to_the_same_packet() {
    let mut packet = ipv4_header(5, 28, 0, 17);
    packet.extend([0, 1, 0, 2, 0, 8, 0, 0]);
    let expected = Headers::read(LinkType::RawIp, &packet);
    assert!(expected.ip.is_some_and(|ip| ip.ports == Some((1, 2))));
    let with = |header: &[u8]| [header, &packet].concat();
    let mut sll = [0; 16];
    sll[14] = 8;
    let mut sll2 = [0; 20];
    sll2[0] = 8;
    assert_eq!(Headers::read(LinkType::LinuxSll, &with(&sll)), expected);
    assert_eq!(Headers::read(LinkType::LinuxSll2, &with(&sll2)), expected);
    assert_eq!(Headers::read(LinkType::BsdLoopback, &with(&[2, 0, 0, 0])), expected);
    assert_eq!(Headers::read(LinkType::BsdLoopback, &with(&[0, 0, 0, 2])), expected);
    assert_eq!(Headers::read(LinkType::BsdLoopback, &with(&[0, 0, 0, 7])), Headers::default());
}

#[test]
fn labels_are_passed_over() {
    let mut packet = ipv4_header(5, 28, 0, 17);
    packet.extend([0, 1, 0, 2, 0, 8, 0, 0]);
    let framed = |labels: &[u8]| [&[0; 12], &[0x88, 0x47][..], labels, &packet].concat();
    let headers = Headers::read(LinkType::Ethernet, &framed(&[0, 1, 0, 64, 0, 2, 1, 64]));
    assert_eq!((headers.ethertype, headers.ip.unwrap().ports), (Some(0x8847), Some((1, 2))));
    // A pseudowire's control word, and a label stack without a bottom.
    assert_eq!(Headers::read(LinkType::Ethernet, &framed(&[0, 1, 1, 64, 0, 0, 0, 0])).ip, None);
    assert_eq!(Headers::read(LinkType::Ethernet, &framed(&[0, 1, 0, 64])[..20]).ip, None);
}

#[test]
fn link_type_numbers() {
    assert_eq!(LinkType::from_number(1), Some(LinkType::Ethernet));
    assert_eq!(LinkType::from_number(276), Some(LinkType::LinuxSll2));
    assert_eq!(LinkType::from_number(127), None);
}

proptest! {
    #[test]
    fn no_bytes_panic(
        start in prop::sample::select(vec![vec![], vec![0x45], vec![0x60], vec![2, 0, 0, 0, 0x4f]]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [start, bytes].concat();
        for number in [0, 1, 101, 113, 276] {
            let _ = Headers::read(LinkType::from_number(number).unwrap(), &bytes);
        }
    }

    #[test]
    fn a_damaged_packet_does_not_panic(at in 0usize..140, value: u8, cut in 0usize..200) {
        let mut frame = tagged_tcp();
        if let Some(byte) = frame.get_mut(at) {
            *byte = value;
        }
        frame.truncate(cut);
        let _ = Headers::read(LinkType::Ethernet, &frame);
    }
}
