//! Headers of a frame, read from its bytes.
//!
//! A capture cuts packets off at its snap length, and offload hands the capture
//! packets whose length fields are zero. So every header is read as far as its bytes are present:
//! addresses and ports need only their own bytes, not the rest of their header. No input panics;
//! unreadable fields are absent.
//!
//! Sources: IEEE 802.1Q; RFC 3032 (MPLS), RFC 791, RFC 8200 (with its extension headers), RFC 2474
//! (DSCP), RFC 3168 (ECN), RFC 2516 (PPPoE), RFC 1661 (PPP); the link types as tcpdump.org
//! registers them.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::headers::{Headers, LinkType};
//!
//! // IPv4 from 10.0.0.1 to 10.0.0.2, cut off behind the addresses.
//! let mut frame = [0; 20];
//! frame[0] = 0x45;
//! frame[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
//! let headers = Headers::read(LinkType::RawIp, &frame);
//! assert_eq!(headers.ip.unwrap().source.to_string(), "10.0.0.1");
//! ```

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;
use etherparse::{
    EtherType, IpAuthHeaderSlice, IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice, SingleVlanHeaderSlice, ether_type, ip_number,
};

/// The first header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    /// An Ethernet II or 802.3 header, without preamble and frame check sequence.
    Ethernet,
    /// No link header: the IPv4 or IPv6 header comes first.
    RawIp,
    /// The 16-byte header of Linux "cooked" captures.
    LinuxSll,
    /// The 20-byte header of the second version of Linux "cooked" captures.
    LinuxSll2,
    /// Four bytes of BSD address family, in either byte order.
    BsdLoopback,
}

impl LinkType {
    /// Returns the link type that a capture file calls `number` (LINKTYPE_ values, and the DLT_RAW
    /// values 12 and 14 that some systems write); `None` for one that is not supported.
    pub const fn from_number(number: u32) -> Option<LinkType> {
        match number {
            1 => Some(LinkType::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(LinkType::RawIp),
            113 => Some(LinkType::LinuxSll),
            276 => Some(LinkType::LinuxSll2),
            0 | 108 => Some(LinkType::BsdLoopback),
            _ => None,
        }
    }
}

/// One VLAN tag (802.1Q or 802.1ad).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// VLAN identifier, 0 to 4095.
    pub id: u16,
    /// Priority code point, 0 to 7.
    pub priority: u8,
}

/// The MAC address of a network card (IEEE 802, clause 8.2). As text, `02:00:5e:10:00:0a`; `-` may
/// separate the bytes, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The error for a text that is not a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a MAC address, such as 02:00:5e:10:00:0a")]
pub struct NotAMacAddress;

impl FromStr for MacAddress {
    type Err = NotAMacAddress;

    fn from_str(text: &str) -> Result<MacAddress, NotAMacAddress> {
        let between = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut digits = text.split(between);
        for byte in &mut bytes {
            let pair = digits.next().filter(|pair| pair.len() == 2 && !pair.starts_with('+'));
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(NotAMacAddress)?;
        }
        match digits.next() {
            None => Ok(MacAddress(bytes)),
            Some(_) => Err(NotAMacAddress),
        }
    }
}

/// The addresses of an Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Macs {
    /// Sender of the frame.
    pub source: MacAddress,
    /// The destination: one card, a group or all.
    pub destination: MacAddress,
}

/// The part of its datagram that a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// The whole datagram.
    Whole,
    /// The first fragment, with the datagram's identification (16 bits in IPv4, 32 in IPv6): it has
    /// the ports.
    First(u32),
    /// A later fragment, with the datagram's identification: no transport header follows its IP
    /// header.
    Later(u32),
}

/// The fields of an IPv4 or IPv6 header, and the ports behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub source: IpAddr,
    /// Destination address; of the same family as the source.
    pub destination: IpAddr,
    /// The protocol (IANA number) after the IP header, extension headers and authentication header
    /// skipped. If one of those headers is cut off, the number of that header.
    pub protocol: u8,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced.
    pub ecn: u8,
    /// The part of its datagram that this packet holds.
    pub fragment: Fragment,
    /// Source and destination port of TCP, UDP, UDP-Lite, SCTP and DCCP; `None` for
    /// another protocol, a later fragment, and a packet cut off before them.
    pub ports: Option<(u16, u16)>,
}

/// The headers of a frame, as far as the captured bytes contain them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Headers {
    /// The addresses of the Ethernet header; `None` when there is none, or the frame is cut off in
    /// them.
    pub macs: Option<Macs>,
    /// The outer and the inner VLAN tag. Further tags are passed over.
    pub vlans: [Option<Vlan>; 2],
    /// The EtherType behind the link header and the VLAN tags; below 1536 it is the length of an
    /// 802.3 frame. `None` when the frame is cut off before it, or has no such field and no IP
    /// header.
    pub ethertype: Option<u16>,
    /// The IP header, also behind MPLS labels and in the frames of a PPPoE session; `None` for
    /// other traffic, and when its 20 (IPv4) or 40 (IPv6) fixed bytes are not all there.
    pub ip: Option<Ip>,
}

