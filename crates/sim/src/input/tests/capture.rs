use super::super::{InputError, TracePlace};
use super::{Style, frame, gzip, load, message};
use proptest::prelude::*;
use tidegate_core::units::Span;

const EPOCH: u64 = 1_700_000_000_000_000_000;
const LITTLE: Style = Style { big: false, nanoseconds: false };

/// Returns three packets of two flows, 1 ms and 2 ms apart, the last cut off after its ports.
fn classic(style: Style) -> Vec<u8> {
    let [a, b] = [frame(1, 100), frame(2, 58)];
    [
        style.header(1),
        style.record(EPOCH, &a, 9999),
        style.record(EPOCH + 1_000_000, &b, 9999),
        style.record(EPOCH + 3_000_000, &a, 38),
    ]
    .concat()
}

fn modern(style: Style, options: &[(u16, &[u8])], stamps: [u64; 3]) -> Vec<u8> {
    let [a, b] = [frame(1, 100), frame(2, 58)];
    [
        style.section(),
        style.block(0xbad, b"passed over"),
        style.interface(1, options),
        style.enhanced(0, stamps[0], &a, 9999),
        style.enhanced(0, stamps[1], &b, 9999),
        style.block(5, &[0; 12]),
        style.enhanced(0, stamps[2], &a, 38),
    ]
    .concat()
}

fn is_the_three_packets(bytes: &[u8]) {
    let trace = load("x", bytes).unwrap();
    assert_eq!((trace.packets, trace.bytes, trace.reordered), (3, 384, 0));
    assert_eq!(trace.span, Span::from_millis(3));
    assert_eq!(trace.flows.len(), 2);
    assert_eq!(trace.flows[0].name, "10.0.0.1:1>10.0.0.2:80/udp");
    assert_eq!(trace.flows[0].packets, [(Span::ZERO, 142), (Span::from_millis(3), 142)]);
    assert_eq!(trace.flows[1].name, "10.0.0.1:2>10.0.0.2:80/udp");
    assert_eq!(trace.flows[1].packets, [(Span::from_millis(1), 100)]);
    assert_eq!(trace.flows[1].period, Span::from_micros(4500));
}

#[test]
fn the_four_classic_kinds_also_compressed() {
    for style in Style::ALL {
        is_the_three_packets(&classic(style));
        is_the_three_packets(&gzip(&classic(style)));
        // A compressed file may consist of several, one after the other.
        let (one, two) = (classic(style), classic(style).split_off(70));
        is_the_three_packets(&[gzip(&one[..70]), gzip(&two)].concat());
    }
}

#[test]
fn pcapng_with_its_clocks() {
    let stamps = |units: u64, zero: u64| {
        [0, 1, 3].map(|ms| ((EPOCH / 1_000_000_000 - zero) * 1000 + ms) * (units / 1000))
    };
    for style in [Style::ALL[0], Style::ALL[2]] {
        is_the_three_packets(&modern(style, &[], stamps(1_000_000, 0)));
        is_the_three_packets(&modern(style, &[(9, &[9])], stamps(1_000_000_000, 0)));
        let zero = if style.big { 1_600_000_000i64.to_be_bytes() } else { 1_600_000_000i64.to_le_bytes() };
        is_the_three_packets(&modern(
            style,
            &[(2, b"eth0"), (14, &zero), (9, &[3])],
            stamps(1000, 1_600_000_000),
        ));
        // 2⁻¹⁰ s: a millisecond is not a multiple of it.
        let trace = load("x", &modern(style, &[(9, &[0x8a])], [1024, 1025, 2048])).unwrap();
        assert_eq!(
            (trace.span, trace.flows[1].packets[0].0),
            (Span::from_secs(1), Span::from_ticks(97_656_250))
        );
    }
}

#[test]
fn a_section_has_its_own_byte_order_and_interfaces() {
    let stamps = [EPOCH / 1000, EPOCH / 1000 + 1000, EPOCH / 1000 + 3000];
    let later = stamps.map(|stamp| stamp + 10_000_000);
    let two = [modern(Style::ALL[0], &[], stamps), modern(Style::ALL[2], &[], later)].concat();
    assert_eq!(load("x", &two).unwrap().packets, 6);
    let lost =
        [modern(Style::ALL[0], &[], stamps), LITTLE.section(), LITTLE.enhanced(0, 0, &frame(1, 1), 99)]
            .concat();
    let trace = load("x.pcapng", &lost).unwrap();
    assert_eq!((trace.packets, trace.mended.left_out.interface), (3, 1));
    let nothing = [LITTLE.section(), LITTLE.enhanced(0, 0, &frame(1, 1), 99)].concat();
    let text = message("x.pcapng", &nothing);
    assert!(
        text.contains("after 0 whole packets: expected a packet of an interface described before"),
        "{text}"
    );
}

