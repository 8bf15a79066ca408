//! Captures that differ from the traffic of a link: copies, super-packets, steps of the clock,
//! damaged records.

use super::super::{LeftOut, Trace};
use super::{Style, load};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use tidegate_core::units::Span;

const EPOCH: u64 = 1_700_000_000_000_000_000;
const LITTLE: Style = Style { big: false, nanoseconds: true };
const SECOND: u64 = 1_000_000_000;

/// Returns a TCP frame of a download with `payload` bytes, starting at `sequence`.
fn tcp(sequence: u32, payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 3], [192, 0, 2, 9], 64);
    let builder = builder.tcp(443, 50000, sequence, 65535).ack(1);
    // The header's length field cannot hold a packet above 64 kB: offload writes zero.
    let written = payload.min(60_000);
    let mut frame = vec![0; builder.size(written)];
    builder.write_to_slice(&mut frame, &vec![7; written]).unwrap();
    frame[16..18].fill(0);
    frame.resize(frame.len() + payload - written, 7);
    frame
}

/// Returns the `nth` frame of a call, with a sequence number in its payload.
fn voice(nth: u32) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 2], [192, 0, 2, 1], 64);
    let mut payload = [0; 172];
    payload[..4].copy_from_slice(&nth.to_be_bytes());
    let mut frame = vec![0; 214];
    builder.udp(40000, 5004).write_to_slice(&mut frame, &payload).unwrap();
    frame
}

fn capture(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let records = packets.iter().map(|(time, frame)| LITTLE.record(EPOCH + time, frame, usize::MAX));
    [vec![LITTLE.header(1)], records.collect()].concat().concat()
}

/// Returns the packets of a call, one every 20 ms.
fn call(count: u32) -> Vec<(u64, Vec<u8>)> {
    (0..count).map(|nth| (u64::from(nth) * 20_000_000, voice(nth))).collect()
}

fn times(trace: &Trace) -> Vec<Span> {
    trace.flows[0].packets.iter().map(|packet| packet.0).collect()
}

fn every_20_ms(count: usize) -> Vec<Span> {
    (0..count as u64).map(|nth| Span::from_millis(20 * nth)).collect()
}

proptest! {
    /// The segments of super-packets are the packets that a link with an MTU of 1,500 B would have
    /// carried.
    #[test]
    fn super_packets_become_the_packets_of_a_link(
        lengths in prop::collection::vec((1u32..=44, 0u32..1460), 1..20),
    ) {
        let (mut packets, mut expected, mut sequence) = (Vec::new(), Vec::new(), 0u32);
        for (nth, (segments, rest)) in lengths.iter().enumerate() {
            // Half of the super-packets end with a short segment.
            let rest = if nth % 2 == 0 { 0 } else { *rest };
            let payload = segments * 1460 + rest;
            packets.push((nth as u64 * SECOND, tcp(sequence, payload as usize)));
            sequence = sequence.wrapping_add(payload);
            expected.extend((0..*segments).map(|_| (Span::from_secs(nth as u64), 1514)));
            expected.extend((rest > 0).then_some((Span::from_secs(nth as u64), 54 + rest)));
        }
        let trace = load("x", &capture(&packets)).unwrap();
        prop_assert_eq!(&trace.flows[0].packets, &expected);
        prop_assert_eq!(trace.packets, expected.len() as u64);
        let long = lengths.iter().enumerate().filter(|(nth, (segments, rest))| {
            *segments > 1 || (nth % 2 == 1 && *rest > 0)
        });
        prop_assert_eq!(trace.mended.super_packets, long.count() as u64);
    }

    /// The packets are those that were sent, whatever the delay of the copies, and also when some
    /// are lost.
    #[test]
    fn copies_are_removed(delay in 1_000u64..15_000_000, hops in 0u8..2, lost in 0u32..5) {
        let mut packets = call(200);
        let copies: Vec<_> = packets
            .iter()
            .enumerate()
            .filter(|(nth, _)| lost == 0 || nth % 20 != lost as usize)
            .map(|(_, (time, frame))| {
                let mut copy = frame.clone();
                copy[22] -= hops;
                (time + delay, copy)
            })
            .collect();
        let count = copies.len() as u64;
        packets.extend(copies);
        packets.sort_by_key(|packet| packet.0);
        let trace = load("x", &capture(&packets)).unwrap();
        prop_assert_eq!(times(&trace), every_20_ms(200));
        prop_assert_eq!(trace.mended.copies, count);
    }

    /// A call during which the clock is set, forward or back, is unchanged.
    #[test]
    fn a_step_of_the_clock_is_taken_back(
        at in 60u32..140, seconds in 61i64..10_000_000, back: bool, second_step in prop::option::of(61i64..100_000),
    ) {
        let mut packets = call(200);
        let by = if back { -seconds } else { seconds } * SECOND as i64;
        for (nth, packet) in packets.iter_mut().enumerate() {
            // Far from zero, so that there is room for a step back.
            packet.0 += 20_000_000 * SECOND;
            if nth as u32 >= at {
                packet.0 = packet.0.checked_add_signed(by).unwrap();
            }
            if let Some(more) = second_step.filter(|_| nth as u32 >= at + 30) {
                packet.0 += more as u64 * SECOND;
            }
        }
        let records = packets.iter().map(|(time, frame)| LITTLE.record(*time, frame, usize::MAX));
        let bytes = [vec![LITTLE.header(1)], records.collect()].concat().concat();
        let trace = load("x", &bytes).unwrap();
        prop_assert_eq!(trace.mended.steps.len(), 1 + usize::from(second_step.is_some()));
        let error = |(found, wanted): (Span, Span)| (found.as_secs_f64() - wanted.as_secs_f64()).abs();
        let worst = times(&trace).into_iter().zip(every_20_ms(200)).map(error).fold(0.0, f64::max);
        prop_assert!(worst < 0.001, "{worst} s");
    }

    /// Damage of a record loses only that record; reading continues behind it.
    #[test]
    fn damage_costs_itself(at in 5usize..95, field in 0usize..16, value: u8, pcapng: bool) {
        let packets = call(100);
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        if pcapng {
            bytes.extend(LITTLE.section());
            bytes.extend(LITTLE.interface(1, &[]));
        } else {
            bytes.extend(LITTLE.header(1));
        }
        for (time, frame) in &packets {
            starts.push(bytes.len());
            match pcapng {
                true => bytes.extend(LITTLE.enhanced(0, (EPOCH + time) / 1000, frame, usize::MAX)),
                false => bytes.extend(LITTLE.record(EPOCH + time, frame, usize::MAX)),
            }
        }
        bytes[starts[at] + field] = value;
        let trace = load("x", &bytes).unwrap();
        prop_assert!((98..=100).contains(&trace.packets), "{} packets", trace.packets);
        prop_assert!(trace.cut.is_none());
    }
}

