//! Frames as they come from a link or a capture, and the virtio-net headers that come with them.
//!
//! The first byte selects the test: headers are read by a link type (0 to 4), a frame is made whole
//! (5), or
//! several go through a gate (6).
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::headers::{Fragment, Headers, LinkType, has_ports};
use tidegate_core::units::Span;
use tidegate_formats::GateFile;
use tidegate_fuzz::Bytes;
use tidegate_gate::fuzzing::{Gate, GatePlan, join, segment};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    match bytes.below(7) {
        0 => read(LinkType::Ethernet, bytes.0),
        1 => read(LinkType::RawIp, bytes.0),
        2 => read(LinkType::LinuxSll, bytes.0),
        3 => read(LinkType::LinuxSll2, bytes.0),
        4 => read(LinkType::BsdLoopback, bytes.0),
        5 => whole(bytes),
        _ => gate(bytes),
    }
});

/// Every field is in its range, the flow's name can be read again, and a truncation does not change
/// the fields before it.
fn read(link: LinkType, frame: &[u8]) {
    let headers = Headers::read(link, frame);
    for vlan in headers.vlans.iter().flatten() {
        assert!(vlan.id < 4096 && vlan.priority < 8);
    }
    if let Some(ip) = headers.ip {
        assert_eq!(ip.source.is_ipv4(), ip.destination.is_ipv4());
        assert!(ip.dscp < 64 && ip.ecn < 4);
        assert!(ip.ports.is_none() || (has_ports(ip.protocol) && !matches!(ip.fragment, Fragment::Later(_))));
    }
    let flow = FiveTuple::of(&headers);
    assert_eq!(flow.to_string().parse(), Ok(flow));
    for cut in 0..frame.len().min(200) {
        let less = Headers::read(link, &frame[..cut]);
        for (less, all) in less.vlans.iter().zip(&headers.vlans) {
            assert!(less.is_none() || less == all);
        }
        if let Some(less) = less.ip {
            let all = headers.ip.expect("more bytes, and no IP header any more");
            assert_eq!((less.source, less.destination), (all.source, all.destination));
            assert_eq!((less.dscp, less.ecn), (all.dscp, all.ecn));
            assert!(less.ports.is_none() || less.ports == all.ports);
        }
    }
}

/// A virtio-net header, a flag for a tag that was put back, and a frame with zeroes behind it.
fn unfinished<'a>(bytes: &mut Bytes<'a>) -> ([u8; 10], usize, &'a [u8], usize) {
    let (header, tagged) = (bytes.array(), bytes.byte() & 1 == 1);
    let (length, zeroes) = (bytes.word(), bytes.word());
    (header, if tagged { 4 } else { 0 }, bytes.take(length.into()), zeroes.into())
}

/// Frames have the length that their headers state, and the checksums that were requested. Frames
/// that are joined for sending are segmented into the originals again.
fn whole(mut bytes: Bytes<'_>) {
    let (header, inserted, frame, zeroes) = unfinished(&mut bytes);
    let size = usize::from(u16::from_ne_bytes([header[4], header[5]]));
    // Thousands of frames from one test no more than some.
    let frame = [frame, &vec![0; zeroes.min(size * 64)]].concat();
    let Some((longest, pieces)) = segment(&header, &frame, inserted) else { return };
    let sent = join(&pieces);
    let again = sent.iter().flat_map(|(header, bytes)| segment(header, bytes, 0).expect("what is sent").1);
    assert!(again.eq(pieces.iter().cloned()), "other frames leave than were joined");
    let field = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let (start, offset) = (field(6) + inserted, field(8));
    let is_cut = header[1] & 0x7f != 0;
    if header[0] & 1 == 0 {
        assert_eq!(pieces, [frame]);
        return;
    }
    assert!(pieces.iter().all(|piece| piece.len() <= longest && !piece.is_empty()));
    let mut payload = start;
    if is_cut {
        let tcp = header[1] & 0x7f != 5;
        payload += if tcp { usize::from(frame[start + 12] >> 4) * 4 } else { 8 };
        let together = pieces.iter().flat_map(|piece| &piece[payload..]);
        assert!(together.eq(&frame[payload..]), "the payload is another one");
    }
    let asked = i64::from(word(&frame, start + offset));
    for piece in &pieces {
        if is_cut {
            check_lengths(piece, start);
        }
        if offset % 2 == 0 {
            // The field held the pseudo-header's sum, which has the length in it.
            let pseudo = asked - frame.len() as i64 + piece.len() as i64;
            assert_eq!((sum(&piece[start..]) + pseudo).rem_euclid(0xffff), 0, "a wrong checksum is sent");
        }
    }
}

/// IP's own lengths and checksum.
fn check_lengths(piece: &[u8], transport: usize) {
    let mut ip = 12;
    while matches!(word(piece, ip), 0x8100 | 0x88a8 | 0x9100) {
        ip += 4;
    }
    ip += 2;
    if word(piece, ip - 2) == 0x0800 {
        assert_eq!(usize::from(word(piece, ip + 2)), piece.len() - ip);
        assert_eq!(sum(&piece[ip..transport]) % 0xffff, 0);
    } else {
        assert_eq!(usize::from(word(piece, ip + 4)), piece.len() - ip - 40);
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn sum(bytes: &[u8]) -> i64 {
    bytes.chunks(2).map(|pair| i64::from(pair[0]) << 8 | i64::from(*pair.get(1).unwrap_or(&0))).sum()
}

/// Files that a gate goes to and fro between.
static WANTED: LazyLock<[GatePlan; 3]> = LazyLock::new(|| {
    let head = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"20mbit\", flows = 4 }\n";
    [
        "switch = { buffer = \"8p\" }\n",
        "switch = { buffer = \"3000B\" }\nport = { scheduler = \"virtual-clock\" }\n\
         [[flow]]\nname = \"six\"\nmatch = { inside = \"2001:db8::/32\" }\nreserve = \"100kbit\"\n\
         [[flow]]\nname = \"each\"\neach = \"5-tuple\"\nidle = \"10ms\"\nreserve = \"10kbit\"\n",
        "port = { scheduler = \"strict-priority\" }\n\
         class = [{ name = \"c\", scheduler = \"fifo\", ceiling = \"500kbit\" }]\n\
         [[flow]]\nname = \"tagged\"\nmatch = { vlan = 5 }\npriority = 1\n\
         [[flow]]\nname = \"each\"\neach = \"subscriber\"\nidle = \"10ms\"\nclass = \"c\"\n",
    ]
    .map(|rest| {
        GatePlan::of(&GateFile::parse(&format!("{head}{rest}"), "fuzz.toml", &[]).expect("a gate file"))
    })
});

/// Every frame is accounted for at every moment.
fn gate(mut bytes: Bytes<'_>) {
    let mut gate = Gate::new(bytes.pick(&[&WANTED[0], &WANTED[1], &WANTED[2]]), 1536).expect("a plan");
    while !bytes.is_empty() {
        let direction = bytes.pick(&Direction::BOTH);
        match bytes.below(8) {
            0..=3 => {
                let (header, inserted, frame, _) = unfinished(&mut bytes);
                gate.receive(direction, &header, frame, inserted);
            }
            4 => gate.wait(Span::from_micros(bytes.word().into())),
            5 => gate.send(direction, true),
            6 => gate.send(direction, false),
            _ => gate.reload(bytes.pick(&[&WANTED[0], &WANTED[1], &WANTED[2]])).expect("a plan"),
        }
        gate.check();
    }
}
