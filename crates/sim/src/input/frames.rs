//! A capture's packets as a gate would see them: Ethernet frames, distinguished by all fields that
//! it reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::ethertypes::MIN_ETHERTYPE;
use tidegate_core::headers::{Headers, Ip, LinkType, Macs};

/// Header fields by which a gate distinguishes packets, MAC addresses aside.
type Look = (FiveTuple, Option<u8>, [Option<u16>; 2], Option<u16>);

/// Flows of frames, numbered by their first appearance.
#[derive(Default)]
pub(super) struct Frames {
    numbers: BTreeMap<(Look, Option<Macs>), u32>,
    /// Number of flows that differ only in their MAC addresses.
    alike: BTreeMap<Look, u32>,
    /// Headers of each flow's first packet, and the number of earlier flows that look alike.
    first: Vec<(Headers, u32)>,
}

impl Frames {
    pub(super) fn number(&mut self, headers: &Headers) -> u32 {
        let next = u32::try_from(self.first.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry((look(headers), headers.macs)).or_insert(next);
        if number == next {
            let alike = self.alike.entry(look(headers)).or_default();
            self.first.push((*headers, *alike));
            *alike += 1;
        }
        number
    }

    /// Returns the headers of the flow's first packet: the others look the same to a gate.
    pub(super) fn headers(&self, number: usize) -> Headers {
        self.first[number].0
    }

    /// Returns the 5-tuple and, if present, the DSCP and the tags:
    /// `10.0.0.1:1>10.0.0.2:2/udp,dscp=46,vlan=7`. A frame that is not plain IP adds its EtherType,
    /// or `802.3` if it has a length. Of flows that look alike, all but the first add the MAC
    /// addresses.
    pub(super) fn name(&self, number: usize) -> String {
        let (headers, alike) = &self.first[number];
        let (flow, dscp, vlans, ethertype) = look(headers);
        let mut name = flow.to_string();
        if let Some(dscp) = dscp.filter(|dscp| *dscp > 0) {
            // Writing to a string never fails.
            let _ = write!(name, ",dscp={dscp}");
        }
        for vlan in vlans.into_iter().flatten() {
            let _ = write!(name, ",vlan={vlan}");
        }
        let _ = match ethertype {
            None => Ok(()),
            Some(LENGTH) => write!(name, ",802.3"),
            Some(ethertype) => write!(name, ",ethertype={ethertype:#06x}"),
        };
        if let Some(macs) = headers.macs.filter(|_| *alike > 0) {
            let _ = write!(name, ",mac={}>{}", macs.source, macs.destination);
        }
        name
    }
}

fn look(headers: &Headers) -> Look {
    let vlans = headers.vlans.map(|vlan| vlan.map(|vlan| vlan.id));
    (FiveTuple::of(headers), headers.ip.map(|ip| ip.dscp), vlans, ethertype(headers))
}

/// Stands for the length of an 802.3 frame: a gate does not read it.
const LENGTH: u16 = 0;

/// Returns the EtherType of a frame that is not plain IP.
fn ethertype(headers: &Headers) -> Option<u16> {
    let plain = |ip: Ip| if ip.source.is_ipv4() { 0x0800 } else { 0x86dd };
    let other = headers.ethertype.filter(|kind| headers.ip.map(plain) != Some(*kind));
    other.map(|kind| if kind < MIN_ETHERTYPE { LENGTH } else { kind })
}

/// Returns the bytes of the link header of a capture.
pub(super) fn link_header(link: LinkType) -> u32 {
    match link {
        LinkType::Ethernet => ETHERNET,
        LinkType::RawIp => 0,
        LinkType::LinuxSll => 16,
        LinkType::LinuxSll2 => 20,
        LinkType::BsdLoopback => 4,
    }
}

/// Returns the length of an Ethernet frame with the payload of a packet of `size` bytes on such a
/// link.
pub(super) fn length(link: LinkType, size: u32) -> u32 {
    (size.saturating_add(ETHERNET)).saturating_sub(link_header(link))
}

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: u32 = 14;
