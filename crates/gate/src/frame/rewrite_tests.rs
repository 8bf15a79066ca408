use super::*;
use crate::frame::checksum::Sum;
use proptest::prelude::*;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::packet::Colour;

fn read(frame: &[u8]) -> Headers {
    Headers::read(LinkType::Ethernet, frame)
}

/// An Ethernet frame with these VLAN tags around a packet.
fn framed(tags: &[u16], kind: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0, 7]);
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

/// An IPv4 packet, whole or a fragment, with options and a correct checksum.
fn ipv4(field: u8, options: usize, fragment: u16, body: &[u8]) -> Vec<u8> {
    let header = 20 + 4 * options;
    let mut packet = vec![0x40 | (header / 4) as u8, field];
    packet.extend(((header + body.len()) as u16).to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.resize(header, 1);
    let checksum = Sum::default().bytes(&packet).checksum();
    packet[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(body);
    packet
}

fn ipv6(field: u8, label: u32, body: &[u8]) -> Vec<u8> {
    let mut packet = (6 << 28 | u32::from(field) << 20 | label).to_be_bytes().to_vec();
    packet.extend((body.len() as u16).to_be_bytes());
    packet.extend([17, 64]);
    packet.extend([0x20; 32]);
    packet.extend(body);
    packet
}

fn tags() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(prop_oneof![Just(0x8100), Just(0x88a8), Just(0x9100)], 0..4)
}

fn marks() -> impl Strategy<Value = Mark> {
    (0u8..64, 0u8..4, 0u8..64, any::<bool>(), 0u8..4).prop_map(|(came, ecn, dscp, congested, colour)| {
        let mut mark = Mark::from_ip(came, ecn);
        if congested {
            mark = mark.congested();
        }
        match colour {
            0 => mark,
            1 => mark.with_dscp(dscp),
            2 => mark.coloured(Colour::Yellow),
            _ => mark.with_dscp(dscp).coloured(Colour::Red),
        }
    })
}

proptest! {
    /// The field has the mark's value, the checksum equals that of the header summed up anew, and
    /// nothing else has changed.
    #[test]
    fn an_ipv4_header_is_as_if_it_were_written_anew(
        tags in tags(), mark in marks(), field: u8, options in 0usize..=10, fragment in 0u16..0x4000,
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut frame = framed(&tags, 0x0800, &ipv4(field, options, fragment, &body));
        write_mark(&mut frame, mark);
        let shown = mark.coloured_dscp() << 2 | mark.ecn();
        prop_assert_eq!(&frame, &framed(&tags, 0x0800, &ipv4(shown, options, fragment, &body)));
    }

    #[test]
    fn an_ipv6_header_is_as_if_it_were_written_anew(
        tags in tags(), mark in marks(), field: u8, label in 0u32..1 << 20,
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut frame = framed(&tags, 0x86dd, &ipv6(field, label, &body));
        write_mark(&mut frame, mark);
        let shown = mark.coloured_dscp() << 2 | mark.ecn();
        prop_assert_eq!(&frame, &framed(&tags, 0x86dd, &ipv6(shown, label, &body)));
    }

    /// A wrong header checksum is wrong by the same amount afterwards.
    #[test]
    fn damage_is_not_repaired(mark in marks(), field: u8, wrong in 1u16..0xffff) {
        let error = |packet: &[u8]| Sum::default().bytes(&packet[..20]).checksum();
        let mut packet = ipv4(field, 0, 0, &[]);
        let checksum = u16::from_be_bytes([packet[10], packet[11]]);
        packet[CHECKSUM].copy_from_slice(&(checksum ^ wrong).to_be_bytes());
        let mut frame = framed(&[], 0x0800, &packet);
        write_mark(&mut frame, mark);
        prop_assert_eq!(error(&frame[14..]), error(&packet));
    }

    /// Frames of every kind: core reads back what was written, and a frame that it cannot read is
    /// left unchanged.
    #[test]
    fn whatever_comes_is_whole_or_untouched(
        start in prop_oneof![Just(0x0800u16), Just(0x86dd), Just(0x8100), Just(0x8847), Just(0x8864), any::<u16>()],
        bytes in prop::collection::vec(any::<u8>(), 0..80), version in prop::option::of(prop_oneof![Just(0x45u8), Just(0x60)]),
        mark in marks(),
    ) {
        let mut packet = bytes;
        if let (Some(version), Some(first)) = (version, packet.first_mut()) {
            *first = version;
        }
        let before = framed(&[], start, &packet);
        let mut frame = before.clone();
        write_mark(&mut frame, mark);
        let (had, has) = (read(&before), read(&frame));
        prop_assert_eq!((had.vlans, had.ethertype), (has.vlans, has.ethertype));
        match (had.ip, has.ip) {
            (Some(had), Some(has)) if !matches!(read(&frame).ethertype, Some(0x8847 | 0x8848 | 0x8864)) => {
                prop_assert_eq!((has.dscp, has.ecn), (mark.coloured_dscp(), mark.ecn()));
                prop_assert_eq!((had.source, had.destination, had.ports), (has.source, has.destination, has.ports));
            }
            _ => prop_assert_eq!(frame, before),
        }
    }
}

/// RFC 3168: a packet that is not ECN-capable cannot be marked; one that is becomes "congestion
/// experienced".
#[test]
fn congestion_shows_where_it_can() {
    for (ecn, shown) in [(0b00, 0b00), (0b01, 0b11), (0b10, 0b11), (0b11, 0b11)] {
        for (kind, packet) in
            [(0x0800, ipv4(46 << 2 | ecn, 0, 0, &[])), (0x86dd, ipv6(46 << 2 | ecn, 5, &[]))]
        {
            let mut frame = framed(&[], kind, &packet);
            write_mark(&mut frame, Mark::from_ip(46, ecn).congested());
            let ip = read(&frame).ip.unwrap();
            assert_eq!((ip.dscp, ip.ecn), (46, shown));
        }
    }
}
