//! Captures: what a pcapng file says is what left the link.

mod common;

use common::{add, chain, rate, run_with};
use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapBlockOwned, PcapError, PcapNGReader};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_core::endpoint::Payload;
use tidegate_core::endpoint::tcp::Segment;
use tidegate_core::headers::{Headers, LinkType};
use tidegate_core::packet::Mark;
use tidegate_core::units::{Span, Time};
use tidegate_sim::capture::{CaptureError, CaptureFile, CaptureFiles, CapturedPacket, Unframed};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::World;

/// Three links in a row; one flow over all, and one over the second alone.
fn network() -> Network {
    let mut network = chain(3, 1_000_000, Span::from_millis(1), "virtual-clock", Span::from_secs(2));
    let sizes: Arc<[u32]> = vec![64, 577, 1500].into();
    for route in [0..3, 1..2] {
        let traffic = Traffic::Poisson { rate: rate(450_000), sizes: Arc::clone(&sizes) };
        add(&mut network, route, Some(400_000), traffic);
    }
    network
}

/// A packet as a file says it is: interface, nanoseconds, length and headers.
#[derive(Debug, PartialEq)]
struct Read {
    interface: u32,
    at: u64,
    len: u32,
    bytes: Vec<u8>,
}

/// Reads a file with another library than the one that wrote it.
fn read(file: &[u8]) -> Vec<Read> {
    let mut reader = PcapNGReader::new(65_536, file).unwrap();
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    let at = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    let bytes = packet.data[..packet.caplen as usize].to_vec();
                    packets.push(Read { interface: packet.if_id, at, len: packet.origlen, bytes });
                }
                reader.consume(offset);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn written(network: &Arc<Network>, links: &[u32], packets: &[CapturedPacket]) -> Vec<u8> {
    let mut file = CaptureFile::new(Arc::clone(network), links, Vec::new()).unwrap();
    packets.iter().for_each(|packet| file.write(packet).unwrap());
    file.into_inner()
}

#[test]
fn a_file_has_every_packet_that_left_its_links() {
    let network = Arc::new(network());
    let probes = Probes { captured: vec![2, 1], log: true, ..Probes::default() };
    let mut world: World<Calendar> = run_with(&network, 7, &probes);
    let packets = world.take_captured();
    assert!(world.take_captured().is_empty(), "they are taken once");
    let found = read(&written(&network, &[2, 1], &packets));
    let departed: Vec<_> = (world.log().iter())
        .filter_map(|entry| match (entry.link, entry.what) {
            (1 | 2, PacketEvent::Departed(packet)) => Some((entry.at, entry.link, packet)),
            _ => None,
        })
        .collect();
    assert!(found.len() > 300 && found.len() == departed.len(), "{} {}", found.len(), departed.len());
    for (frame, (at, link, packet)) in found.iter().zip(departed) {
        assert_eq!(frame.at, at.since(Time::ORIGIN).ticks() / 100);
        assert_eq!(frame.interface, u32::from(link == 1));
        let ip = Headers::read(LinkType::RawIp, &frame.bytes).ip.unwrap();
        let (from, to) = if packet.flow == 0 { ("10.0.0.1", "10.0.0.4") } else { ("10.0.0.2", "10.0.0.3") };
        assert_eq!((ip.source.to_string(), ip.destination.to_string()), (from.into(), to.into()));
        assert_eq!((ip.protocol, ip.ports), (17, Some((49_152 + packet.flow as u16, 5001))));
        assert_eq!(u16::from_be_bytes([frame.bytes[4], frame.bytes[5]]), packet.sequence as u16);
        let passed = link as u8 - if packet.flow == 0 { 0 } else { 1 };
        assert_eq!(frame.bytes[8], 64 - passed, "the TTL");
    }
    let lengths: std::collections::BTreeSet<u32> = found.iter().map(|frame| frame.len).collect();
    assert_eq!(lengths, [64, 577, 1500].into());
}

/// A packet of the first flow on the first link.
fn packet(len: u32, mark: Mark) -> CapturedPacket {
    CapturedPacket {
        at: Time::ORIGIN + Span::from_micros(5),
        link: 0,
        flow: 0,
        sequence: 70_000,
        len,
        mark,
        place: 0,
        payload: Payload::None,
    }
}

