//! Traffic that no rule of a gate file matches, and its share of the link.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::headers::{Fragment, Headers, Ip};
use tidegate_formats::GateFile;
use tidegate_formats::units::show_rate;

/// IANA number of TCP.
const TCP: u8 = 6;

/// Warnings about traffic that no rule matches, at most one per direction.
pub(crate) fn warnings(file: &GateFile) -> Vec<String> {
    let of = |direction: Direction| {
        let name = direction.name();
        let reserve = file.rest(direction).contract.reserve;
        let share = reserve.map_or_else(
            || "gets what is left".to_owned(),
            |rate| {
                format!(
                    "shares {} with everything else that matches none",
                    show_rate(rate.bits_per_second().round() as u64)
                )
            },
        );
        let [ipv4, ipv6] = [ipv4(), ipv6()].map(|headers| matches(file, &headers, direction));
        let missing = match (ipv4, ipv6) {
            (true, false) => Some(("IPv6", "::/0")),
            (false, true) => Some(("IPv4", "0.0.0.0/0")),
            _ => None,
        };
        missing.map(|(version, prefix)| {
            format!(
                "{name}: {version} that matches no flow {share}; add a flow with match = {{ inside = \"{prefix}\" }}"
            )
        })
    };
    Direction::BOTH.into_iter().filter_map(of).collect()
}

/// Returns true if any flow of the file takes packets with these headers.
fn matches(file: &GateFile, headers: &Headers, direction: Direction) -> bool {
    file.flows.iter().any(|flow| flow.circuits.is_none() && flow.matching.matches(headers, direction))
}

/// Headers of a TCP packet whose addresses and ports no file is likely to name.
fn ipv4() -> Headers {
    let address = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77));
    between(address, address)
}

fn ipv6() -> Headers {
    let address = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x7777, 0, 0, 0, 0, 0x77));
    between(address, address)
}

fn between(source: IpAddr, destination: IpAddr) -> Headers {
    let ip = Ip {
        source,
        destination,
        protocol: TCP,
        dscp: 0,
        ecn: 0,
        ports: Some((61_777, 61_778)),
        fragment: Fragment::Whole,
    };
    Headers { ip: Some(ip), ..Headers::default() }
}

#[cfg(test)]
#[path = "unmatched_tests.rs"]
mod tests;
