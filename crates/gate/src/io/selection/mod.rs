//! The member of a group of sockets that receives a frame, selected by a classic BPF program in the
//! kernel (PACKET_FANOUT_CBPF).
//!
//! The program reads a frame as [`Headers`](tidegate_core::headers::Headers) does and tests the
//! rules of the file in their order. A frame of a flow that is promised something goes to one of
//! the sockets for such flows, so that no flood of other frames fills it. All other frames are
//! divided by a hash of the host inside: its IPv4 address, or its IPv6 /64.
//!
//! Some frames hide fields from the program: IPv6 with extension headers, authentication headers,
//! MPLS labels, PPPoE sessions, more than two VLAN tags. Such a frame counts as one of no promised
//! flow. So do frames of the rules that follow a list of circuits, and of those for which a program
//! has no room: a frame that belongs to another rule never comes to a promised flow's socket.

mod assembler;
mod fields;
mod matching;

use assembler::{Assembler, Label, Size, Test};
use fields::{ABSENT, NETWORK, Version, read_fields, word};
use libc::sock_filter;
use matching::Matching;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::Direction;

/// Parts of the hosts: a power of two. Closing a socket takes the kernel some 10 ms.
const PARTS: u32 = 16;
/// Members for flows that are promised something: a flood within one of the first eight such flows
/// takes nothing from the others. The ninth has the member of the first.
const PROMISED: u32 = 8;

/// The members for frames of flows that are promised nothing, which come first. A load behind the
/// end of a frame ends the program with 0: one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// One for each part of the hosts, and one for frames that are not IP.
    ByHost,
    /// One for all.
    Together,
}

impl Others {
    /// Number of members for these frames; those for flows that are promised something follow.
    pub(crate) const fn members(self) -> usize {
        match self {
            Others::ByHost => PARTS as usize + 1,
            Others::Together => 1,
        }
    }

    /// Number of all members.
    pub(crate) const fn all_members(self) -> usize {
        self.members() + PROMISED as usize
    }
}

/// Most instructions for the rules of one IP version. A program may have 4096.
const ROOM: usize = 1024;

/// A rule of the file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// The packets that match; `None` if this is not all that decides, and the rules behind it
    /// cannot be tested.
    pub(crate) matching: Option<Match>,
    /// True if its packets have one flow, which is promised something.
    pub(crate) promised: bool,
}

/// Offsets of what the kernel knows of a frame.
const PROTOCOL: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
const VLAN_TAG: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG) as u32;
const VLAN_TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;

/// The program for the frames that go in `direction`.
pub(super) fn program(rules: &[Rule], direction: Direction, others: Others) -> Vec<sock_filter> {
    let mut code = Assembler::default();
    let (four, six, other) = (code.label(), code.label(), code.label());
    // The kernel has removed the outer tag. Behind an inner one, the type is that of its frame.
    code.statement(libc::BPF_LD | libc::BPF_IMM, ABSENT);
    code.keep(word::OUTER_VLAN);
    code.keep(word::INNER_VLAN);
    let (untagged, one_tag) = (code.label(), code.label());
    code.load(Size::Word, VLAN_TAG_PRESENT);
    code.go_if(Test::Equal, 0, untagged);
    code.load(Size::Word, VLAN_TAG);
    code.operate(libc::BPF_AND, 0xfff);
    code.keep(word::OUTER_VLAN);
    code.place(untagged);
    code.statement(libc::BPF_LD | libc::BPF_IMM, 0);
    code.keep(word::IP);
    code.load(Size::Word, PROTOCOL);
    let tagged = code.label();
    for tag in [0x8100, 0x88a8, 0x9100] {
        code.go_if(Test::Equal, tag, tagged);
    }
    code.go_to(one_tag);
    code.place(tagged);
    code.statement(libc::BPF_LD | libc::BPF_IMM, 4);
    code.keep(word::IP);
    code.load(Size::Half, NETWORK);
    code.operate(libc::BPF_AND, 0xfff);
    code.keep(word::INNER_VLAN);
    code.load(Size::Half, NETWORK + 2);
    code.place(one_tag);
    code.statement(libc::BPF_LDX | libc::BPF_MEM, word::IP);
    code.go_if(Test::Equal, libc::ETH_P_IP as u32, four);
    code.go_if(Test::Equal, libc::ETH_P_IPV6 as u32, six);
    code.go_to(other);
    for (version, label) in [(Version::Four, four), (Version::Six, six)] {
        code.place(label);
        let by_host = code.label();
        test_rules(&mut code, rules, (direction, version), others.members() as u32, by_host);
        code.place(by_host);
        match others {
            Others::ByHost => part_of_host(&mut code, direction, version),
            Others::Together => code.result(0),
        }
    }
    code.place(other);
    code.result(others.members() as u32 - 1);
    code.finish()
}

/// Ends with the part of the host inside. X is the offset of the IP header.
fn part_of_host(code: &mut Assembler, direction: Direction, version: Version) {
    /// Odd, with its bits spread (the golden ratio of 2^32): the high bits of a product depend on
    /// all bits of a factor.
    const SPREAD: u32 = 0x9e37_79b1;
    let at = match (version, direction) {
        (Version::Four, Direction::Up) => 12,
        (Version::Four, Direction::Down) => 16,
        (Version::Six, Direction::Up) => 8,
        (Version::Six, Direction::Down) => 24,
    };
    code.statement(libc::BPF_LDX | libc::BPF_MEM, word::IP);
    code.load_behind(Size::Word, NETWORK + at);
    if version == Version::Six {
        code.operate(libc::BPF_MUL, SPREAD);
        code.keep(word::SOURCE);
        code.load_behind(Size::Word, NETWORK + at + 4);
        code.statement(libc::BPF_LDX | libc::BPF_MEM, word::SOURCE);
        code.statement(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0);
    }
    code.operate(libc::BPF_MUL, SPREAD);
    code.operate(libc::BPF_RSH, u32::BITS - PARTS.ilog2());
    code.statement(libc::BPF_RET | libc::BPF_A, 0);
}

/// Ends with the member, from `first` on, of a promised flow whose rule is the first that the frame
/// matches, and goes to `by_host` otherwise.
fn test_rules(
    code: &mut Assembler,
    rules: &[Rule],
    (direction, version): (Direction, Version),
    first: u32,
    by_host: Label,
) {
    let testable = rules.iter().map_while(|rule| Some((rule.matching.as_ref()?, rule.promised)));
    let mut tested: Vec<(&Match, bool)> = testable.collect();
    tested.truncate(tested.iter().rposition(|(_, promised)| *promised).map_or(0, |last| last + 1));
    if tested.is_empty() {
        return;
    }
    read_fields(code, version, by_host);
    let (start, mut number) = (code.len(), 0);
    for (matching, promised) in tested {
        let (before, next) = (code.len(), code.label());
        Matching { code, direction, version }.go_unless(matching, next);
        if promised {
            code.result(first + number % PROMISED);
            number += 1;
        } else {
            code.go_to(by_host);
        }
        if code.len() - start > ROOM {
            code.cut(before);
            break;
        }
        code.place(next);
    }
    code.go_to(by_host);
}

#[cfg(test)]
mod tests;