#[test]
fn a_packet_longer_than_any_of_ip_is_refused() {
    let network = Arc::new(network());
    for len in [0, 1, 19, 20, 21, 27, 28, 29, 1500, 65_535] {
        let [frame] = &read(&written(&network, &[0], &[packet(len, Mark::NONE)]))[..] else { panic!() };
        let ip = Headers::read(LinkType::RawIp, &frame.bytes).ip.unwrap();
        assert_eq!((frame.len, ip.protocol), (len.max(20), if len < 28 { 253 } else { 17 }));
        assert_eq!(frame.bytes.len() as u32, len.clamp(20, 28));
    }
    let mut file = CaptureFile::new(Arc::clone(&network), &[0], Vec::new()).unwrap();
    for len in [65_536, u32::MAX] {
        let refused = file.write(&packet(len, Mark::NONE)).unwrap_err();
        assert!(matches!(&refused, CaptureError::Packet { reason: Unframed(bytes), .. } if *bytes == len));
        let expected = format!("a packet of {len} bytes cannot be an IP packet, which has at most 65535");
        assert!(refused.to_string().ends_with(&expected), "{refused}");
    }
}

#[test]
fn marks_are_written() {
    let network = Arc::new(network());
    for (dscp, ecn) in [(46, 0), (10, 1), (0, 2), (63, 3)] {
        let marked = packet(100, Mark::from_ip(dscp, ecn));
        let [frame] = &read(&written(&network, &[0], &[marked]))[..] else { panic!() };
        let ip = Headers::read(LinkType::RawIp, &frame.bytes).ip.unwrap();
        assert_eq!((ip.dscp, ip.ecn), (dscp, ecn));
    }
}

#[test]
fn a_count_of_marks_is_in_the_bits_of_ace() {
    let network = Arc::new(network());
    for ace in 0..8 {
        let payload = Payload::Tcp(Segment { ace, ..Segment::default() });
        let segment = CapturedPacket { payload, ..packet(52, Mark::NONE) };
        let [frame] = &read(&written(&network, &[0], &[segment]))[..] else { panic!() };
        // The three bits before URG in the 13th and 14th byte of the TCP header.
        let flags = u16::from_be_bytes([frame.bytes[32], frame.bytes[33]]);
        assert_eq!(flags >> 6 & 7, u16::from(ace));
    }
}

#[test]
fn the_end_of_a_write_is_in_the_bit_psh() {
    let network = Arc::new(network());
    for pushes in [false, true] {
        let payload = Payload::Tcp(Segment { pushes, ..Segment::default() });
        let segment = CapturedPacket { payload, ..packet(52, Mark::NONE) };
        let [frame] = &read(&written(&network, &[0], &[segment]))[..] else { panic!() };
        assert_eq!(frame.bytes[33] >> 3 & 1, u8::from(pushes));
    }
}

fn place(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("captures");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

#[test]
fn a_file_is_in_its_place_once_it_is_whole() {
    let network = Arc::new(network());
    let path = place("whole.pcapng");
    std::fs::File::create(&path).unwrap().write_all(b"before").unwrap();
    let wanted = [(vec![0], path.clone())];
    let part = place("whole.pcapng.part");

    let mut given_up = CaptureFiles::create(&network, &wanted).unwrap();
    given_up.write(&[packet(100, Mark::NONE)]).unwrap();
    assert!(part.exists());
    drop(given_up);
    assert_eq!((part.exists(), std::fs::read(&path).unwrap()), (false, b"before".to_vec()));

    let mut files = CaptureFiles::create(&network, &wanted).unwrap();
    files.write(&[packet(100, Mark::NONE), CapturedPacket { link: 1, ..packet(100, Mark::NONE) }]).unwrap();
    files.finish().unwrap();
    assert_eq!((part.exists(), read(&std::fs::read(&path).unwrap()).len()), (false, 1));
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let network = Arc::new(network());
    let path = place("no-such-folder/out.pcapng");
    let error = CaptureFiles::create(&network, &[(vec![0], path.clone())]).err().unwrap().to_string();
    assert!(error.starts_with(&format!("{}: No such file", path.display())), "{error}");
}
