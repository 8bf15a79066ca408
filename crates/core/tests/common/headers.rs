//! Headers of packets, as a classifier sees them.

use tidegate_core::headers::{Fragment, Headers, Ip};

/// A UDP packet of the host whose IPv4 address is this number, from this port to port 80 of
/// 127.0.0.1.
pub fn from_host(host: u32, port: u16) -> Headers {
    let ip = Ip {
        source: std::net::Ipv4Addr::from_bits(host).into(),
        destination: std::net::Ipv4Addr::LOCALHOST.into(),
        protocol: 17,
        dscp: 0,
        ecn: 0,
        fragment: Fragment::Whole,
        ports: Some((port, 80)),
    };
    Headers { ip: Some(ip), ..Headers::default() }
}