#[test]
fn jumbo_frames_are_not_cut() {
    let packets: Vec<_> = (0..20).map(|nth| (nth * 1_000_000, tcp(nth as u32 * 8960, 8960))).collect();
    let trace = load("x", &capture(&packets)).unwrap();
    assert_eq!((trace.packets, trace.mended.super_packets), (20, 0));
}

/// RFC 9293, section 3.7.1: the size that a SYN announces is for segments without options.
#[test]
fn segments_have_the_size_that_a_syn_announces() {
    let builder = PacketBuilder::ethernet2([2; 6], [1; 6]).ipv4([192, 0, 2, 9], [10, 0, 0, 3], 64);
    let options = [etherparse::TcpOptionElement::MaximumSegmentSize(1300)];
    let builder = builder.tcp(50000, 443, 0, 65535).syn().options(&options).unwrap();
    let mut syn = vec![0; builder.size(0)];
    builder.write_to_slice(&mut syn, &[]).unwrap();
    let trace = load("x", &capture(&[(0, syn), (1_000_000, tcp(1, 2600))])).unwrap();
    let sizes: Vec<u32> = trace.flows[1].packets.iter().map(|packet| packet.1).collect();
    assert_eq!(sizes, [1354, 1354]);
}

/// Equal contents alone do not make a copy: a sender may repeat itself.
#[test]
fn what_a_sender_repeats_is_no_copy() {
    let same: Vec<_> = (0..300).map(|nth| (nth * 20_000_000, voice(0))).collect();
    assert_eq!(load("x", &capture(&same)).unwrap().packets, 300);
    // Frames of three equal packets, beside a call.
    let mut frames: Vec<_> =
        (0..300u64).map(|nth| (nth / 3 * 40_000_000 + nth % 3 * 100_000, tcp(0, 1200))).collect();
    frames.extend(call(200));
    frames.sort_by_key(|packet| packet.0);
    assert_eq!(load("x", &capture(&frames)).unwrap().packets, 500);
    // Each of them seen twice.
    let mut twice: Vec<_> = frames.iter().map(|(time, frame)| (time + 30_000, frame.clone())).collect();
    twice.extend(frames);
    twice.sort_by_key(|packet| packet.0);
    let trace = load("x", &capture(&twice)).unwrap();
    assert_eq!((trace.packets, trace.mended.copies), (500, 500));
}

#[test]
fn a_pause_of_different_traffic_is_no_step() {
    let mut packets = call(100);
    let other = (0..100u32).map(|nth| (3600 * SECOND + u64::from(nth) * 20_000_000, tcp(nth, 100)));
    packets.extend(other);
    let trace = load("x", &capture(&packets)).unwrap();
    assert_eq!((trace.span.as_secs_f64().round(), trace.mended.steps.len()), (3602.0, 0));
}

