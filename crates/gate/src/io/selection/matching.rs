//! The tests of a rule on the fields that a program has read.

use super::assembler::{Assembler, Label, Size, Test};
use super::fields::{Version, word};
use std::net::IpAddr;
use tidegate_core::classifier::matching::{Match, PortRange};
use tidegate_core::classifier::rules::{Direction, Prefix};
use tidegate_core::headers::MacAddress;

/// Offset of the link header.
const LINK: u32 = libc::SKF_LL_OFF as u32;

/// The tests of a rule on the fields in the scratch memory.
pub(super) struct Matching<'c> {
    pub(super) code: &'c mut Assembler,
    pub(super) direction: Direction,
    pub(super) version: Version,
}

impl Matching<'_> {
    /// Goes to `fail` unless the frame matches.
    pub(super) fn go_unless(&mut self, matching: &Match, fail: Label) {
        let Match {
            inside,
            outside,
            inside_mac,
            outside_mac,
            inside_port,
            outside_port,
            port,
            protocol,
            dscp,
            ethertype,
            vlan,
            direction,
            except,
        } = matching;
        let own_ethertype = ethertype.is_empty() || ethertype.contains(&self.version.ethertype());
        if direction.is_some_and(|only| only != self.direction) || !own_ethertype {
            self.code.go_to(fail);
            return;
        }
        let up = self.direction == Direction::Up;
        let turned = |source, destination| if up { (source, destination) } else { (destination, source) };
        let numbers = |list: &[u8]| list.iter().map(|number| PortRange::from(u16::from(*number))).collect();
        let same = |list: &[u16]| list.iter().map(|number| PortRange::from(*number)).collect();
        let (inside_word, outside_word) = turned(word::SOURCE_PORT, word::DESTINATION_PORT);
        let ranges: [(Vec<PortRange>, &[u32]); 6] = [
            (numbers(protocol), &[word::IP_PROTOCOL]),
            (numbers(dscp), &[word::DSCP]),
            (port.clone(), &[inside_word, outside_word]),
            (inside_port.clone(), &[inside_word]),
            (outside_port.clone(), &[outside_word]),
            (same(vlan), &[word::OUTER_VLAN, word::INNER_VLAN]),
        ];
        for (ranges, words) in ranges {
            self.within(&ranges, words, fail);
        }
        let (inside_word, outside_word) = turned(word::SOURCE, word::DESTINATION);
        self.among(inside, inside_word, fail);
        self.among(outside, outside_word, fail);
        let (inside_at, outside_at) = turned(LINK + 6, LINK);
        self.sent_by(inside_mac, inside_at, fail);
        self.sent_by(outside_mac, outside_at, fail);
        if let Some(except) = except {
            let passed = self.code.label();
            self.go_unless(except, passed);
            self.code.go_to(fail);
            self.code.place(passed);
        }
    }

    /// Goes to `fail` unless one of the fields is in one of the ranges, or there is no range.
    fn within(&mut self, ranges: &[PortRange], words: &[u32], fail: Label) {
        if ranges.is_empty() {
            return;
        }
        let found = self.code.label();
        for field in words {
            self.code.kept(*field);
            for range in ranges {
                let (first, last) = (u32::from(range.first()), u32::from(range.last()));
                if first == last {
                    self.code.go_if(Test::Equal, first, found);
                } else {
                    let next = self.code.label();
                    self.code.go_unless(Test::AtLeast, first, next);
                    self.code.go_unless(Test::Above, last, found);
                    self.code.place(next);
                }
            }
        }
        self.code.go_to(fail);
        self.code.place(found);
    }

    /// Goes to `fail` unless the address is in one of the prefixes, or there is no prefix.
    fn among(&mut self, prefixes: &[Prefix], first_word: u32, fail: Label) {
        if prefixes.is_empty() {
            return;
        }
        let found = self.code.label();
        for prefix in prefixes {
            let bits = match (prefix.address(), self.version) {
                (IpAddr::V4(address), Version::Four) => u128::from(address.to_bits()) << 96,
                (IpAddr::V6(address), Version::Six) => address.to_bits(),
                _ => continue,
            };
            let next = self.code.label();
            for ix in 0..u32::from(prefix.length()).div_ceil(32) {
                let own = u32::from(prefix.length()) - 32 * ix;
                self.code.kept(first_word + ix);
                if own < 32 {
                    self.code.operate(libc::BPF_AND, u32::MAX << (32 - own));
                }
                self.code.go_unless(Test::Equal, (bits >> (96 - 32 * ix)) as u32, next);
            }
            self.code.go_to(found);
            self.code.place(next);
        }
        self.code.go_to(fail);
        self.code.place(found);
    }

    /// Goes to `fail` unless the MAC address at this offset is one of these, or there are none.
    fn sent_by(&mut self, addresses: &[MacAddress], at: u32, fail: Label) {
        if addresses.is_empty() {
            return;
        }
        let found = self.code.label();
        for MacAddress([a, b, c, d, e, f]) in addresses {
            let next = self.code.label();
            self.code.load(Size::Word, at);
            self.code.go_unless(Test::Equal, u32::from_be_bytes([*a, *b, *c, *d]), next);
            self.code.load(Size::Half, at + 4);
            self.code.go_unless(Test::Equal, u32::from(u16::from_be_bytes([*e, *f])), next);
            self.code.go_to(found);
            self.code.place(next);
        }
        self.code.go_to(fail);
        self.code.place(found);
    }
}
