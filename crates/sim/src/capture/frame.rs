//! The IP packet that stands for a packet of the simulator: headers, without the data behind them.
//!
//! A TCP segment gets an IPv4 and a TCP header (RFC 791, RFC 9293) with the numbers, flags and SACK
//! blocks (RFC 2018) of the simulated one. Initial sequence numbers are 0, and the data start at 1;
//! numbers wrap around at 2³². Where a SYN opens the connection, it announces that windows are
//! scaled by 2⁷ (RFC 7323); else they end at 65535. A count of marked packets is in the three bits
//! of ACE (RFC 9768, section 3.1.1).
//!
//! Any other packet is a UDP datagram (RFC 768) or, below the 28 bytes of its headers, a bare IPv4
//! packet of an experimental protocol (RFC 3692). Checksums are those of data that are all zero.

use super::CapturedPacket;
use crate::network::{FlowSetup, Network};
use core::net::IpAddr;
use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader,
    TcpOptionElement::{SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, WindowScale},
    UdpHeader,
};
use tidegate_core::endpoint::Payload;
use tidegate_core::endpoint::tcp::Segment;

/// Bytes of an Ethernet header, and of a VLAN tag.
const ETHERNET: u32 = 14;
const VLAN_TAG: u32 = 4;
/// Bytes of an IPv4 header without options.
const IP: u32 = 20;
/// Bytes of a TCP header without options.
const TCP: u32 = 20;
/// The most bytes of options in a TCP header.
const MAX_OPTIONS: u32 = 40;
/// The first port of the dynamic ones (RFC 6335, section 6).
const FIRST_DYNAMIC: u16 = 49_152;
/// Number of dynamic ports.
const DYNAMIC: u32 = 16_384;
/// The port of the receivers.
const SERVICE: u16 = 5001;
/// An experimental protocol (RFC 3692, section 2.1).
const EXPERIMENTAL: IpNumber = IpNumber(253);
/// The usual TTL of a host.
const TTL: u32 = 64;
/// The window's scale (RFC 7323, section 2), as Linux has it for its usual buffers.
const SCALE: u8 = 7;
/// Data behind a header.
static ZEROS: [u8; 65_535] = [0; 65_535];

/// The error for a packet that cannot stand in an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packet of {0} bytes cannot be an IP packet, which has at most 65535")]
pub struct Unframed(pub u32);

/// The addresses and ports of a flow's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tuple {
    source: [u8; 4],
    destination: [u8; 4],
    ports: (u16, u16),
    /// Bytes in front of the IP header: sizes of flows with headers are those of Ethernet frames.
    before_ip: u32,
    /// True if its packets go from the receiver of a connection to its sender.
    answers: bool,
    /// True once its connection was opened with a SYN, which announces the scale of its windows.
    pub(super) scaled: bool,
    /// For a multicast flow, the number of links up to the end of each link of its route.
    depths: Vec<u16>,
}

impl Tuple {
    /// Returns the TTL of a packet on the link at a place of the route.
    fn ttl(&self, place: u32) -> u8 {
        let passed = self.depths.get(place as usize).map_or(place, |depth| u32::from(*depth) - 1);
        TTL.saturating_sub(passed).max(1) as u8
    }

    /// Returns those of a flow: the ones that its headers state, else an address for each node and
    /// ports for each flow. The two directions of a connection share them.
    pub(super) fn of(network: &Network, flow: usize) -> Tuple {
        let setup = &network.flows[flow];
        let data = setup.peer.map_or(flow, |peer| peer.min(flow));
        let (source, destination) = ends(network, setup);
        let answers = data != flow;
        let (near, far) = ports(data as u32);
        let ports = if answers { (far, near) } else { (near, far) };
        let stated = setup.headers.as_ref().and_then(|headers| headers.ip);
        let (source, destination, ports) = match stated.map(|ip| (ip.source, ip.destination, ip.ports)) {
            Some((IpAddr::V4(from), IpAddr::V4(to), stated)) => {
                (from.octets(), to.octets(), stated.unwrap_or(ports))
            }
            _ => (source, destination, ports),
        };
        let before_ip = setup
            .headers
            .as_ref()
            .map_or(0, |headers| ETHERNET + headers.vlans.iter().flatten().map(|_| VLAN_TAG).sum::<u32>());
        Tuple { source, destination, ports, before_ip, answers, scaled: false, depths: setup.depths.clone() }
    }
}

/// Returns the addresses of a flow's ends. That of a flow with several destinations is a multicast
/// group (RFC 2365).
fn ends(network: &Network, setup: &FlowSetup) -> ([u8; 4], [u8; 4]) {
    let source = address(network.links[setup.route[0]].from);
    match (setup.destinations(), setup.route.last()) {
        (1, Some(last)) => (source, address(network.links[*last].to)),
        _ => (source, within(239, setup.group)),
    }
}

/// Returns the address of a node: 10.0.0.1 for the first, and so on.
pub(super) fn address(node: usize) -> [u8; 4] {
    within(10, node)
}

/// Returns the address with a number, from 0, behind the first byte.
fn within(first: u8, ix: usize) -> [u8; 4] {
    let [_, a, b, c] = (ix as u32 + 1).to_be_bytes();
    [first, a, b, c]
}

/// Returns the ports of a flow by its index, from its source to its destination.
fn ports(flow: u32) -> (u16, u16) {
    let further = u16::try_from(flow / DYNAMIC).unwrap_or(u16::MAX);
    (FIRST_DYNAMIC + (flow % DYNAMIC) as u16, SERVICE.saturating_add(further))
}

