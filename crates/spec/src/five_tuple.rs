//! One flow in a capture: `udp 10.0.0.1:5004 -> 10.0.0.2:5004`.

use crate::error::Complaint;
use crate::suggest::brief;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Protocol, source and destination of packets; ports are 0 where the protocol has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address and port.
    pub from: SocketAddr,
    /// Destination address and port.
    pub to: SocketAddr,
}

/// Protocols that have a name here, as numbered by IANA.
const PROTOCOLS: &[(&str, u8)] =
    &[("icmp", 1), ("tcp", 6), ("udp", 17), ("gre", 47), ("icmpv6", 58), ("sctp", 132)];

impl FiveTuple {
    /// Reads `PROTOCOL FROM -> TO`: the protocol by its name or number, addresses as `10.0.0.1:80`,
    /// `[2001:db8::1]:80`, or without a port.
    ///
    /// # Errors
    /// When the text is anything else, or the two addresses are of different families.
    pub fn parse(text: &str) -> Result<FiveTuple, Complaint> {
        let wrong = |what: String| {
            Complaint::new(what).help("write a flow of a capture as in `udp 10.0.0.1:5004 -> 10.0.0.2:5004`")
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [protocol, from, "->", to] = words[..] else {
            return Err(wrong(format!("`{}` is no flow of a capture", brief(text))));
        };
        let named = PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(protocol));
        let Some(protocol) = named.map(|(_, number)| *number).or_else(|| protocol.parse().ok()) else {
            return Err(wrong(format!("there is no protocol `{}`", brief(protocol))));
        };
        let address = |text: &str| {
            let without_port = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0));
            let parsed = text.parse().or_else(|_| without_port());
            parsed.map_err(|_| wrong(format!("`{}` is no address", brief(text))))
        };
        let (from, to) = (address(from)?, address(to)?);
        if from.is_ipv4() != to.is_ipv4() {
            return Err(wrong(format!("`{}` mixes IPv4 and IPv6", brief(text))));
        }
        Ok(FiveTuple { protocol, from, to })
    }
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match PROTOCOLS.iter().find(|(_, number)| *number == self.protocol) {
            Some((name, _)) => f.write_str(name)?,
            None => write!(f, "{}", self.protocol)?,
        }
        write!(f, " {} -> {}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_read_and_shown() {
        for text in [
            "udp 10.0.0.1:5004 -> 10.0.0.2:5004",
            "tcp [2001:db8::1]:80 -> [2001:db8::2]:4000",
            "200 1.2.3.4:0 -> 1.2.3.5:0",
        ] {
            assert_eq!(FiveTuple::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(FiveTuple::parse("icmp 1.2.3.4 -> 1.2.3.5").unwrap().from.port(), 0);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "udp",
            "udp 1.2.3.4:5 > 1.2.3.4:6",
            "xyz 1.2.3.4:5 -> 1.2.3.4:6",
            "udp 1.2.3:5 -> 1.2.3.4:6",
            "udp 1.2.3.4:5 -> [::1]:6",
            "300 1.2.3.4:5 -> 1.2.3.4:6",
        ] {
            assert!(FiveTuple::parse(text).is_err(), "{text}");
        }
    }
}
