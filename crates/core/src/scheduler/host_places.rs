//! Places of hosts in a table: one that has left gives its place to a later one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The places of hosts, from 0 on.
pub(super) struct HostPlaces<H> {
    by_host: BTreeMap<H, u32>,
    /// Places without a host.
    free: Vec<u32>,
}

impl<H> Default for HostPlaces<H> {
    fn default() -> HostPlaces<H> {
        HostPlaces { by_host: BTreeMap::new(), free: Vec::new() }
    }
}

impl<H: Copy + Ord> HostPlaces<H> {
    /// The place of a host in this table, where `new` is put if it has none.
    pub(super) fn place<T>(&mut self, host: H, table: &mut Vec<T>, new: T) -> u32 {
        *self.by_host.entry(host).or_insert_with(|| match self.free.pop() {
            Some(at) => {
                table[at as usize] = new;
                at
            }
            None => {
                table.push(new);
                table.len() as u32 - 1
            }
        })
    }

    /// Frees the place of a host.
    pub(super) fn free(&mut self, host: H) {
        self.free.extend(self.by_host.remove(&host));
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.by_host.len() * size_of::<(H, u32)>() + self.free.capacity() * size_of::<u32>()
    }
}
