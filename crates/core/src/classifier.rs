//! Flow classification. A [`FiveTuple`] names a packet's flow, and a [`Classifier`] numbers the
//! flows that it meets. At a device with two sides, [`matching`] determines the packets of a rule,
//! [`rules`] the traffic that has a flow of its own, and [`circuits`] the subscriber of a packet.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::classifier::{Classifier, FiveTuple};
//!
//! let web: FiveTuple = "10.0.0.1:5001>10.0.0.2:80/tcp".parse()?;
//! let ping: FiveTuple = "10.0.0.1>10.0.0.2/icmp".parse()?;
//! let mut classifier = Classifier::new();
//! assert_eq!([web, ping, web].map(|flow| classifier.number(flow)), [0, 1, 0]);
//! # Ok::<(), tidegate_core::classifier::NotAFlow>(())
//! ```

pub mod addresses;
pub mod circuits;
pub mod ethertypes;
pub mod matching;
pub mod rules;

use crate::headers::{Headers, has_ports};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;

/// The flow that a packet belongs to: addresses, ports and protocol, in one direction.
///
/// As text, `10.0.0.1:5001>10.0.0.2:80/tcp`; with IPv6 addresses,
/// `[2001:db8::1]:5001>[2001:db8::2]:80/tcp`; without ports (ICMP, later fragments)
/// `10.0.0.1>10.0.0.2/icmp`; and `other` for everything that is not IP. A protocol
/// without a name here is written as its number: `10.0.0.1>10.0.0.2/112`.
///
/// The order is by source address, then destination, ports and protocol, with
/// `other` last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FiveTuple {
    /// An IPv4 or IPv6 flow.
    Ip {
        /// Source address.
        source: IpAddr,
        /// Destination address, of the same family.
        destination: IpAddr,
        /// Source and destination port; `None` when the protocol has none, or when
        /// they are not known (a later fragment, a packet cut off before them).
        ports: Option<(u16, u16)>,
        /// IANA protocol number.
        protocol: u8,
    },
    /// Everything that is not IP, as one group.
    Other,
}

impl FiveTuple {
    /// Returns the flow of a packet with these headers.
    pub fn of(headers: &Headers) -> FiveTuple {
        headers.ip.map_or(FiveTuple::Other, |ip| FiveTuple::Ip {
            source: ip.source,
            destination: ip.destination,
            ports: ip.ports,
            protocol: ip.protocol,
        })
    }
}

/// Protocol names as IANA spells them, in lower case; `icmp6` is the common name.
const NAMES: [(u8, &str); 13] = [
    (1, "icmp"),
    (2, "igmp"),
    (4, "ipip"),
    (6, "tcp"),
    (17, "udp"),
    (33, "dccp"),
    (41, "ipv6"),
    (47, "gre"),
    (50, "esp"),
    (58, "icmp6"),
    (89, "ospf"),
    (132, "sctp"),
    (136, "udplite"),
];

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FiveTuple::Ip { source, destination, ports, protocol } = *self else {
            return f.write_str("other");
        };
        match ports {
            Some((from, to)) => {
                write!(f, "{}>{}/", SocketAddr::new(source, from), SocketAddr::new(destination, to))?;
            }
            None => write!(f, "{source}>{destination}/")?,
        }
        f.write_str(&protocol_name(protocol))
    }
}

/// The error for a text that is not a flow's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a flow such as 10.0.0.1:5001>10.0.0.2:80/tcp, [::1]:5001>[::2]:80/udp, 10.0.0.1>10.0.0.2/icmp or other, or a pattern such as 10.0.0.1:80>*/tcp"
)]
pub struct NotAFlow;

impl FromStr for FiveTuple {
    type Err = NotAFlow;

    /// Parses the output of `Display`; ports are accepted only for a protocol that has them.
    fn from_str(text: &str) -> Result<FiveTuple, NotAFlow> {
        if text == "other" {
            return Ok(FiveTuple::Other);
        }
        let (ends, protocol) = text.rsplit_once('/').ok_or(NotAFlow)?;
        let (from, to) = ends.split_once('>').ok_or(NotAFlow)?;
        let protocol = protocol_number(protocol)?;
        let ((source, source_port), (destination, destination_port)) = (end(from)?, end(to)?);
        let ports = match (source_port, destination_port) {
            (Some(from), Some(to)) if has_ports(protocol) => Some((from, to)),
            (None, None) => None,
            _ => return Err(NotAFlow),
        };
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(NotAFlow);
        }
        Ok(FiveTuple::Ip { source, destination, ports, protocol })
    }
}

/// An address with or without a port.
fn end(text: &str) -> Result<(IpAddr, Option<u16>), NotAFlow> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok((address, None));
    }
    match text.parse::<SocketAddr>() {
        // A zone (`%eth0`) is local to a host and not part of a flow.
        Ok(address) if !text.contains('%') => Ok((address.ip(), Some(address.port()))),
        _ => Err(NotAFlow),
    }
}

