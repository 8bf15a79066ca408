use super::*;
use proptest::prelude::*;

/// RFC 1071 over the pseudo-header and the segment, word by word.
fn transport_checksum(source: &[u8], destination: &[u8], protocol: u8, segment: &[u8]) -> u16 {
    let mut bytes = [source, destination].concat();
    bytes.extend((segment.len() as u32).to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes.extend(segment);
    slow_sum(&bytes)
}

pub(in crate::frame) fn slow_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[derive(Clone, Debug)]
pub(in crate::frame) struct Shape {
    pub(in crate::frame) six: bool,
    pub(in crate::frame) tcp: bool,
    pub(in crate::frame) vlan: bool,
    pub(in crate::frame) options: usize,
    pub(in crate::frame) flags: u8,
    pub(in crate::frame) sequence: u32,
    pub(in crate::frame) identification: u16,
    pub(in crate::frame) payload: Vec<u8>,
    pub(in crate::frame) size: u16,
}

pub(in crate::frame) fn shapes() -> impl Strategy<Value = Shape> {
    let payload = prop::collection::vec(any::<u8>(), 0..5000);
    (any::<[bool; 3]>(), 0usize..=10, any::<(u8, u32, u16)>(), payload, 1u16..2000).prop_map(
        |([six, tcp, vlan], options, (flags, sequence, identification), payload, size)| Shape {
            six,
            tcp,
            vlan,
            options,
            flags,
            sequence,
            identification,
            payload,
            size,
        },
    )
}

/// A super-packet as the kernel would hand it over, and where its headers start.
pub(in crate::frame) fn super_packet(shape: &Shape) -> (Vec<u8>, [u8; HEADER], usize, usize) {
    let mut frame = vec![2; 12];
    if shape.vlan {
        frame.extend([0x81, 0x00, 0x20, 0x07]);
    }
    frame.extend(if shape.six { IPV6 } else { IPV4 }.to_be_bytes());
    let ip = frame.len();
    let options = if shape.tcp { shape.options * 4 } else { 0 };
    let header = if shape.tcp { 20 + options } else { 8 };
    let transport_length = header + shape.payload.len();
    let protocol = if shape.tcp { 6 } else { 17 };
    if shape.six {
        frame.extend([0x60, 0, 0, 0]);
        frame.extend((transport_length as u16).to_be_bytes());
        frame.extend([protocol, 64]);
        frame.extend(1u8..=32);
    } else {
        frame.extend([0x45, 0]);
        frame.extend(((20 + transport_length) as u16).to_be_bytes());
        frame.extend(shape.identification.to_be_bytes());
        frame.extend([0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let sum = !slow_sum(&frame[ip..]);
        put(&mut frame, ip + 10, sum);
    }
    let transport = frame.len();
    frame.extend([0x13, 0x89, 0x00, 0x50]);
    if shape.tcp {
        frame.extend(shape.sequence.to_be_bytes());
        frame.extend([0, 0, 0, 9, (5 + shape.options as u8) << 4, shape.flags, 1, 0, 0, 0, 0, 0]);
        frame.extend(vec![1; options]);
    } else {
        frame.extend((transport_length as u16).to_be_bytes());
        frame.extend([0, 0]);
    }
    let field = if shape.tcp { 16 } else { 6 };
    let (source, destination) = addresses(&frame, ip, shape.six);
    let mut pseudo = [source, destination].concat();
    pseudo.extend((transport_length as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, protocol]);
    let pseudo = slow_sum(&pseudo);
    put(&mut frame, transport + field, pseudo);
    frame.extend(&shape.payload);
    let kind = match (shape.tcp, shape.six) {
        (true, false) => GSO_TCP4,
        (true, true) => GSO_TCP6,
        (false, _) => GSO_UDP,
    };
    let mut header = [0; HEADER];
    header[0] = NEEDS_CHECKSUM;
    header[1] = kind;
    header[4..6].copy_from_slice(&shape.size.to_ne_bytes());
    header[6..8].copy_from_slice(&(transport as u16).to_ne_bytes());
    header[8..10].copy_from_slice(&(field as u16).to_ne_bytes());
    (frame, header, ip, transport)
}

fn addresses(frame: &[u8], ip: usize, six: bool) -> (&[u8], &[u8]) {
    match six {
        true => (&frame[ip + 8..ip + 24], &frame[ip + 24..ip + 40]),
        false => (&frame[ip + 12..ip + 16], &frame[ip + 16..ip + 20]),
    }
}

pub(in crate::frame) fn pieces(offloaded: &Offloaded<'_>) -> Vec<Vec<u8>> {
    let piece = |ix| {
        let mut place = vec![0xee; offloaded.longest()];
        let length = offloaded.write(ix, &mut place).unwrap();
        place.truncate(length);
        place
    };
    (0..offloaded.segments()).map(piece).collect()
}

proptest! {
    /// Put together again, the frames are the super-packet; each is correct by itself.
    #[test]
    fn frames_are_what_a_card_would_have_sent(shape in shapes()) {
        let (frame, header, ip, transport) = super_packet(&shape);
        let offloaded = Offloaded::new(&header, &frame, 0).unwrap();
        let pieces = pieces(&offloaded);
        let size = usize::from(shape.size);
        prop_assert_eq!(pieces.len(), shape.payload.len().div_ceil(size).max(1));
        let start = frame.len() - shape.payload.len();
        let (mut payload, last) = (Vec::new(), pieces.len() - 1);
        for (ix, piece) in pieces.iter().enumerate() {
            prop_assert!(ix == last || piece.len() == start + size);
            prop_assert_eq!(&piece[..ip], &frame[..ip]);
            if shape.six {
                prop_assert_eq!(usize::from(get(piece, ip + 4)), piece.len() - ip - 40);
            } else {
                prop_assert_eq!(usize::from(get(piece, ip + 2)), piece.len() - ip);
                prop_assert_eq!(get(piece, ip + 4), shape.identification.wrapping_add(ix as u16));
                prop_assert_eq!(slow_sum(&piece[ip..transport]), 0xffff);
            }
            let (source, destination) = addresses(piece, ip, shape.six);
            let protocol = if shape.tcp { 6 } else { 17 };
            prop_assert_eq!(transport_checksum(source, destination, protocol, &piece[transport..]), 0xffff);
            if shape.tcp {
                let sequence = u32::from_be_bytes(piece[transport + 4..transport + 8].try_into().unwrap());
                prop_assert_eq!(sequence, shape.sequence.wrapping_add((ix * size) as u32));
                let mut flags = shape.flags;
                if ix < last { flags &= !(FIN | PSH); }
                if ix > 0 { flags &= !CWR; }
                prop_assert_eq!(piece[transport + 13], flags);
            } else {
                prop_assert_eq!(usize::from(get(piece, transport + 4)), piece.len() - transport);
                prop_assert_ne!(get(piece, transport + 6), 0);
            }
            payload.extend_from_slice(&piece[start..]);
        }
        prop_assert_eq!(payload, shape.payload);
    }

    /// One packet whose checksum was left to the card, with its VLAN tag put back.
    #[test]
    fn partial_checksums_are_completed(shape in shapes()) {
        let (frame, mut header, ip, transport) = super_packet(&shape);
        header[1] = GSO_NONE;
        let inserted = if shape.vlan { 4 } else { 0 };
        header[6..8].copy_from_slice(&((transport - inserted) as u16).to_ne_bytes());
        let pieces = pieces(&Offloaded::new(&header, &frame, inserted).unwrap());
        prop_assert_eq!(pieces.len(), 1);
        let (source, destination) = addresses(&pieces[0], ip, shape.six);
        let protocol = if shape.tcp { 6 } else { 17 };
        prop_assert_eq!(transport_checksum(source, destination, protocol, &pieces[0][transport..]), 0xffff);
    }

    /// A wrong header is refused, or followed within the frame; nothing panics.
    #[test]
    fn lies_do_no_harm(shape in shapes(), at in 0usize..HEADER, byte: u8, spot in 0usize..80, other: u8) {
        let (mut frame, mut header, ..) = super_packet(&shape);
        header[at] = byte;
        if let Some(place) = frame.get_mut(spot) {
            *place = other;
        }
        if let Ok(offloaded) = Offloaded::new(&header, &frame, 0) {
            pieces(&offloaded);
        }
    }

    #[test]
    fn random_bytes_do_no_harm(header: [u8; HEADER], frame in prop::collection::vec(any::<u8>(), 0..200), inserted in 0usize..5) {
        if let Ok(offloaded) = Offloaded::new(&header, &frame, inserted) {
            pieces(&offloaded);
        }
    }
}

#[test]
fn what_is_unsupported_is_refused() {
    let shape = Shape {
        six: false,
        tcp: true,
        vlan: false,
        options: 0,
        flags: 0x18,
        sequence: 1,
        identification: 2,
        payload: vec![7; 3000],
        size: 1460,
    };
    let (frame, header, ..) = super_packet(&shape);
    let with = |change: &dyn Fn(&mut [u8; HEADER])| {
        let mut header = header;
        change(&mut header);
        Offloaded::new(&header, &frame, 0).err()
    };
    assert_eq!(with(&|_| {}), None);
    assert_eq!(with(&|header| header[1] |= GSO_ECN), None);
    // Super-packets without a partial checksum, of an unknown kind, of the other address family, of
    // size 0.
    assert_eq!(with(&|header| header[0] = 0), Some(Unsupported));
    assert_eq!(with(&|header| header[1] = 3), Some(Unsupported));
    assert_eq!(with(&|header| header[1] = GSO_TCP6), Some(Unsupported));
    assert_eq!(with(&|header| header[4..6].fill(0)), Some(Unsupported));
    // A checksum outside the frame, or not at TCP's offset.
    assert_eq!(with(&|header| header[6..8].fill(0xff)), Some(Unsupported));
    assert_eq!(with(&|header| header[8] ^= 2), Some(Unsupported));
    // A frame that is longer than its buffer.
    let offloaded = Offloaded::new(&header, &frame, 0).unwrap();
    assert_eq!((offloaded.segments(), offloaded.longest()), (3, 14 + 40 + 1460));
    assert_eq!(offloaded.write(0, &mut [0; 1000]), None);
    assert_eq!(offloaded.write(2, &mut [0; 1000]), Some(14 + 40 + 80));
}

/// No frame is sent whose length its own headers cannot state.
#[test]
fn what_is_longer_than_headers_can_say_is_refused() {
    let fits = |payload: usize, size: u16| {
        let payload = vec![7; payload];
        let shape = Shape {
            six: false,
            tcp: true,
            vlan: false,
            options: 0,
            flags: 0,
            sequence: 1,
            identification: 2,
            payload,
            size,
        };
        let (frame, header, ..) = super_packet(&shape);
        Offloaded::new(&header, &frame, 0).is_ok()
    };
    // Behind 40 bytes of headers, of which TCP's 20 count in the sum.
    assert!(fits(MAX_LENGTH - 40, u16::MAX) && !fits(MAX_LENGTH - 39, u16::MAX));
    assert!(fits(MAX_LENGTH - 20, 1460) && !fits(MAX_LENGTH - 19, 1460));
}
