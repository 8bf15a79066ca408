//! `flower`: fields of headers by name.

use super::criteria::{Criteria, Family};
use crate::error::FormatErrors;
use crate::suggest::brief;
use crate::tc::entry::Entry;
use crate::tc::value::Value;
use tidegate_core::classifier::protocol_number;
use tidegate_core::classifier::rules::Prefix;

/// Reads the keys of a filter. `Err` within is the reason why a gate has no counterpart.
pub(super) fn read(
    options: &mut Entry,
    family: Result<Family, String>,
) -> Result<Result<Criteria, String>, FormatErrors> {
    let mut keys = options.inner("keys")?;
    options.end()?;
    let eth_type = keys.text("eth_type")?;
    let vlan_type = keys.text("vlan_ethtype")?;
    let family = match (family, eth_type.as_deref().or(vlan_type.as_deref())) {
        (Ok(_), Some("ipv4" | "ip")) => Ok(Family::V4),
        (Ok(_), Some("ipv6")) => Ok(Family::V6),
        (Ok(_), Some("arp")) => Ok(Family::Other(0x0806)),
        (Ok(_), Some(other)) => Err(format!("a gate has no counterpart of `eth_type {}`", brief(other))),
        (family, _) => family,
    };
    let any_vlan = family == Ok(Family::Vlan);
    let criteria = match family {
        Err(why) => Err(why),
        Ok(family) => fields(&mut keys, family)?,
    };
    Ok(match (criteria, keys.rest().next()) {
        (Ok(_), Some(key)) => Err(format!("a gate has no counterpart of `{}`", brief(key))),
        (Ok(criteria), None) if any_vlan && criteria.vlan.is_none() => {
            Err("a gate has no counterpart of any VLAN tag".to_owned())
        }
        (criteria, _) => criteria,
    })
}

fn fields(keys: &mut Entry, family: Family) -> Result<Result<Criteria, String>, FormatErrors> {
    let mut criteria = Criteria::of(family);
    let mut without = None;
    for (at, side) in ["src", "dst"].into_iter().enumerate() {
        if let Some(text) = keys.text(&format!("{side}_ip"))? {
            match text.parse::<Prefix>() {
                Ok(prefix) => {
                    criteria.addresses[at] = Some(prefix);
                    criteria.ethertype = None;
                }
                Err(_) => without = Some(format!("`{}` is not a prefix", brief(&text))),
            }
        }
        let name = format!("{side}_port");
        criteria.ports[at] = match keys.take(&name) {
            None => None,
            Some(Value::Number(port)) if port.fract() == 0.0 && (0.0..=65535.0).contains(&port) => {
                Some((port as u16, port as u16))
            }
            Some(Value::Number(_)) => return keys.at.refuse(format!("`{name}` is not a port")),
            Some(Value::Object(range)) => {
                let mut range = Entry::new(keys.at.clone(), range);
                let ends = (range.count("start")?, range.count("end")?);
                range.end()?;
                match ends {
                    (Some(first), Some(last)) if first <= last && last <= 0xffff => {
                        Some((first as u16, last as u16))
                    }
                    _ => return keys.at.refuse(format!("`{name}` is not a range of ports")),
                }
            }
            Some(_) => {
                without = Some(format!("`{name}` has a mask"));
                None
            }
        };
        if let Some(mac) = keys.text(&format!("{side}_mac"))? {
            match mac.contains('/') {
                true => without = Some(format!("`{side}_mac` has a mask")),
                false => criteria.macs[at] = Some(mac),
            }
        }
    }
    if let Some(name) = keys.text("ip_proto")? {
        match protocol_number(&name) {
            Ok(number) => criteria.protocol = Some(number),
            Err(_) => without = Some(format!("`{}` is not a protocol", brief(&name))),
        }
    }
    if let Some(tos) = keys.take("ip_tos") {
        let mask = keys.take("ip_tos_mask");
        match (byte(&tos), mask.map_or(Some(0xff), |mask| in_hexadecimal(&mask))) {
            (Some(tos), Some(0xfc)) => criteria.dscp.push(tos >> 2),
            (Some(_), Some(_)) => {
                without = Some("it looks at other bits than those of the codepoint".to_owned())
            }
            _ => return keys.at.refuse("`ip_tos` is not a byte"),
        }
    }
    criteria.vlan = match keys.count("vlan_id")? {
        Some(vlan) if vlan > 4095 => return keys.at.refuse("`vlan_id` is not from 0 to 4095"),
        vlan => vlan.map(|vlan| vlan as u16),
    };
    Ok(without.map_or(Ok(criteria), Err))
}

/// A byte: a number, or text as `0xb8`.
fn byte(value: &Value) -> Option<u8> {
    match value {
        Value::Number(number) => Some(*number as u8).filter(|byte| f64::from(*byte) == *number),
        Value::Text(_) => in_hexadecimal(value),
        _ => None,
    }
}

/// A byte in text of hexadecimal digits, as `tc` prints masks.
fn in_hexadecimal(value: &Value) -> Option<u8> {
    match value {
        Value::Text(text) => u8::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        _ => byte(value),
    }
}
