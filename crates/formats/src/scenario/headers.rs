//! The headers of a flow's packets, as a gate reads them.

use crate::error::{Complaint, Place, Report};
use crate::keys::flow as keys;
use crate::suggest::brief;
use std::net::IpAddr;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::headers::{Fragment, Headers, Ip, Vlan};

/// The headers of a flow's packets, and the differences between its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadersSpec {
    first: FiveTuple,
    dscp: u8,
    vlan: Option<u16>,
    each: Each,
    /// The direction in which the flow passes the gate.
    direction: Direction,
}

impl HeadersSpec {
    /// Reads the `headers` of `count` flows that pass a gate in a direction. `None` after something
    /// was reported.
    pub(super) fn read(
        headers: &keys::Headers,
        count: u32,
        direction: Direction,
        report: &mut Report,
    ) -> Option<HeadersSpec> {
        let keys::Headers { flow: text, dscp, vlan, each } = headers;
        let Ok(first) = text.parse::<FiveTuple>() else {
            let complaint = Complaint::new(format!("`{}` is not a flow", brief(text)))
                .help("write it as in 10.0.0.1:5004>192.0.2.1:5060/udp, 10.0.0.1>192.0.2.1/icmp or other");
            report.add(text.place, complaint);
            return None;
        };
        let spec = HeadersSpec { first, dscp: **dscp, vlan: **vlan, each: **each, direction };
        spec.check(headers, count, report)?;
        Some(spec)
    }

    /// The headers of packets in the reverse direction: both ends are exchanged.
    pub(super) fn reversed(self) -> HeadersSpec {
        let first = match self.first {
            FiveTuple::Ip { source, destination, ports, protocol } => FiveTuple::Ip {
                source: destination,
                destination: source,
                ports: ports.map(|(from, to)| (to, from)),
                protocol,
            },
            FiveTuple::Other => FiveTuple::Other,
        };
        HeadersSpec { first, direction: self.direction.opposite(), ..self }
    }

    fn check(&self, headers: &keys::Headers, count: u32, report: &mut Report) -> Option<()> {
        let mut add = |place: Place, message: String| report.add(place, Complaint::new(message));
        if self.first == FiveTuple::Other && headers.dscp.given {
            add(headers.dscp.place, "only IP packets have a DSCP".to_owned());
            return None;
        }
        if self.member(count - 1).is_some() {
            return Some(());
        }
        let what = match (self.first, self.each) {
            (FiveTuple::Other, _) => "only IP packets have an address to count up".to_owned(),
            (FiveTuple::Ip { ports: None, .. }, Each::FiveTuple) => {
                "it has no port to be counted up".to_owned()
            }
            _ => format!("{count} of them, counted up from {}, do not fit", self.first),
        };
        add(if headers.each.given { headers.each.place } else { headers.flow.place }, what);
        None
    }

    /// The headers of the member with this number, from 0; `None` when counting up ends before it.
    pub fn member(&self, member: u32) -> Option<Headers> {
        let vlans = [self.vlan.map(|id| Vlan { id, priority: 0 }), None];
        let FiveTuple::Ip { mut source, mut destination, mut ports, protocol } = self.first else {
            return (member == 0).then_some(Headers { vlans, ..Headers::default() });
        };
        let up = self.direction == Direction::Up;
        match self.each {
            Each::FiveTuple if member > 0 => {
                let (from, to) = ports.as_mut()?;
                let inside = if up { from } else { to };
                *inside = inside.checked_add(u16::try_from(member).ok()?)?;
            }
            each => {
                let inside = if up { &mut source } else { &mut destination };
                *inside = counted_up(*inside, each, member)?;
            }
        }
        let ip =
            Ip { source, destination, protocol, dscp: self.dscp, ecn: 0, fragment: Fragment::Whole, ports };
        Some(Headers { ip: Some(ip), vlans, ..Headers::default() })
    }
}

fn counted_up(first: IpAddr, each: Each, by: u32) -> Option<IpAddr> {
    Some(match (first, each) {
        (IpAddr::V4(first), _) => IpAddr::V4(first.to_bits().checked_add(by)?.into()),
        (IpAddr::V6(first), Each::Subscriber) => {
            IpAddr::V6(first.to_bits().checked_add(u128::from(by) << 64)?.into())
        }
        (IpAddr::V6(first), _) => IpAddr::V6(first.to_bits().checked_add(u128::from(by))?.into()),
    })
}
