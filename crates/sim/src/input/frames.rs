//! A capture's packets as a gate would see them: Ethernet frames, told apart by all that it looks at.

use std::collections::BTreeMap;
use std::fmt::Write;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::headers::{Headers, LinkType};

/// What a gate can tell packets apart by.
type Look = (FiveTuple, Option<u8>, [Option<u16>; 2]);

/// Flows of frames, numbered by their first appearance.
#[derive(Default)]
pub(super) struct Frames {
    numbers: BTreeMap<Look, u32>,
    first: Vec<Headers>,
}

impl Frames {
    pub(super) fn number(&mut self, headers: &Headers) -> u32 {
        let next = u32::try_from(self.first.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(look(headers)).or_insert(next);
        if number == next {
            self.first.push(*headers);
        }
        number
    }

    /// The headers of the flow's first packet: the others look the same to a gate.
    pub(super) fn headers(&self, number: usize) -> Headers {
        self.first[number]
    }

    /// The 5-tuple and, where there are any, the DSCP and the tags: `10.0.0.1:1>10.0.0.2:2/udp,dscp=46,vlan=7`.
    pub(super) fn name(&self, number: usize) -> String {
        let (flow, dscp, vlans) = look(&self.first[number]);
        let mut name = flow.to_string();
        if let Some(dscp) = dscp.filter(|dscp| *dscp > 0) {
            // Writing to a string never fails.
            let _ = write!(name, ",dscp={dscp}");
        }
        for vlan in vlans.into_iter().flatten() {
            let _ = write!(name, ",vlan={vlan}");
        }
        name
    }
}

fn look(headers: &Headers) -> Look {
    let vlans = headers.vlans.map(|vlan| vlan.map(|vlan| vlan.id));
    (FiveTuple::of(headers), headers.ip.map(|ip| ip.dscp), vlans)
}

/// The length of an Ethernet frame that carries what a packet of `size` bytes on such a link does.
pub(super) fn length(link: LinkType, size: u32) -> u32 {
    const ETHERNET: u32 = 14;
    let header = match link {
        LinkType::Ethernet => ETHERNET,
        LinkType::RawIp => 0,
        LinkType::LinuxSll => 16,
        LinkType::LinuxSll2 => 20,
        LinkType::BsdLoopback => 4,
    };
    (size.saturating_add(ETHERNET)).saturating_sub(header)
}