/// The seconds of a pcap file have 32 bits.
#[test]
fn seconds_that_start_again_are_counted_on() {
    let start = ((1u64 << 32) - 2) * SECOND;
    let records = (0..200u32).map(|nth| {
        let time = start + u64::from(nth) * 20_000_000;
        LITTLE.record(time % ((1 << 32) * SECOND), &voice(nth), usize::MAX)
    });
    let trace = load("x", &[vec![LITTLE.header(1)], records.collect()].concat().concat()).unwrap();
    assert_eq!(times(&trace), every_20_ms(200));
    assert!(trace.mended.sentences()[0].contains("starts again from zero, after 2³² s, at packet 101"));
}

#[test]
fn what_cannot_be_read_is_left_out_and_counted() {
    let mut bytes = [LITTLE.section(), LITTLE.interface(1, &[]), LITTLE.interface(105, &[])].concat();
    bytes.extend(LITTLE.interface(1, &[(9, &[30])]));
    for (nth, (time, frame)) in call(100).into_iter().enumerate() {
        let stamp = (EPOCH + time) / 1000;
        bytes.extend(LITTLE.enhanced(0, stamp, &frame, usize::MAX));
        match nth {
            10 => bytes.extend(LITTLE.enhanced(0, stamp, &[], 0)),
            20 => bytes.extend(LITTLE.enhanced(1, stamp, &frame, usize::MAX)),
            30 => bytes.extend(LITTLE.enhanced(2, stamp, &frame, usize::MAX)),
            40 => bytes.extend(LITTLE.enhanced(9, stamp, &frame, usize::MAX)),
            50 => bytes.extend(LITTLE.block(3, &[0; 8])),
            60 => bytes.extend(LITTLE.block(0x7777_7777, b"of no known kind")),
            _ => {}
        }
    }
    let trace = load("x", &bytes).unwrap();
    let expected = LeftOut { empty: 1, interface: 1, link_type: 1, timeless: 2, damaged: 0 };
    assert_eq!((trace.packets, trace.mended.left_out), (100, expected));
    assert_eq!(
        trace.mended.sentences(),
        [
            "5 records of the file are left out: 1 of no bytes, 1 of an interface that the file does not describe, 1 of a \
          link type that is not supported, 2 without a readable time"
        ]
    );
}

/// The packet block of pcapng before the enhanced one (draft-ietf-opsawg-pcapng, section 4.8.1).
#[test]
fn obsolete_packet_blocks_are_read() {
    let mut bytes = [LITTLE.section(), LITTLE.interface(1, &[])].concat();
    for (time, frame) in call(10) {
        let stamp = (EPOCH + time) / 1000;
        let length = frame.len() as u32;
        let head = LITTLE.words(&[(stamp >> 32) as u32, stamp as u32, length, length]);
        bytes.extend(LITTLE.block(2, &[LITTLE.halves([0, 0]), head, frame].concat()));
    }
    assert_eq!(times(&load("x", &bytes).unwrap()), every_20_ms(10));
}

/// Ethernet's header is charged, whatever header the capture has in its place.
#[test]
fn pseudo_headers_are_not_charged() {
    let cooked = |frame: &[u8]| [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6], &[0; 8][..], &frame[14..]].concat();
    let old = |frame: &[u8]| [&[0; 14][..], &[8, 0], &frame[14..]].concat();
    let loopback = |frame: &[u8]| [&[2, 0, 0, 0], &frame[14..]].concat();
    let raw = |frame: &[u8]| frame[14..].to_vec();
    type Convert = fn(&[u8]) -> Vec<u8>;
    let ethernet = load("x", &capture(&call(10))).unwrap();
    let kinds: [(u32, Convert); 4] = [(276, cooked), (113, old), (0, loopback), (101, raw)];
    for (link, convert) in kinds {
        let records =
            call(10).into_iter().map(|(time, frame)| LITTLE.record(EPOCH + time, &convert(&frame), 9999));
        let bytes = [vec![LITTLE.header(link)], records.collect()].concat().concat();
        assert_eq!(load("x", &bytes).unwrap(), ethernet, "link type {link}");
    }
}

/// Programs collect the packets of an interface, and write them later than those of another one.
#[test]
fn packets_that_are_written_late_are_sorted() {
    let mut bytes = [LITTLE.section(), LITTLE.interface(1, &[]), LITTLE.interface(1, &[])].concat();
    let mut held = Vec::new();
    for (nth, (time, frame)) in call(600).into_iter().enumerate() {
        let stamp = (EPOCH + time) / 1000;
        if nth % 2 == 1 {
            bytes.extend(LITTLE.enhanced(1, stamp, &frame, usize::MAX));
        } else {
            held.push(LITTLE.enhanced(0, stamp, &frame, usize::MAX));
            if held.len() == 75 {
                bytes.extend(held.drain(..).flatten());
            }
        }
    }
    let trace = load("x", &bytes).unwrap();
    assert_eq!(times(&trace), every_20_ms(600));
    assert!(trace.reordered > 200 && trace.mended.steps.is_empty());
}