#[test]
fn what_is_not_ip_is_one_flow() {
    let mut arp = frame(1, 18);
    arp[12..14].copy_from_slice(&[8, 6]);
    let bytes =
        [LITTLE.header(1), LITTLE.record(EPOCH, &arp, 99), LITTLE.record(EPOCH, &[1; 20], 99)].concat();
    let trace = load("x", &bytes).unwrap();
    assert_eq!((trace.flows.len(), trace.flows[0].name.as_str()), (1, "other"));
    assert_eq!(trace.flows[0].period, Span::ZERO);
}

#[test]
fn a_frame_check_sequence_does_not_count() {
    // Bit 26, and a check sequence of two units of two bytes.
    let bytes = [LITTLE.header(1 | 1 << 26 | 2 << 28), LITTLE.record(EPOCH, &frame(1, 100), 99)].concat();
    assert_eq!(load("x", &bytes).unwrap().bytes, 138);
    for length in [4, 32] {
        let bytes = modern(LITTLE, &[(13, &[length])], [1, 2, 3]);
        assert_eq!(load("x", &bytes).unwrap().bytes, 384 - 3 * 4);
    }
}

#[test]
fn small_reorderings_are_put_in_order() {
    let second = 1_000_000_000;
    let record = |time, from| LITTLE.record(EPOCH + time, &frame(from, 58), 99);
    let bytes = [LITTLE.header(1), record(second, 1), record(0, 1), record(second, 2), record(second / 2, 1)]
        .concat();
    let trace = load("x", &bytes).unwrap();
    assert_eq!(trace.reordered, 2);
    assert_eq!(
        trace.flows[0].packets.iter().map(|p| p.0).collect::<Vec<_>>(),
        [0, 500, 1000].map(Span::from_millis)
    );
    let bytes = [LITTLE.header(1), record(second, 1), record(1000, 1), record(0, 1)].concat();
    assert!(load("x", &bytes).is_ok());
}