/// The headers of a packet, and its length with the data behind them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) headers: Vec<u8>,
    pub(super) len: u32,
}

impl Frame {
    /// Returns the headers of a packet of a flow.
    ///
    /// # Errors
    /// When its length is none of an IP packet.
    pub(super) fn of(packet: &CapturedPacket, tuple: &Tuple) -> Result<Frame, Unframed> {
        let len = packet.len.saturating_sub(tuple.before_ip);
        let (protocol, behind, len) = match &packet.payload {
            Payload::Tcp(segment) => tcp(len, segment, tuple)?,
            _ => other(len, tuple)?,
        };
        let mut headers = Ipv4Header {
            dscp: IpDscp::try_new(packet.mark.coloured_dscp()).unwrap_or_default(),
            ecn: IpEcn::try_new(packet.mark.ecn()).unwrap_or_default(),
            total_len: u16::try_from(len).map_err(|_| Unframed(packet.len))?,
            identification: packet.sequence as u16,
            dont_fragment: true,
            time_to_live: tuple.ttl(packet.place),
            protocol,
            source: tuple.source,
            destination: tuple.destination,
            ..Ipv4Header::default()
        };
        headers.header_checksum = headers.calc_header_checksum();
        let mut bytes = headers.to_bytes().to_vec();
        bytes.extend(behind);
        Ok(Frame { headers: bytes, len })
    }
}

/// A protocol's number, its header, and the length of the IP packet.
type Part = (IpNumber, Vec<u8>, u32);

/// Returns the TCP header of a segment in a packet of `len` bytes. Options fill the packet; SACK
/// blocks for which it has no room make it longer.
fn tcp(len: u32, segment: &Segment, tuple: &Tuple) -> Result<Part, Unframed> {
    let (from, to) = tuple.ports;
    // A SYN counts as a byte (RFC 9293, section 3.4): the data begin at 1.
    let number = |byte: u64| (byte as u32).wrapping_add(1);
    let sequence = if segment.opens { 0 } else { number(segment.sequence) };
    // The sender of the data has room for any answer. The window of a SYN is not scaled.
    let window = match (tuple.answers, tuple.scaled && !segment.opens) {
        (false, _) => u16::MAX.into(),
        (true, false) => segment.window,
        (true, true) => segment.window >> SCALE,
    };
    let mut header = TcpHeader::new(from, to, sequence, u16::try_from(window).unwrap_or(u16::MAX));
    header.syn = segment.opens;
    header.psh = segment.pushes;
    header.ack = tuple.answers || !segment.opens;
    header.acknowledgment_number = if header.ack { number(segment.acknowledgement) } else { 0 };
    let ace = |bit: u8| segment.ace & bit != 0;
    header.ns = ace(4);
    (header.cwr, header.ece) = (segment.reduced || ace(2), segment.echo || ace(1));
    let mut options = options(segment).map_err(|_| Unframed(len))?;
    let room = len.saturating_sub(IP + TCP + segment.length).min(MAX_OPTIONS) & !3;
    if options.len() < room as usize {
        const NO_OPERATION: u8 = 1;
        options.resize(room as usize, NO_OPERATION);
    }
    header.set_options_raw(&options).map_err(|_| Unframed(len))?;
    let whole = (IP + header.header_len() as u32).saturating_add(segment.length);
    let data = ZEROS.get(..segment.length as usize).ok_or(Unframed(len))?;
    let sum = header.calc_checksum_ipv4_raw(tuple.source, tuple.destination, data);
    header.checksum = sum.map_err(|_| Unframed(len))?;
    Ok((IpNumber::TCP, header.to_bytes().to_vec(), whole))
}

/// Returns the options of a segment's header, a whole number of words.
fn options(segment: &Segment) -> Result<Vec<u8>, etherparse::TcpOptionWriteError> {
    let number = |byte: u64| (byte as u32).wrapping_add(1);
    let mut options = Vec::new();
    if segment.opens {
        options.extend([SelectiveAcknowledgementPermitted, WindowScale(SCALE)]);
    }
    let mut blocks = segment.blocks().map(|block| (number(block.start), number(block.end)));
    if let Some(first) = blocks.next() {
        options.push(SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]));
    }
    let options: etherparse::TcpOptions = options.as_slice().try_into()?;
    Ok(options.as_slice().to_vec())
}

/// Returns the header of a packet of `len` bytes that is no segment; it is as long as an IP header
/// at least.
fn other(len: u32, tuple: &Tuple) -> Result<Part, Unframed> {
    let refused = Unframed(len);
    let len = len.max(IP);
    let behind = len.checked_sub(IP).and_then(|rest| u16::try_from(rest).ok()).ok_or(refused)?;
    let Some(data) = usize::from(behind).checked_sub(UdpHeader::LEN) else {
        return Ok((EXPERIMENTAL, vec![0; behind.into()], len));
    };
    let (from, to) = tuple.ports;
    let mut header = UdpHeader { source_port: from, destination_port: to, length: behind, checksum: 0 };
    let sum = header.calc_checksum_ipv4_raw(tuple.source, tuple.destination, &ZEROS[..data]);
    header.checksum = sum.map_err(|_| refused)?;
    Ok((IpNumber::UDP, header.to_bytes().to_vec(), len))
}
