//! EtherType of a frame (IEEE 802.3, clause 3.2.6), the type of the content behind its link header
//! and its VLAN tags, by name and number.

use crate::headers::Headers;
use core::net::IpAddr;

/// A lower number is the length of an 802.3 frame.
pub const MIN_ETHERTYPE: u16 = 0x0600;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

const NAMES: &[(&str, u16)] = &[
    ("arp", 0x0806),
    ("eapol", 0x888e),
    ("ipv4", IPV4),
    ("ipv6", IPV6),
    ("lldp", 0x88cc),
    ("mpls", 0x8847),
    ("mpls-multicast", 0x8848),
    ("pppoe-discovery", 0x8863),
    ("pppoe-session", 0x8864),
    ("ptp", 0x88f7),
    ("slow-protocols", 0x8809),
];

/// The EtherType that a name means, or a number from 0x0600 on as text, in hexadecimal with `0x` or
/// in decimal; `None` for anything else.
pub fn ethertype_number(text: &str) -> Option<u16> {
    if let Some((_, number)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Some(*number);
    }
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, radix).ok().filter(|number| plain && *number >= MIN_ETHERTYPE)
}

/// The names of EtherTypes known here.
pub fn ethertype_names() -> impl Iterator<Item = &'static str> + Clone {
    NAMES.iter().map(|(name, _)| *name)
}

/// Returns true if IP is looked for in frames of this type: in IP itself, behind MPLS labels, and
/// in PPPoE sessions.
pub const fn may_carry_ip(ethertype: u16) -> bool {
    matches!(ethertype, IPV4 | IPV6 | 0x8847 | 0x8848 | 0x8864)
}

/// The EtherType of a packet; for an IP packet without a link header, that of its IP version.
pub(super) fn ethertype_of(headers: &Headers) -> Option<u16> {
    let of_ip = || {
        headers.ip.map(|ip| match ip.source {
            IpAddr::V4(_) => IPV4,
            IpAddr::V6(_) => IPV6,
        })
    };
    headers.ethertype.or_else(of_ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_alike() {
        for (name, number) in NAMES {
            assert_eq!(ethertype_number(name), Some(*number));
            assert_eq!(ethertype_number(&format!("{number:#06x}")), Some(*number));
            assert_eq!(ethertype_number(&number.to_string()), Some(*number));
        }
        for text in ["", "0x", "0x05ff", "1535", "0x10000", "65536", "+2048", "0x+800", "-1", "ARP", "88f7"] {
            assert_eq!(ethertype_number(text), None, "{text}");
        }
        assert_eq!(ethertype_number("0x0600"), Some(1536));
    }
}
