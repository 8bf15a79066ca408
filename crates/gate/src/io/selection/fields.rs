//! The fields of an IP packet, which a program reads from a frame into its scratch memory.

use super::assembler::{Assembler, Label, Size, Test};
use tidegate_core::headers::has_ports;

/// Offset of the network header.
pub(super) const NETWORK: u32 = libc::SKF_NET_OFF as u32;

/// The value of a field that a frame does not have; no port and no VLAN identifier is as large.
pub(super) const ABSENT: u32 = 1 << 16;

/// Words of the scratch memory. An IPv6 address takes four.
pub(super) mod word {
    pub(in crate::io::selection) const SOURCE: u32 = 0;
    pub(in crate::io::selection) const DESTINATION: u32 = 4;
    pub(in crate::io::selection) const IP_PROTOCOL: u32 = 8;
    pub(in crate::io::selection) const DSCP: u32 = 9;
    pub(in crate::io::selection) const SOURCE_PORT: u32 = 10;
    pub(in crate::io::selection) const DESTINATION_PORT: u32 = 11;
    pub(in crate::io::selection) const OUTER_VLAN: u32 = 12;
    pub(in crate::io::selection) const INNER_VLAN: u32 = 13;
    /// Offset of the IP header from the network header.
    pub(in crate::io::selection) const IP: u32 = 14;
    /// Offset of the header behind the IP header from the IP header.
    pub(in crate::io::selection) const BODY: u32 = 15;
}

/// Version of IP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Four,
    Six,
}

impl Version {
    pub(super) fn ethertype(self) -> u16 {
        match self {
            Version::Four => libc::ETH_P_IP as u16,
            Version::Six => libc::ETH_P_IPV6 as u16,
        }
    }
}

/// Keeps the fields of an IP header, at offset X, in the scratch memory. Goes to `by_host` when the
/// header does not show them.
pub(super) fn read_fields(code: &mut Assembler, version: Version, by_host: Label) {
    let words = match version {
        Version::Four => {
            // At least the fixed header, of version 4 with a true length.
            room_for(code, 20, by_host);
            code.load_behind(Size::Byte, NETWORK);
            code.go_unless(Test::AtLeast, 0x45, by_host);
            code.go_if(Test::Above, 0x4f, by_host);
            code.operate(libc::BPF_AND, 0x0f);
            code.operate(libc::BPF_LSH, 2);
            code.keep(word::BODY);
            code.load_behind(Size::Byte, NETWORK + 1);
            code.operate(libc::BPF_RSH, 2);
            code.keep(word::DSCP);
            code.load_behind(Size::Byte, NETWORK + 9);
            code.go_if(Test::Equal, AUTHENTICATION, by_host);
            1
        }
        Version::Six => {
            room_for(code, 40, by_host);
            code.load_behind(Size::Half, NETWORK);
            code.go_unless(Test::AtLeast, 0x6000, by_host);
            code.go_if(Test::Above, 0x6fff, by_host);
            code.operate(libc::BPF_RSH, 6);
            code.operate(libc::BPF_AND, 0x3f);
            code.keep(word::DSCP);
            code.statement(libc::BPF_LD | libc::BPF_IMM, 40);
            code.keep(word::BODY);
            code.load_behind(Size::Byte, NETWORK + 6);
            for extension in EXTENSIONS.into_iter().chain([AUTHENTICATION]) {
                code.go_if(Test::Equal, extension, by_host);
            }
            4
        }
    };
    code.keep(word::IP_PROTOCOL);
    let first = if version == Version::Four { 12 } else { 8 };
    for (ix, to) in (0..words)
        .map(|ix| (ix, word::SOURCE + ix))
        .chain((0..words).map(|ix| (words + ix, word::DESTINATION + ix)))
    {
        code.load_behind(Size::Word, NETWORK + first + 4 * ix);
        code.keep(to);
    }
    read_ports(code, version);
}

/// Protocol number of the authentication header (RFC 4302).
const AUTHENTICATION: u32 = 51;
/// Next headers that are extension headers: hop-by-hop options, routing, fragment, destination
/// options, mobility.
const EXTENSIONS: [u32; 5] = [0, 43, 44, 60, 135];

/// Goes to `label` when the frame has fewer than `bytes` from the IP header on. X is the offset of
/// that header.
fn room_for(code: &mut Assembler, bytes: u32, label: Label) {
    code.statement(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0);
    code.statement(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_X, 0);
    // A frame that ends before the IP header gives a large number.
    code.go_unless(Test::AtLeast, bytes, label);
    code.go_if(Test::Above, 1 << 20, label);
}

/// Keeps both ports, if the packet has some: it is no later fragment, and long enough by its own
/// length and by that of the frame.
fn read_ports(code: &mut Assembler, version: Version) {
    let (none, some, done) = (code.label(), code.label(), code.label());
    code.kept(word::IP_PROTOCOL);
    for protocol in (0..=u8::MAX).filter(|protocol| has_ports(*protocol)) {
        code.go_if(Test::Equal, u32::from(protocol), some);
    }
    code.go_to(none);
    code.place(some);
    if version == Version::Four {
        code.load_behind(Size::Half, NETWORK + 6);
        code.operate(libc::BPF_AND, 0x1fff);
        code.go_unless(Test::Equal, 0, none);
    }
    // The bytes of the packet behind its IP header; a length that is too small was left to offload.
    let any_length = code.label();
    match version {
        Version::Four => {
            code.load_behind(Size::Half, NETWORK + 2);
            code.statement(libc::BPF_LDX | libc::BPF_MEM, word::BODY);
            code.statement(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_X, 0);
            code.go_if(Test::Above, u32::from(u16::MAX), any_length);
        }
        Version::Six => {
            code.load_behind(Size::Half, NETWORK + 4);
            code.go_if(Test::Equal, 0, any_length);
        }
    }
    code.go_unless(Test::AtLeast, 4, none);
    code.place(any_length);
    // X becomes the offset of the body from the network header.
    code.kept(word::IP);
    code.statement(libc::BPF_LDX | libc::BPF_MEM, word::BODY);
    code.statement(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0);
    code.keep_in_x();
    room_for(code, 4, none);
    for (at, to) in [(0, word::SOURCE_PORT), (2, word::DESTINATION_PORT)] {
        code.load_behind(Size::Half, NETWORK + at);
        code.keep(to);
    }
    code.go_to(done);
    code.place(none);
    code.statement(libc::BPF_LD | libc::BPF_IMM, ABSENT);
    code.keep(word::SOURCE_PORT);
    code.keep(word::DESTINATION_PORT);
    code.place(done);
}
