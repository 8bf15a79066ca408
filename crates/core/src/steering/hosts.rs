//! The numbers by which a scheduler tells apart the hosts of a unit
//! ([`Conversations::hosts`](super::Conversations)). A host has one from its first
//! conversation that is opened until its last one is closed.

use crate::classifier::FiveTuple;
use crate::classifier::rules::{Direction, Key};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

/// A host's number, and that of its open conversations.
struct Host {
    number: u32,
    conversations: usize,
}

/// The hosts of all classes of owners, by the place of the class and the address. Conversations
/// without an address, or without a flow of their own, are one host's.
pub(super) struct Hosts {
    direction: Direction,
    hosts: BTreeMap<(usize, Option<IpAddr>), Host>,
    free: Vec<u32>,
}

impl Hosts {
    /// The hosts inside of packets that go in `direction`, which are those outside of the other.
    pub(super) fn new(direction: Direction) -> Hosts {
        Hosts { direction, hosts: BTreeMap::new(), free: Vec::new() }
    }

    /// Returns the number of a conversation's host: the one that it has, or the next.
    pub(super) fn number(&self, place: usize, conversation: Option<Key>) -> u32 {
        let next = || self.free.last().copied().unwrap_or(self.hosts.len() as u32);
        self.hosts.get(&self.host(place, conversation)).map_or_else(next, |host| host.number)
    }

    /// Records a conversation that is opened.
    pub(super) fn opened(&mut self, place: usize, conversation: Option<Key>) {
        let number = self.number(place, conversation);
        let free = &mut self.free;
        let new = || {
            free.pop();
            Host { number, conversations: 0 }
        };
        let host = (place, inside(conversation, self.direction));
        self.hosts.entry(host).or_insert_with(new).conversations += 1;
    }

    /// Records that a conversation is closed, if its host has a number.
    pub(super) fn closed(&mut self, place: usize, conversation: Option<Key>) {
        let key = self.host(place, conversation);
        let Some(host) = self.hosts.get_mut(&key) else { return };
        host.conversations -= 1;
        if host.conversations == 0 {
            self.free.push(host.number);
            self.hosts.remove(&key);
        }
    }

    /// Moves the hosts to the new places of their classes; those of classes without one are
    /// forgotten.
    pub(super) fn follow(&mut self, place: impl Fn(usize) -> Option<usize>) {
        for ((before, address), host) in core::mem::take(&mut self.hosts) {
            match place(before) {
                Some(place) => _ = self.hosts.insert((place, address), host),
                None => self.free.push(host.number),
            }
        }
    }

    fn host(&self, place: usize, conversation: Option<Key>) -> (usize, Option<IpAddr>) {
        (place, inside(conversation, self.direction))
    }
}

/// The address inside, of a conversation that has one.
fn inside(conversation: Option<Key>, direction: Direction) -> Option<IpAddr> {
    match (conversation, direction) {
        (Some(Key::Flow(FiveTuple::Ip { source, .. })), Direction::Up) => Some(source),
        (Some(Key::Flow(FiveTuple::Ip { destination, .. })), Direction::Down) => Some(destination),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_classes_and_are_given_again() {
        let conversation = |text: &str| Some(Key::Flow(text.parse().unwrap()));
        let (a, b) = (conversation("10.0.0.1:1>10.0.0.9:2/udp"), conversation("10.0.0.2:1>10.0.0.9:2/udp"));
        let mut hosts = Hosts::new(Direction::Up);
        hosts.opened(0, a);
        hosts.opened(1, b);
        assert_eq!((hosts.number(0, a), hosts.number(1, b)), (0, 1));
        hosts.follow(|place| place.checked_sub(1));
        assert_eq!((hosts.number(0, b), hosts.number(0, a)), (1, 0));
        hosts.opened(0, a);
        hosts.closed(0, b);
        assert_eq!((hosts.number(0, None), hosts.number(0, a)), (1, 0));
        // Downwards both are one host.
        let mut hosts = Hosts::new(Direction::Down);
        hosts.opened(0, a);
        hosts.opened(0, b);
        hosts.closed(0, a);
        assert_eq!((hosts.number(0, b), hosts.number(1, b)), (0, 1));
    }
}