impl Headers {
    /// Reads the headers of `frame`, which starts with a header of type `link` and may be cut off
    /// anywhere. Bytes after the packet (Ethernet padding) are not taken for ports.
    pub fn read(link: LinkType, frame: &[u8]) -> Headers {
        Headers::read_packet(link, frame).0
    }

    /// Reads the headers of `frame`; also returns the rest of the frame from its IP header on,
    /// which is empty without an IP header.
    pub fn read_packet(link: LinkType, frame: &[u8]) -> (Headers, &[u8]) {
        match link {
            LinkType::Ethernet => {
                let (headers, packet) = Headers::after(frame, 12, 14);
                (Headers { macs: macs(frame), ..headers }, packet)
            }
            LinkType::LinuxSll => Headers::after(frame, 14, 16),
            LinkType::LinuxSll2 => Headers::after(frame, 0, 20),
            LinkType::RawIp => Headers::raw(frame),
            LinkType::BsdLoopback => match frame.split_first_chunk() {
                Some((family, rest)) if is_ip_family(*family) => Headers::raw(rest),
                _ => (Headers::default(), &[]),
            },
        }
    }

    /// Reads the headers after a link header of `length` bytes with its type at `type_at`.
    fn after(frame: &[u8], type_at: usize, length: usize) -> (Headers, &[u8]) {
        let mut headers = Headers::default();
        let Some(field) = frame.get(type_at..).and_then(|rest| rest.first_chunk()) else {
            return (headers, &[]);
        };
        let mut kind = EtherType(u16::from_be_bytes(*field));
        let mut rest = frame.get(length..).unwrap_or_default();
        let mut tags = 0;
        while let ether_type::VLAN_TAGGED_FRAME
        | ether_type::PROVIDER_BRIDGING
        | ether_type::VLAN_DOUBLE_TAGGED_FRAME = kind
        {
            let Ok(tag) = SingleVlanHeaderSlice::from_slice(rest) else { break };
            if let Some(place) = headers.vlans.get_mut(tags) {
                let (id, priority) = (tag.vlan_identifier().value(), tag.priority_code_point().value());
                *place = Some(Vlan { id, priority });
            }
            tags += 1;
            kind = tag.ether_type();
            rest = rest.get(tag.slice().len()..).unwrap_or_default();
        }
        headers.ethertype = Some(kind.0);
        let (ip, packet) = match kind {
            ether_type::IPV4 => (ipv4(rest), rest),
            ether_type::IPV6 => (ipv6(rest), rest),
            EtherType(MPLS | MPLS_MULTICAST) => {
                let (inner, packet) = Headers::raw(below_labels(rest));
                (inner.ip, packet)
            }
            EtherType(PPPOE_SESSION) => in_session(rest),
            _ => (None, &[][..]),
        };
        headers.ip = ip;
        (headers, if ip.is_some() { packet } else { &[] })
    }

    fn raw(packet: &[u8]) -> (Headers, &[u8]) {
        let (kind, ip) = match packet.first().map(|byte| byte >> 4) {
            Some(4) => (ether_type::IPV4, ipv4(packet)),
            Some(6) => (ether_type::IPV6, ipv6(packet)),
            _ => return (Headers::default(), &[]),
        };
        let headers = Headers { ethertype: Some(kind.0), ip, ..Headers::default() };
        (headers, if ip.is_some() { packet } else { &[] })
    }
}

/// The addresses at the start of an Ethernet frame.
fn macs(frame: &[u8]) -> Option<Macs> {
    let (destination, rest) = frame.split_first_chunk()?;
    let source = rest.first_chunk()?;
    Some(Macs { source: MacAddress(*source), destination: MacAddress(*destination) })
}

const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;

/// The payload under a stack of MPLS labels. No field gives its type: a first half byte of 4 or 6
/// means IP (RFC 4928), and a pseudowire starts with 0.
fn below_labels(mut bytes: &[u8]) -> &[u8] {
    while let Some((label, rest)) = bytes.split_first_chunk::<4>() {
        bytes = rest;
        if label[2] & 1 == 1 {
            return bytes; // the bottom of the stack
        }
    }
    &[]
}

