//! Packets that keep a link working. Those that match no rule have a flow of their own, so that
//! other unmatched traffic does not delay them.

use crate::classifier::ethertypes::MIN_ETHERTYPE;
use crate::headers::Headers;

/// IANA numbers of IGMP and of ICMPv6, which carries neighbour discovery (RFC 4861) and multicast
/// listener discovery.
const IP_PROTOCOLS: [u8; 2] = [2, 58];

/// ARP (RFC 826), LACP and other slow protocols (IEEE 802.3, annex 57A), PPPoE discovery (RFC
/// 2516), 802.1X, LLDP.
const ETHERTYPES: [u16; 5] = [0x0806, 0x8809, 0x8863, 0x888e, 0x88cc];

/// A PPPoE session (RFC 2516): frames without an IP packet carry the negotiations and queries of
/// its peers (RFC 1661).
const PPPOE_SESSION: u16 = 0x8864;

/// Returns true if a packet with these headers keeps a link working, rather than crossing it. 802.3
/// frames with a length in place of a type do too: spanning tree.
pub(super) fn is_control(headers: &Headers) -> bool {
    match (headers.ip, headers.ethertype) {
        (Some(ip), _) => IP_PROTOCOLS.contains(&ip.protocol),
        (None, Some(kind)) => kind < MIN_ETHERTYPE || kind == PPPOE_SESSION || ETHERTYPES.contains(&kind),
        (None, None) => false,
    }
}
