//! Rules for a device with two sides: directions, prefixes, and the traffic that has a flow of its
//! own.

use super::FiveTuple;
use crate::headers::Headers;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// Direction in which a packet crosses a device that has an inside and an outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the inside to the outside.
    Up,
    /// From the outside to the inside.
    Down,
}

impl Direction {
    /// Both, in the order in which they are numbered.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// Name of the direction: `up` or `down`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }

    /// The other direction.
    pub const fn opposite(self) -> Direction {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }
}

/// An address, or all addresses that start alike: `10.0.0.0/24`, `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The first address of the prefix.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Number of bits that all its addresses share.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Returns true if the prefix contains the address; never for one of the other family.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= u32::from(self.length)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= u32::from(self.length)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A text is neither an address nor a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPrefix {
    /// The text is something else.
    #[error("expected an address or a prefix, such as 10.0.0.1, 10.0.0.0/24 or 2001:db8::/32")]
    Text,
    /// The address has bits beyond its prefix: `10.0.0.1/24`. Holds the prefix probably meant.
    #[error("the address has bits beyond its prefix; the network is {0}")]
    HostBits(Prefix),
}

impl FromStr for Prefix {
    type Err = NotAPrefix;

    fn from_str(text: &str) -> Result<Prefix, NotAPrefix> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotAPrefix::Text)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let plain = |length: &str| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = match length {
            None => bits,
            Some(length) if plain(length) => length.parse().map_err(|_| NotAPrefix::Text)?,
            Some(_) => return Err(NotAPrefix::Text),
        };
        if length > bits {
            return Err(NotAPrefix::Text);
        }
        let network = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(u32::from(32 - length)).unwrap_or(0);
                IpAddr::V4((v4.to_bits() & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(u32::from(128 - length)).unwrap_or(0);
                IpAddr::V6((v6.to_bits() & mask).into())
            }
        };
        let prefix = Prefix { address: network, length };
        if network == address { Ok(prefix) } else { Err(NotAPrefix::HostBits(prefix)) }
    }
}

/// The address inside, of an IP packet with these headers that goes in this direction.
#[inline]
pub fn inside(headers: &Headers, direction: Direction) -> Option<IpAddr> {
    headers.ip.map(|ip| match direction {
        Direction::Up => ip.source,
        Direction::Down => ip.destination,
    })
}

/// The unit that has a flow of its own, among the packets that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// Every 5-tuple.
    FiveTuple,
    /// Every address inside.
    Host,
    /// Every IPv4 address inside, and every /64 of IPv6: the addresses of a line.
    Subscriber,
}

/// Owner of a flow, where a rule makes one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A 5-tuple.
    Flow(FiveTuple),
    /// An address, or a /64 by its first address.
    Inside(IpAddr),
    /// All packets that are not IP.
    Other,
}

impl Each {
    /// Returns the owner of the flow to which a packet belongs.
    pub fn key(self, headers: &Headers, direction: Direction) -> Key {
        let inside = inside(headers, direction);
        match (self, inside) {
            (Each::FiveTuple, _) => Key::Flow(FiveTuple::of(headers)),
            (_, None) => Key::Other,
            (Each::Subscriber, Some(IpAddr::V6(address))) => {
                Key::Inside(IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()))
            }
            (Each::Host | Each::Subscriber, Some(address)) => Key::Inside(address),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Flow(flow) => flow.fmt(f),
            Key::Inside(address) => address.fmt(f),
            Key::Other => f.write_str("other"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{Fragment, Ip, Vlan};
    use proptest::prelude::*;

    fn headers(flow: &str, dscp: u8, vlan: Option<u16>) -> Headers {
        let vlans = [vlan.map(|id| Vlan { id, priority: 0 }), None];
        let FiveTuple::Ip { source, destination, ports, protocol } = flow.parse().unwrap() else {
            return Headers { vlans, ..Headers::default() };
        };
        let fragment = Fragment::Whole;
        let ip = Some(Ip { source, destination, protocol, dscp, ecn: 0, fragment, ports });
        Headers { ip, vlans, ..Headers::default() }
    }

    #[test]
    fn keys_are_those_of_the_inside() {
        let six = headers("[2001:db8:1:2:3::4]:1>[2001:db8::9]:2/tcp", 0, None);
        let key = |each: Each, direction| each.key(&six, direction).to_string();
        assert_eq!(key(Each::Host, Direction::Up), "2001:db8:1:2:3::4");
        assert_eq!(key(Each::Subscriber, Direction::Up), "2001:db8:1:2::");
        assert_eq!(key(Each::Subscriber, Direction::Down), "2001:db8::");
        assert_eq!(key(Each::FiveTuple, Direction::Up), "[2001:db8:1:2:3::4]:1>[2001:db8::9]:2/tcp");
        let four = headers("10.0.0.7>10.0.0.8/icmp", 0, None);
        assert_eq!(Each::Subscriber.key(&four, Direction::Down), Key::Inside("10.0.0.8".parse().unwrap()));
    }

    #[test]
    fn prefixes_are_read_strictly() {
        for text in ["10.0.0.0/24", "0.0.0.0/0", "10.0.0.1/32", "2001:db8::/32", "::/0"] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
        assert_eq!("10.0.0.1".parse::<Prefix>().unwrap().to_string(), "10.0.0.1/32");
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "::/129",
            "fe80::1%eth0",
            "10.0.0.0/8/8",
        ] {
            assert_eq!(text.parse::<Prefix>(), Err(NotAPrefix::Text), "{text}");
        }
        assert_eq!(
            "10.0.0.1/24".parse::<Prefix>(),
            Err(NotAPrefix::HostBits("10.0.0.0/24".parse().unwrap()))
        );
    }

    proptest! {
        /// Bit by bit.
        #[test]
        fn a_prefix_contains_what_starts_alike(six: bool, network: u128, other: u128, length in 0u8..=128, near: bool) {
            let (bits, length) = if six { (128, length) } else { (32, length / 4) };
            let first = |value: u128, count: u8| (0..count).map(|bit| value >> (bits - 1 - bit) & 1).collect::<Vec<_>>();
            let make = |value: u128| -> IpAddr {
                if six { IpAddr::V6(value.into()) } else { IpAddr::V4((value as u32).into()) }
            };
            let other = if near { network ^ (1 << (other % u128::from(bits))) } else { other };
            let kept = if length == 0 { 0 } else { network & (u128::MAX << (bits - length)) };
            let prefix: Prefix = format!("{}/{length}", make(kept)).parse().unwrap();
            prop_assert_eq!(prefix.contains(make(other)), first(kept, length) == first(other, length));
        }
    }
}
