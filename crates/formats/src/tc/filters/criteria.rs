//! Conditions of a filter, by source and destination.

use crate::suggest::brief;
use std::fmt::Display;
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::classifier::{protocol_names, protocol_number};
use toml_edit::Value;

/// The frames that a filter's `protocol` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tc) enum Family {
    /// Any frame.
    All,
    V4,
    V6,
    /// A frame with a VLAN tag.
    Vlan,
    /// Another type of frame.
    Other(u16),
}

impl Family {
    /// The family of a protocol, as `tc` prints it.
    pub(super) fn of(protocol: &str) -> Result<Family, String> {
        let number = |text: &str| text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
        match protocol {
            "all" => Ok(Family::All),
            "ip" => Ok(Family::V4),
            "ipv6" => Ok(Family::V6),
            "802.1Q" => Ok(Family::Vlan),
            "arp" => Ok(Family::Other(0x0806)),
            _ => number(protocol)
                .filter(|number| *number >= 0x0600)
                .map(Family::Other)
                .ok_or_else(|| format!("a gate has no counterpart of protocol `{}`", brief(protocol))),
        }
    }
}

/// The packets for which everything holds that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tc) struct Criteria {
    pub(in crate::tc) ethertype: Option<u16>,
    /// Addresses of the source and the destination.
    pub(in crate::tc) addresses: [Option<Prefix>; 2],
    /// Ports, from the first to the last.
    pub(in crate::tc) ports: [Option<(u16, u16)>; 2],
    pub(in crate::tc) macs: [Option<String>; 2],
    pub(in crate::tc) protocol: Option<u8>,
    pub(in crate::tc) vlan: Option<u16>,
    /// One of these codepoints; any if there are none.
    pub(in crate::tc) dscp: Vec<u8>,
}

impl Criteria {
    /// All packets of a family.
    pub(super) fn of(family: Family) -> Criteria {
        let ethertype = match family {
            Family::All | Family::Vlan => None,
            Family::V4 => Some(0x0800),
            Family::V6 => Some(0x86dd),
            Family::Other(number) => Some(number),
        };
        Criteria { ethertype, ..Criteria::default() }
    }

    /// The table under `match` in one direction.
    pub(in crate::tc) fn in_toml(&self, direction: Direction) -> String {
        let mut keys = vec![format!("direction = \"{}\"", direction.name())];
        let sides = match direction {
            Direction::Up => ["inside", "outside"],
            Direction::Down => ["outside", "inside"],
        };
        let text = |text: &dyn Display| Value::from(text.to_string()).to_string();
        for (at, side) in sides.into_iter().enumerate() {
            if let Some(prefix) = self.addresses[at] {
                keys.push(format!("{side} = {}", text(&prefix)));
            }
            match self.ports[at] {
                None => {}
                Some((first, last)) if first == last => keys.push(format!("{side}_port = {first}")),
                Some((first, last)) => keys.push(format!("{side}_port = \"{first}-{last}\"")),
            }
            if let Some(mac) = &self.macs[at] {
                keys.push(format!("{side}_mac = {}", text(mac)));
            }
        }
        if let Some(number) = self.protocol {
            let name = protocol_names().find(|name| protocol_number(name) == Ok(number));
            keys.push(format!("protocol = {}", text(&name.map_or(number.to_string(), str::to_owned))));
        }
        match self.dscp.as_slice() {
            [] => {}
            [one] => keys.push(format!("dscp = {one}")),
            several => keys.push(format!("dscp = {several:?}")),
        }
        if let Some(vlan) = self.vlan {
            keys.push(format!("vlan = {vlan}"));
        }
        if let Some(number) = self.ethertype {
            keys.push(match number {
                0x0800 => "ethertype = \"ipv4\"".to_owned(),
                0x86dd => "ethertype = \"ipv6\"".to_owned(),
                0x0806 => "ethertype = \"arp\"".to_owned(),
                _ => format!("ethertype = \"{number:#06x}\""),
            });
        }
        format!("{{ {} }}", keys.join(", "))
    }
}