/// The IP header behind a PPPoE header of six bytes (version and type 1, code 0 for session data)
/// and the PPP protocol, which a peer may compress to one byte: its first byte is then odd (RFC
/// 1661, section 6.5).
fn in_session(bytes: &[u8]) -> (Option<Ip>, &[u8]) {
    match bytes.split_first_chunk::<6>() {
        Some(([0x11, 0, ..], rest)) => match *rest {
            [0x00, 0x21, ref packet @ ..] | [0x21, ref packet @ ..] => (ipv4(packet), packet),
            [0x00, 0x57, ref packet @ ..] | [0x57, ref packet @ ..] => (ipv6(packet), packet),
            _ => (None, &[]),
        },
        _ => (None, &[]),
    }
}

/// Returns true for an IP family: AF_INET is 2 everywhere; AF_INET6 is 24, 28 or 30 on the BSDs and
/// 10 on Linux.
fn is_ip_family(field: [u8; 4]) -> bool {
    let known = |family| matches!(family, 2 | 10 | 24 | 28 | 30);
    known(u32::from_le_bytes(field)) || known(u32::from_be_bytes(field))
}

fn ipv4(packet: &[u8]) -> Option<Ip> {
    // The options may be cut off: the fixed part is read as a header without options.
    let mut fixed: [u8; 20] = *packet.first_chunk()?;
    let length = usize::from(fixed[0] & 0x0f) * 4;
    if fixed[0] >> 4 != 4 || length < fixed.len() {
        return None;
    }
    fixed[0] = 0x45;
    let header = Ipv4HeaderSlice::from_slice(&fixed).ok()?;
    let fragment =
        fragment(header.fragments_offset().value(), header.more_fragments(), header.identification().into());
    let body = clipped(packet, length, usize::from(header.total_len()));
    let (protocol, ports) = upper(header.protocol(), body, fragment);
    Some(Ip {
        source: Ipv4Addr::from(header.source()).into(),
        destination: Ipv4Addr::from(header.destination()).into(),
        protocol,
        dscp: header.dcp().value(),
        ecn: header.ecn().value(),
        fragment,
        ports,
    })
}

fn ipv6(packet: &[u8]) -> Option<Ip> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let length = header.slice().len();
    let total = match usize::from(header.payload_length()) {
        0 => 0, // a jumbogram, or offload
        payload => length + payload,
    };
    let mut body = clipped(packet, length, total);
    let mut next = header.next_header();
    let mut part = Fragment::Whole;
    loop {
        let (following, taken) = match next {
            ip_number::IPV6_HOP_BY_HOP
            | ip_number::IPV6_ROUTE
            | ip_number::IPV6_DEST_OPTIONS
            | ip_number::MOBILITY => match Ipv6RawExtHeaderSlice::from_slice(body) {
                Ok(extension) => (extension.next_header(), extension.slice().len()),
                Err(_) => break,
            },
            ip_number::IPV6_FRAG => match Ipv6FragmentHeaderSlice::from_slice(body) {
                Ok(extension) => {
                    let (offset, more) = (extension.fragment_offset().value(), extension.more_fragments());
                    part = fragment(offset, more, extension.identification());
                    (extension.next_header(), extension.slice().len())
                }
                Err(_) => break,
            },
            _ => break,
        };
        next = following;
        body = body.get(taken..).unwrap_or_default();
        if matches!(part, Fragment::Later(_)) {
            break; // the rest is the middle of a payload
        }
    }
    let (protocol, ports) = upper(next, body, part);
    Some(Ip {
        source: Ipv6Addr::from(header.source()).into(),
        destination: Ipv6Addr::from(header.destination()).into(),
        protocol,
        dscp: header.dscp().value(),
        ecn: header.ecn().value(),
        fragment: part,
        ports,
    })
}

fn fragment(offset: u16, more: bool, identification: u32) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First(identification),
        _ => Fragment::Later(identification),
    }
}

/// The bytes after the first `header` bytes, up to the packet's own `total` length; a total shorter
/// than the header (offload writes zero) is ignored.
fn clipped(packet: &[u8], header: usize, total: usize) -> &[u8] {
    let end = if total < header { packet.len() } else { total.min(packet.len()) };
    packet.get(header..end).unwrap_or_default()
}

/// The protocol behind an authentication header, if there is one, and the ports.
fn upper(mut protocol: IpNumber, mut body: &[u8], part: Fragment) -> (u8, Option<(u16, u16)>) {
    if matches!(part, Fragment::Later(_)) {
        return (protocol.0, None);
    }
    while protocol == ip_number::AUTH {
        let Ok(header) = IpAuthHeaderSlice::from_slice(body) else { break };
        protocol = header.next_header();
        body = body.get(header.slice().len()..).unwrap_or_default();
    }
    let ports = body.first_chunk::<4>().filter(|_| has_ports(protocol.0));
    (protocol.0, ports.map(|p| (u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]]))))
}

/// Returns true if a protocol's header starts with two ports.
pub const fn has_ports(protocol: u8) -> bool {
    // TCP, UDP, DCCP, SCTP, UDP-Lite.
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
