//! Owners of addresses: an address belongs to the owner of the longest prefix that contains it.
//!
//! Prefixes are nested or apart, never across each other, so they divide the address space into
//! stretches, each of which belongs to one prefix. Those are kept sorted, and an address is found
//! by bisection: no pointers, 8 bytes a stretch of IPv4, and at most two stretches a prefix and one
//! more.

use super::rules::Prefix;
use alloc::vec::Vec;
use core::net::IpAddr;

/// No owner.
const NOBODY: u32 = u32::MAX;

/// Prefixes and their owners, as numbers below `u32::MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    v4: Stretches<u32>,
    v6: Stretches<u128>,
}

/// A prefix is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{prefix} is given twice")]
pub struct GivenTwice {
    /// The prefix.
    pub prefix: Prefix,
    /// Owners of the prefix: the smaller number first, equal ones when one owner has it twice.
    pub owners: [u32; 2],
}

impl Addresses {
    /// A table of these prefixes and their owners, in any order. Inside a prefix others may own
    /// longer ones.
    ///
    /// # Errors
    /// When prefixes are given twice: all of them.
    pub fn new(mut owned: Vec<(Prefix, u32)>) -> Result<Addresses, Vec<GivenTwice>> {
        // A prefix comes before those inside it.
        owned.sort_unstable();
        let twice: Vec<GivenTwice> = owned
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| GivenTwice { prefix: pair[0].0, owners: [pair[0].1, pair[1].1] })
            .collect();
        if !twice.is_empty() {
            return Err(twice);
        }
        let v4 = owned.iter().filter_map(|(prefix, owner)| match prefix.address() {
            IpAddr::V4(first) => {
                let first = first.to_bits();
                let beyond = u64::from(first) + (1 << (32 - u32::from(prefix.length())));
                Some((first, u32::try_from(beyond).ok(), *owner))
            }
            IpAddr::V6(_) => None,
        });
        let v6 = owned.iter().filter_map(|(prefix, owner)| match prefix.address() {
            IpAddr::V4(_) => None,
            IpAddr::V6(first) => {
                let first = first.to_bits();
                let size = 1_u128.checked_shl(128 - u32::from(prefix.length()));
                Some((first, size.and_then(|size| first.checked_add(size)), *owner))
            }
        });
        Ok(Addresses { v4: Stretches::of(v4), v6: Stretches::of(v6) })
    }

    /// Returns the owner of an address.
    #[inline]
    pub fn owner(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.v4.owner(address.to_bits()),
            IpAddr::V6(address) => self.v6.owner(address.to_bits()),
        }
    }
}

/// First address of each stretch, and its owner; the first stretch begins at the first owner's
/// first address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stretches<A> {
    begins: Vec<A>,
    owners: Vec<u32>,
}

impl<A: Copy + Ord> Stretches<A> {
    /// Makes stretches from ranges in their order, those around before those within: first address,
    /// the one beyond the last (`None` beyond all addresses), owner.
    fn of(ranges: impl Iterator<Item = (A, Option<A>, u32)>) -> Stretches<A> {
        let mut stretches = Stretches { begins: Vec::new(), owners: Vec::new() };
        // The ranges around the present one, the outermost first.
        let mut around: Vec<(Option<A>, u32)> = Vec::new();
        for (first, beyond, owner) in ranges {
            while let Some((Some(end), _)) = around.last().copied()
                && end <= first
            {
                around.pop();
                stretches.begin(end, around.last().map_or(NOBODY, |(_, owner)| *owner));
            }
            stretches.begin(first, owner);
            around.push((beyond, owner));
        }
        while let Some((Some(end), _)) = around.pop() {
            stretches.begin(end, around.last().map_or(NOBODY, |(_, owner)| *owner));
        }
        stretches.begins.shrink_to_fit();
        stretches.owners.shrink_to_fit();
        stretches
    }

    /// Begins a stretch of this owner at the address `at`.
    fn begin(&mut self, at: A, owner: u32) {
        if self.begins.last() == Some(&at) {
            self.begins.pop();
            self.owners.pop();
        }
        if self.owners.last().copied().unwrap_or(NOBODY) != owner {
            self.begins.push(at);
            self.owners.push(owner);
        }
    }