/// A pattern of flows: a [`FiveTuple`] as text in which `*` may stand for an address, a port, a
/// whole end, or the protocol.
///
/// `10.0.0.1:80>*/tcp` matches everything that 10.0.0.1 sends from TCP port 80, `*:53>*/udp` all
/// answers to DNS queries, `*>*/icmp` all ICMP over IPv4, and `*>*/*` all IP. An end without a
/// port, other than `*`, matches packets without ports. A pattern without a `*` matches one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPattern {
    /// One flow.
    One(FiveTuple),
    /// IP flows whose source, destination and protocol match.
    Ip {
        /// Pattern of the source.
        source: EndPattern,
        /// Pattern of the destination.
        destination: EndPattern,
        /// IANA protocol number; `None` for any.
        protocol: Option<u8>,
    },
}

/// A pattern that matches an address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPattern {
    /// The address; `None` for any.
    address: Option<IpAddr>,
    /// Pattern of the port: any, one, or none; `None` for anything.
    port: Option<PortPattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortPattern {
    Any,
    One(u16),
    Without,
}

impl FlowPattern {
    /// Returns true if the pattern matches the flow.
    pub fn matches(&self, flow: &FiveTuple) -> bool {
        match (self, flow) {
            (FlowPattern::One(one), flow) => one == flow,
            (_, FiveTuple::Other) => false,
            (
                FlowPattern::Ip { source: from, destination: to, protocol: wanted },
                FiveTuple::Ip { source, destination, ports, protocol },
            ) => {
                from.matches(*source, ports.map(|(port, _)| port))
                    && to.matches(*destination, ports.map(|(_, port)| port))
                    && wanted.is_none_or(|wanted| wanted == *protocol)
            }
        }
    }

    /// Returns true if the pattern matches one flow only.
    pub fn is_one(&self) -> bool {
        matches!(self, FlowPattern::One(_))
    }
}

impl EndPattern {
    fn matches(&self, address: IpAddr, port: Option<u16>) -> bool {
        self.address.is_none_or(|wanted| wanted == address)
            && match self.port {
                None => true,
                Some(PortPattern::Any) => port.is_some(),
                Some(PortPattern::One(wanted)) => port == Some(wanted),
                Some(PortPattern::Without) => port.is_none(),
            }
    }
}

impl FromStr for FlowPattern {
    type Err = NotAFlow;

    fn from_str(text: &str) -> Result<FlowPattern, NotAFlow> {
        if !text.contains('*') {
            return text.parse().map(FlowPattern::One);
        }
        let (ends, protocol) = text.rsplit_once('/').ok_or(NotAFlow)?;
        let (from, to) = ends.split_once('>').ok_or(NotAFlow)?;
        let protocol = if protocol == "*" { None } else { Some(protocol_number(protocol)?) };
        Ok(FlowPattern::Ip { source: end_pattern(from)?, destination: end_pattern(to)?, protocol })
    }
}

fn end_pattern(text: &str) -> Result<EndPattern, NotAFlow> {
    if text == "*" {
        return Ok(EndPattern { address: None, port: None });
    }
    if let Some(port) = text.strip_prefix("*:") {
        let port = PortPattern::One(port.parse().map_err(|_| NotAFlow)?);
        return Ok(EndPattern { address: None, port: Some(port) });
    }
    if let Some(address) = text.strip_suffix(":*") {
        let bare = address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address);
        let address = bare.parse().map_err(|_| NotAFlow)?;
        return Ok(EndPattern { address: Some(address), port: Some(PortPattern::Any) });
    }
    let (address, port) = end(text)?;
    let port = port.map_or(PortPattern::Without, PortPattern::One);
    Ok(EndPattern { address: Some(address), port: Some(port) })
}

/// The IANA number of a protocol by its name in a [`FiveTuple`], or by the number as text.
///
/// # Errors
/// When there is no such name here, and the text is not a number up to 255.
pub fn protocol_number(text: &str) -> Result<u8, NotAFlow> {
    match NAMES.iter().find(|(_, name)| *name == text) {
        Some((number, _)) => Ok(*number),
        None => text.parse().map_err(|_| NotAFlow),
    }
}

/// Returns the written form of a protocol: its name, or its number if it has no name here.
pub fn protocol_name(protocol: u8) -> String {
    match NAMES.iter().find(|(number, _)| *number == protocol) {
        Some((_, name)) => (*name).to_owned(),
        None => protocol.to_string(),
    }
}

/// The protocol names.
pub fn protocol_names() -> impl Iterator<Item = &'static str> + Clone {
    NAMES.iter().map(|(_, name)| *name)
}

/// Gives flows dense numbers, 0, 1, 2, …, in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    numbers: BTreeMap<FiveTuple, u32>,
    flows: Vec<FiveTuple>,
}

impl Classifier {
    /// Creates a classifier that has met no flow.
    pub fn new() -> Classifier {
        Classifier::default()
    }

    /// The number of the packet's flow: a new one when the flow is new.
    pub fn classify(&mut self, headers: &Headers) -> u32 {
        self.number(FiveTuple::of(headers))
    }