#[test]
fn what_stands_before_a_cut_is_read() {
    let classic = classic(LITTLE);
    let ends = [24, 24 + 16 + 142, 24 + 16 + 142 + 16 + 100, classic.len()];
    for cut in 1..classic.len() {
        let whole = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
        match load("t.pcap", &classic[..cut]) {
            Err(InputError::NotACapture { .. }) if cut < 4 => {}
            Err(InputError::Empty { .. }) if cut == 24 => {}
            Ok(trace) => {
                assert_eq!(trace.packets, whole as u64, "cut at {cut}");
                let place = TracePlace::Packet { number: whole as u64 + 1, offset: ends[whole] as u64 };
                assert_eq!(trace.cut, (!ends.contains(&cut)).then_some(place), "cut at {cut}");
            }
            Err(InputError::Truncated { .. }) if whole == 0 => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
    let compressed = gzip(&classic);
    for cut in 3..compressed.len() {
        match load("t.pcap.gz", &compressed[..cut]) {
            Ok(trace) => assert!(trace.cut.is_some() && trace.packets > 0, "cut at {cut}"),
            Err(error) => assert!(matches!(error, InputError::Truncated { .. }), "cut at {cut}: {error}"),
        }
    }
    assert_eq!(
        message("t.pcap", &classic[..100]),
        "t.pcap: is truncated: ends in packet 1 (byte offset 24), and holds no whole packet"
    );
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(
        message("a.pcap", b"\x7fELF...."),
        "a.pcap: is not a capture: expected the first bytes of a pcap or pcapng file, found [7f, 45, 4c, 46]"
    );
    assert!(message("a.PCAP.gz", b"0.1 100\n").starts_with("a.PCAP.gz: is not a capture"));
    assert_eq!(message("a.pcap", b""), "a.pcap: holds no packets: expected at least one");
    assert_eq!(message("a", &LITTLE.header(1)), "a: holds no packets: expected at least one");
    assert!(
        message("a", &LITTLE.header(127))
            .starts_with("a: link type 127 is not supported: expected Ethernet (1)")
    );
    let ng = [LITTLE.section(), LITTLE.interface(127, &[]), LITTLE.enhanced(0, 0, &[1], 1)].concat();
    assert!(message("a", &ng).starts_with("a: link type 127 is not supported"));
    let zero = [LITTLE.header(1), LITTLE.record(0, &[], 0)].concat();
    assert_eq!(message("a", &zero), "a: packet 1 (byte offset 24): expected a size above zero, found 0");
    let long = [LITTLE.header(1), LITTLE.words(&[0, 0, 1 << 30, 1 << 30])].concat();
    assert!(message("a", &long).contains("of at most 256 KiB, found one of 1073741824 bytes at 0 s"));
    let simple = [LITTLE.section(), LITTLE.interface(1, &[]), LITTLE.block(3, &[0; 8])].concat();
    assert!(message("a", &simple).contains("expected packets with times, found a Simple Packet Block"));
    let clock = [LITTLE.section(), LITTLE.interface(1, &[(9, &[30])]), LITTLE.interface(1, &[])].concat();
    let on = |interface| [&clock[..], &LITTLE.enhanced(interface, 0, &[1], 1)].concat();
    assert!(message("a", &on(0)).contains("found if_tsresol 0x1e"));
    assert_eq!(load("a", &on(1)).unwrap().packets, 1);
    // A packet that claims more bytes than its block has.
    let body = LITTLE.words(&[0, 0, 0, 5000, 5000, 0]);
    let lying = [LITTLE.section(), LITTLE.interface(1, &[]), LITTLE.block(6, &body)].concat();
    assert!(message("a", &lying).contains("found a block of type 0x6 whose parts do not fit"));
    let mut damaged = gzip(&classic(LITTLE));
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    let trace = load("a.gz", &damaged).unwrap();
    assert!(trace.packets == 3 && trace.cut.is_some(), "what stands before the damage is read");
    assert!(
        super::super::load("/nowhere/a.pcap".as_ref()).unwrap_err().to_string().contains("cannot be read")
    );
    assert!(super::super::load("/".as_ref()).unwrap_err().to_string().contains("cannot be read"));
}

/// Interleaved fragments of several datagrams belong to their datagrams' flows.
#[test]
fn fragments_follow_their_datagram() {
    let fragment = |from: u16, identification: u16, at: u16, more: bool| {
        let mut frame = frame(from, 100);
        frame[18..20].copy_from_slice(&identification.to_be_bytes());
        frame[20..22].copy_from_slice(&((at / 8) | (u16::from(more) << 13)).to_be_bytes());
        frame
    };
    let frames = [
        fragment(7, 1, 0, true),
        fragment(8, 2, 0, true),
        fragment(9, 1, 104, true),
        fragment(9, 2, 104, false),
        fragment(9, 1, 208, false),
        fragment(9, 3, 104, false),
        // The identification is reused for another datagram.
        fragment(8, 1, 0, true),
        fragment(9, 1, 104, false),
    ];
    let records = frames.iter().enumerate().map(|(at, frame)| LITTLE.record(at as u64 * 1000, frame, 99));
    let trace = load("x", &[vec![LITTLE.header(1)], records.collect()].concat().concat()).unwrap();
    let found: Vec<_> = trace.flows.iter().map(|flow| (flow.name.as_str(), flow.packets.len())).collect();
    assert_eq!(
        found,
        [
            ("10.0.0.1:7>10.0.0.2:80/udp", 3),
            ("10.0.0.1:8>10.0.0.2:80/udp", 4),
            // Its first fragment is not in the file.
            ("10.0.0.1>10.0.0.2/udp", 1)
        ]
    );
}

/// Such files are read as by gunzip.
#[test]
fn gzip_members_and_padding_are_read() {
    let classic = classic(LITTLE);
    let whole = load("a.pcap", &classic).unwrap();
    let (first, second) = classic.split_at(50);
    let padded = [gzip(&classic), vec![0; 20_000]].concat();
    let members = [gzip(first), vec![0; 3], gzip(second), vec![0; 512]].concat();
    for bytes in [padded, members] {
        assert_eq!(load("a.pcap.gz", &bytes).unwrap(), whole);
    }
    let other = [gzip(&classic), vec![0; 2], vec![7; 20]].concat();
    let trace = load("a.pcap.gz", &other).unwrap();
    assert!(trace.packets == 3 && trace.cut.is_some(), "what is no gzip member ends the file");
}

/// A pipe can be read only once, and opening it waits for a writer.
#[cfg(unix)]
#[test]
fn a_device_is_refused_before_it_is_opened() {
    let text = super::super::load("/dev/null".as_ref()).unwrap_err().to_string();
    assert_eq!(text, "/dev/null: is a pipe or a device: expected a regular file, which can be read again");
}

proptest! {
    #[test]
    fn damaged_captures_do_not_panic(
        which in 0usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut: prop::sample::Index,
        compress: bool,
    ) {
        let mut bytes = match which {
            4 => modern(Style::ALL[0], &[(9, &[9]), (14, &[0; 8])], [1, 2, 3]),
            5 => modern(Style::ALL[2], &[(9, &[9]), (14, &[0; 8])], [1, 2, 3]),
            style => classic(Style::ALL[style]),
        };
        if compress {
            bytes = gzip(&bytes);
        }
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let cut = bytes.len() - cut.index(bytes.len()) / 8;
        if let Ok(trace) = load("x", &bytes[..cut]) {
            let packets: usize = trace.flows.iter().map(|flow| flow.packets.len()).sum();
            prop_assert_eq!(packets as u64, trace.packets);
        }
    }

    #[test]
    fn no_bytes_panic(start in prop::sample::select(vec![
        vec![], vec![0x0a, 0x0d, 0x0d, 0x0a], vec![0xd4, 0xc3, 0xb2, 0xa1], vec![0x1f, 0x8b, 8, 0],
    ]), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = load("x", &[start, bytes].concat());
    }
}