    #[inline]
    fn owner(&self, address: A) -> Option<u32> {
        let stretch = self.begins.partition_point(|begin| *begin <= address).checked_sub(1)?;
        Some(self.owners[stretch]).filter(|owner| *owner != NOBODY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    fn owner(addresses: &Addresses, text: &str) -> Option<u32> {
        addresses.owner(text.parse().unwrap())
    }

    #[test]
    fn the_longest_prefix_wins() {
        let owned = [
            ("10.0.0.0/24", 1),
            ("10.0.0.7", 2),
            ("10.0.0.0/8", 0),
            ("2001:db8::/48", 3),
            ("2001:db8::1", 4),
        ];
        let addresses = Addresses::new(owned.map(|(text, owner)| (prefix(text), owner)).to_vec()).unwrap();
        for (text, expected) in [
            ("10.0.0.7", Some(2)),
            ("10.0.0.6", Some(1)),
            ("10.0.0.8", Some(1)),
            ("10.0.1.0", Some(0)),
            ("9.255.255.255", None),
            ("11.0.0.0", None),
            ("2001:db8::1", Some(4)),
            ("2001:db8::2", Some(3)),
            ("2001:db8:1::", None),
            ("::", None),
        ] {
            assert_eq!(owner(&addresses, text), expected, "{text}");
        }
    }

    #[test]
    fn all_addresses_can_be_owned() {
        let all = ["0.0.0.0/0", "255.255.255.255", "::/0", "ffff::/16"];
        let owned = all.iter().zip(0..).map(|(text, owner)| (prefix(text), owner)).collect();
        let addresses = Addresses::new(owned).unwrap();
        let found = ["0.0.0.0", "255.255.255.254", "255.255.255.255", "::", "ffff::", "ffff:ffff::"]
            .map(|text| owner(&addresses, text));
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(2), Some(3), Some(3)]);
        assert_eq!(owner(&Addresses::default(), "10.0.0.1"), None);
    }

    #[test]
    fn a_prefix_given_twice_is_refused() {
        let owned =
            vec![(prefix("10.0.0.1"), 7), (prefix("::1"), 3), (prefix("10.0.0.1/32"), 2), (prefix("::1"), 3)];
        let twice = Addresses::new(owned).unwrap_err();
        let found: Vec<_> = twice.iter().map(|twice| (twice.to_string(), twice.owners)).collect();
        assert_eq!(
            found,
            [("10.0.0.1/32 is given twice".into(), [2, 7]), ("::1/128 is given twice".into(), [3, 3])]
        );
    }

    /// A prefix from few bits, so that many are nested.
    fn any_prefix() -> impl Strategy<Value = Prefix> {
        (any::<bool>(), 0u32..16, 0u8..=6).prop_map(|(six, bits, length)| {
            let kept = bits << 2 >> (6 - length) << (6 - length);
            let text = if six {
                // The last six bits of an address, or of a /70.
                let (shift, above) = if bits % 2 == 0 { (0, 122) } else { (58, 64) };
                let first = std::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(kept) << shift);
                format!("{first}/{}", above + length)
            } else {
                format!("{}/{}", std::net::Ipv4Addr::from_bits(0x0a00_0000 | kept), 26 + length)
            };
            text.parse().unwrap()
        })
    }

    proptest! {
        /// Compares with a search of all prefixes.
        #[test]
        fn finds_what_looking_at_every_prefix_finds(
            mut prefixes in prop::collection::vec(any_prefix(), 0..40),
            asked in prop::collection::vec((any::<bool>(), 0u32..80, any::<bool>()), 40),
        ) {
            prefixes.sort_unstable();
            prefixes.dedup();
            let owned: Vec<(Prefix, u32)> = prefixes.into_iter().zip(0..).collect();
            let mut shuffled = owned.clone();
            shuffled.reverse();
            let addresses = Addresses::new(shuffled).unwrap();
            for (six, bits, high) in asked {
                let address: IpAddr = if six {
                    let shift = if high { 58 } else { 0 };
                    IpAddr::V6((0x2001_0db8 << 96 | u128::from(bits) << shift).into())
                } else {
                    IpAddr::V4((0x0a00_0000 | bits).into())
                };
                let holding = owned.iter().filter(|(prefix, _)| prefix.contains(address));
                let longest = holding.max_by_key(|(prefix, _)| prefix.length()).map(|(_, owner)| *owner);
                prop_assert_eq!(addresses.owner(address), longest, "{}", address);
            }
        }
    }
}
