//! `u32`: bits of headers, as words with masks.

use super::criteria::{Criteria, Family};
use crate::error::FormatErrors;
use crate::suggest::brief;
use crate::tc::entry::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tidegate_core::classifier::rules::Prefix;

/// Bytes that are looked at: an IPv6 header, and ports behind it.
const BYTES: usize = 44;
/// The bucket of the lists of filters, which are tables of one bucket that the kernel has made.
const ROOT_BUCKET: &str = "0";
/// The first number of a table that the kernel has made.
const FIRST_LIST: u32 = 0x800;

/// Reads the keys of a filter. `Err` within is the reason why a gate has no counterpart.
pub(super) fn read(
    options: &mut Entry,
    family: Result<Family, String>,
    notes: &mut Vec<String>,
) -> Result<Result<Criteria, String>, FormatErrors> {
    let in_table = options.text("key_ht")?.is_some_and(|table| !is_list(&table))
        | options.text("bkt")?.is_some_and(|bucket| bucket != ROOT_BUCKET)
        | options.text("link")?.is_some();
    let hashes = options.take("hash_mask").is_some() | options.take("hash_off").is_some();
    let mut bits = Bits::default();
    let mut outside = None;
    let start = match family {
        Ok(Family::V6) => 40,
        _ => 20,
    };
    while let Some(key) = options.has("match").then(|| options.inner("match")) {
        let mut key = key?;
        let mut hex = |name: &str| -> Result<u32, FormatErrors> {
            let text = key.needed_text(name)?;
            match u32::from_str_radix(&text, 16) {
                Ok(word) => Ok(word),
                Err(_) => {
                    key.at.refuse(format!("`{name}` (`{}`) is not a word in hexadecimal", brief(&text)))
                }
            }
        };
        let (value, mask) = (hex("value")?, hex("mask")?);
        let relative = key.text("offmask")?.unwrap_or_default();
        let at = key.whole("off", i64::MIN + 1)?.unwrap_or_default();
        key.end()?;
        let at = if relative.is_empty() { at } else { at + start };
        match usize::try_from(at).ok().filter(|at| at.is_multiple_of(4) && at + 4 <= BYTES) {
            _ if mask == 0 => {}
            Some(at) => bits.add(at, value, mask),
            None => outside = Some(format!("it looks at byte {at} of a packet")),
        }
    }
    options.end()?;
    Ok(match (family, outside) {
        (Err(why), _) | (_, Some(why)) => Err(why),
        _ if in_table || hashes => Err("it belongs to a hash table".to_owned()),
        (Ok(family), None) => bits.criteria(family, notes),
    })
}

/// True for the number of a list of filters, which is no hash table of the user's.
fn is_list(table: &str) -> bool {
    u32::from_str_radix(table, 16).is_ok_and(|number| number >= FIRST_LIST)
}

/// The bits of a packet that a filter looks at.
struct Bits {
    value: [u8; BYTES],
    mask: [u8; BYTES],
}

impl Default for Bits {
    fn default() -> Bits {
        Bits { value: [0; BYTES], mask: [0; BYTES] }
    }
}

impl Bits {
    fn add(&mut self, at: usize, value: u32, mask: u32) {
        for (byte, (value, mask)) in value.to_be_bytes().into_iter().zip(mask.to_be_bytes()).enumerate() {
            self.value[at + byte] |= value & mask;
            self.mask[at + byte] |= mask;
        }
    }

    /// Takes a field of `bits` bits from bit `from` on: its value and its mask.
    fn take(&mut self, from: usize, bits: usize) -> (u128, u128) {
        let (mut value, mut mask) = (0, 0);
        for bit in from..from + bits {
            let (byte, place) = (bit / 8, 0x80 >> (bit % 8));
            value = value << 1 | u128::from(self.value[byte] & place != 0);
            mask = mask << 1 | u128::from(self.mask[byte] & place != 0);
            self.mask[byte] &= !place;
        }
        (value, mask)
    }

    /// A field that is compared whole or not at all.
    fn whole(&mut self, from: usize, bits: usize, name: &str) -> Result<Option<u128>, String> {
        match self.take(from, bits) {
            (_, 0) => Ok(None),
            (value, mask) if mask == all(bits) => Ok(Some(value)),
            _ => Err(format!("it compares a part of the {name}")),
        }
    }

    /// A field of which the first bits are compared: its value, and the number of the other ones.
    fn leading(&mut self, from: usize, bits: usize, name: &str) -> Result<Option<(u128, usize)>, String> {
        let (value, mask) = self.take(from, bits);
        let free = (mask.trailing_zeros() as usize).min(bits);
        match mask {
            0 => Ok(None),
            _ if mask == all(bits) & !all(free) => Ok(Some((value, free))),
            _ => Err(format!("the mask of the {name} has gaps")),
        }
    }

    fn criteria(mut self, family: Family, notes: &mut Vec<String>) -> Result<Criteria, String> {
        if self.mask == [0; BYTES] {
            return Ok(Criteria::of(family));
        }
        let is_v6 = match family {
            // The words of `match ip` are those of IPv4 whatever the protocol is.
            Family::V4 | Family::All => false,
            Family::V6 => true,
            Family::Vlan | Family::Other(_) => return Err("it looks into frames that are not IP".to_owned()),
        };
        let (version, class, next, ports) = if is_v6 { (6, 4, 48, 320) } else { (4, 8, 72, 160) };
        let (sources, width) = if is_v6 { (64, 128) } else { (96, 32) };
        if self.whole(0, 4, "version")?.is_some_and(|found| found != version) {
            return Err("it asks for another version of IP".to_owned());
        }
        // A header without options: a gate finds the ports in any case.
        if !is_v6 && self.whole(4, 4, "header length")?.is_some_and(|length| length != 5) {
            return Err("it asks for options in the header".to_owned());
        }
        let mut criteria = Criteria::of(if is_v6 { Family::V6 } else { Family::V4 });
        criteria.dscp.extend(self.whole(class, 6, "codepoint")?.map(|dscp| dscp as u8));
        if self.take(class + 6, 2).1 != 0 {
            match criteria.dscp.is_empty() {
                true => return Err("it looks at the bits of ECN".to_owned()),
                false => notes.push("it compares the bits of ECN, too, which are left out".to_owned()),
            }
        }
        criteria.protocol = self.whole(next, 8, "protocol")?.map(|number| number as u8);
        for (side, name) in ["source", "destination"].into_iter().enumerate() {
            criteria.addresses[side] = self
                .leading(sources + side * width, width, &format!("{name} address"))?
                .and_then(|(value, free)| prefix(value, width, free));
            criteria.ports[side] = self
                .leading(ports + side * 16, 16, &format!("{name} port"))?
                .map(|(value, free)| (value as u16, (value | all(free)) as u16));
        }
        if let Some(byte) = self.mask.iter().position(|mask| *mask != 0) {
            return Err(format!("it looks at byte {byte} of a packet"));
        }
        // Addresses say which version it is.
        if criteria.addresses != [None; 2] {
            criteria.ethertype = None;
        }
        Ok(criteria)
    }
}

/// Ones in the last `bits` bits.
fn all(bits: usize) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

fn prefix(value: u128, width: usize, free: usize) -> Option<Prefix> {
    let address = match width {
        32 => IpAddr::V4(Ipv4Addr::from_bits(value as u32)),
        _ => IpAddr::V6(Ipv6Addr::from_bits(value)),
    };
    format!("{address}/{}", width - free).parse().ok()
}
