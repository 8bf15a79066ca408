//! Packet sockets for the frames that come in at an interface, each for a part of the hosts inside
//! or for some of the flows that are promised something.
//!
//! When more frames come than the gate can read, they are lost before the scheduler sees them. A
//! host that floods the gate fills its own socket, and its frames are dropped there at no cost.
//! Frames that are not IP have a socket to themselves: the link needs them. Frames of flows that
//! are promised something have [sockets of their own](super::selection), which are read first. A
//! host's other frames are always in the same socket and stay in order.
//!
//! When many hosts flood the gate, all sockets are full, and a frame waits for all that are before
//! it in any of them. So the [buffers](Buffer) of sockets whose frames wait long are cut.

use super::group::{Group, Turn, close};
use super::packet::{self, Batch, Buffer, missed};
use super::received::{BATCH, Received};
use super::selection::{Others, Rule};
use crate::sys::clock::Clock;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tidegate_core::classifier::rules::Direction;

/// Receives the frames that come in at an interface.
pub(crate) struct Receiver {
    sockets: Vec<OwnedFd>,
    buffers: Vec<Buffer>,
    group: Group,
    turn: Turn,
    batch: Batch,
    /// The error that a socket has reported while others gave frames.
    failed: Option<io::Error>,
}

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index and go in
    /// `direction`.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(super) fn open(index: u32, rules: &[Rule], direction: Direction) -> io::Result<Receiver> {
        let open = |_| {
            let socket = packet::open()?;
            packet::receive_at(&socket, index, Buffer::MOST, close)?;
            Ok(socket)
        };
        let sockets: Vec<OwnedFd> = (0..Others::ByHost.all_members()).map(open).collect::<io::Result<_>>()?;
        let members: Vec<&OwnedFd> = sockets.iter().collect();
        let group = Group::of(&members, rules, direction, Others::ByHost)?;
        let buffers = sockets.iter().map(|_| Buffer::new()).collect();
        Ok(Receiver { sockets, buffers, group, turn: Turn::default(), batch: Batch::new(), failed: None })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.group.fd()
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd)
    }

    /// See [`super::Receiver::select_by`].
    pub(super) fn select_by(&mut self, rules: &[Rule]) -> io::Result<()> {
        self.group.select_by(rules)
    }

    /// See [`super::Receiver::receive`]. Sockets that have frames are read in turn. Frames that
    /// were read at once are passed on in the order in which they came.
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.group.turn(&mut self.turn)?;
        let (mut count, mut more, now) = (0, self.turn.more, Clock::wall());
        let members = match self.group.until() {
            None => self.turn.members.as_slice(),
            Some(until) => {
                count = self.read_in_order(until);
                &[]
            }
        };
        for (member, share) in members.iter().copied() {
            match self.batch.fill(&self.sockets[member], count, share) {
                Ok(read) => {
                    let waited = now.saturating_sub(self.batch.stamp(count));
                    self.buffers[member].adapt(&self.sockets[member], now, waited);
                    (count, more) = (count + read, more | (read == share));
                }
                Err(error) => self.failed = Some(error),
            }
        }
        if count == 0 && !more && self.failed.is_none() {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        let mut places: [usize; BATCH] = std::array::from_fn(|place| place);
        if self.turn.members.len() > 1 {
            places[..count].sort_by_key(|place| self.batch.stamp(*place));
        }
        for place in &places[..count] {
            take(self.batch.frame(*place));
        }
        match self.failed.take_if(|_| count == 0) {
            Some(error) => Err(error),
            None => Ok(more || self.failed.is_some()),
        }
    }

    /// Reads frames of all members that came before `until` in their order, and returns their
    /// number.
    fn read_in_order(&mut self, until: u64) -> usize {
        let Receiver { sockets, group, batch, failed, .. } = self;
        let mut peek = |member: usize, count: usize, batch: &mut Batch| {
            let found = batch.peek(&sockets[member], count);
            let next = found.as_ref().ok().copied().filter(|stamp| *stamp < until);
            if next.is_none() {
                group.settled(member);
            }
            if let Err(error) = found
                && error.kind() != io::ErrorKind::WouldBlock
            {
                *failed = Some(error);
            }
            next
        };
        let mut next: Vec<Option<u64>> = (0..sockets.len()).map(|member| peek(member, 0, batch)).collect();
        let mut count = 0;
        while count < BATCH
            && let Some((_, member)) =
                next.iter().zip(0..).filter_map(|(stamp, member)| Some(((*stamp)?, member))).min()
        {
            // The frame that was peeked at is still there.
            let read = batch.fill(&sockets[member], count, 1).unwrap_or(0);
            count += read;
            next[member] = if read > 0 && count < BATCH { peek(member, count, batch) } else { None };
        }
        count
    }

    /// See [`super::Receiver::missed`].
    pub(super) fn missed(&self) -> u64 {
        self.sockets.iter().map(missed).sum()
    }
}