    /// The number of `flow`: a new one when the flow is new. Memory is linear in the
    /// number of flows and is exhausted long before the numbers are.
    pub fn number(&mut self, flow: FiveTuple) -> u32 {
        let next = u32::try_from(self.flows.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(flow).or_insert(next);
        if number == next {
            self.flows.push(flow);
        }
        number
    }

    /// Returns the number of `flow`, if it was met.
    pub fn find(&self, flow: &FiveTuple) -> Option<u32> {
        self.numbers.get(flow).copied()
    }

    /// The flows that were met: number `i` is at `i`.
    pub fn flows(&self) -> &[FiveTuple] {
        &self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_follow_first_appearance() {
        let flow = |text: &str| text.parse::<FiveTuple>().unwrap();
        let mut classifier = Classifier::new();
        let b = flow("10.0.0.2:1>10.0.0.1:2/udp");
        let a = flow("10.0.0.1:1>10.0.0.2:2/udp");
        assert_eq!([classifier.number(b), classifier.number(a), classifier.number(b)], [0, 1, 0]);
        assert_eq!(classifier.classify(&Headers::default()), 2);
        assert_eq!(classifier.flows(), [b, a, FiveTuple::Other]);
        assert_eq!((classifier.find(&a), classifier.find(&flow("::1>::2/icmp6"))), (Some(1), None));
        assert!(a < b && b < FiveTuple::Other);
    }

    #[test]
    fn patterns_mean_what_they_say() {
        let flows = [
            "10.0.0.1:80>10.0.0.2:5000/tcp",
            "10.0.0.1:80>10.0.0.3:5001/tcp",
            "10.0.0.1:53>10.0.0.2:5000/udp",
            "10.0.0.1>10.0.0.2/icmp",
            "[2001:db8::1]:80>[2001:db8::2]:5000/tcp",
            "other",
        ];
        let matched = |pattern: &str| -> Vec<usize> {
            let pattern: FlowPattern = pattern.parse().unwrap();
            let means = |ix: &usize| pattern.matches(&flows[*ix].parse().unwrap());
            (0..flows.len()).filter(means).collect()
        };
        assert_eq!(matched("*>*/*"), [0, 1, 2, 3, 4]);
        assert_eq!(matched("*>*/tcp"), [0, 1, 4]);
        assert_eq!(matched("*:80>*/tcp"), [0, 1, 4]);
        assert_eq!(matched("10.0.0.1:80>*/*"), [0, 1]);
        assert_eq!(matched("10.0.0.1:*>10.0.0.2:*/*"), [0, 2]);
        assert_eq!(matched("10.0.0.1>*/*"), [3]);
        assert_eq!(matched("*>10.0.0.2/icmp"), [3]);
        assert_eq!(matched("[2001:db8::1]:*>*/tcp"), [4]);
        for (ix, flow) in flows.iter().enumerate() {
            assert_eq!(matched(flow), [ix]);
            assert!(flow.parse::<FlowPattern>().unwrap().is_one());
        }
        for wrong in ["*", "*>*", "*:x>*/tcp", "*>*/nope", "10.0.0.*>*/tcp", "1.2.3.4:*:5>*/*"] {
            assert_eq!(wrong.parse::<FlowPattern>(), Err(NotAFlow), "{wrong}");
        }
    }

    #[test]
    fn texts_round_trip() {
        for text in [
            "10.0.0.1:5001>10.0.0.2:80/tcp",
            "[2001:db8::1]:5001>[2001:db8::2]:80/udp",
            "10.0.0.1>10.0.0.2/icmp",
            "fe80::1>ff02::1/icmp6",
            "10.0.0.1>10.0.0.2/112",
            "10.0.0.1>10.0.0.2/udp",
            "other",
        ] {
            assert_eq!(text.parse::<FiveTuple>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "10.0.0.1:1>10.0.0.2/tcp",
            "10.0.0.1:1>10.0.0.2:70000/tcp",
            "10.0.0.1:1>10.0.0.2:2/icmp",
            "10.0.0.1:1>[::1]:2/tcp",
            "[fe80::1%1]:1>[::1]:2/tcp",
            "10.0.0.1>10.0.0.2/300",
            "10.0.0.1>10.0.0.2",
        ] {
            assert_eq!(text.parse::<FiveTuple>(), Err(NotAFlow), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_tuple_round_trips(
            six: bool, source: u128, destination: u128, with in proptest::option::of(any::<(u16, u16)>()), protocol: u8,
        ) {
            let address = |bits: u128| -> IpAddr {
                if six { IpAddr::V6(bits.into()) } else { IpAddr::V4((bits as u32).into()) }
            };
            let ports = with.filter(|_| has_ports(protocol));
            let flow = FiveTuple::Ip { source: address(source), destination: address(destination), ports, protocol };
            prop_assert_eq!(flow.to_string().parse::<FiveTuple>(), Ok(flow));
        }

        #[test]
        fn no_text_panics(text in "[0-9a-f:.>/\\[\\]%tcpother]{0,40}") {
            let _ = text.parse::<FiveTuple>();
        }
    }
}
