//! Rings that receive the frames that come in at an interface, each frame at the ring that a
//! [program](crate::io::selection) selects.

use super::blocks::Blocks;
use super::slots::Slots;
use crate::io::group::{Group, Turn, close};
use crate::io::packet;
use crate::io::received::{BATCH, Received};
use crate::io::selection::{Others, Rule};
use crate::sys::calls::pending_error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{Builder, ScopedJoinHandle};
use tidegate_core::classifier::rules::Direction;

/// A socket that receives nothing.
const NO_BUFFER: libc::c_int = 0;

/// A ring that receives.
enum Ring {
    Slots(Slots),
    Blocks(Blocks),
}

impl Ring {
    fn socket(&self) -> &OwnedFd {
        match self {
            Ring::Slots(ring) => ring.socket(),
            Ring::Blocks(ring) => ring.socket(),
        }
    }

    /// Receive time of the next frame, in nanoseconds of CLOCK_REALTIME; `None` if there is none.
    fn next(&mut self) -> Option<u64> {
        match self {
            Ring::Slots(ring) => ring.next(),
            Ring::Blocks(ring) => ring.next(),
        }
    }

    /// Takes the next frame.
    fn take(&mut self, take: &mut impl FnMut(Received<'_>)) {
        match self {
            Ring::Slots(ring) => ring.take(take),
            Ring::Blocks(ring) => ring.take(take),
        }
    }

    fn missed(&mut self) -> u64 {
        match self {
            Ring::Slots(ring) => ring.missed(),
            Ring::Blocks(ring) => ring.missed(),
        }
    }
}

/// Receives the frames that come in at an interface from rings.
pub(crate) struct Receiver {
    rings: Vec<Ring>,
    /// The last member of the group, which is never selected. A ring that is made again becomes the
    /// last member, and the one that was last takes its place: this one, until it is made the last
    /// again.
    last: OwnedFd,
    group: Group,
    turn: Turn,
    /// Receive times of the next frames of the members whose turn it is.
    stamps: Vec<Option<u64>>,
}

impl Receiver {
    /// A receiver of the frames that come in at the interface with this index and MTU, and go in
    /// `direction`. With `blocks`, frames of flows that are promised nothing come in a ring of
    /// blocks; all others have rings of slots.
    ///
    /// # Errors
    /// System errors: `EPERM` without CAP_NET_RAW.
    pub(in crate::io) fn open(
        (index, mtu): (u32, usize),
        blocks: bool,
        rules: &[Rule],
        direction: Direction,
    ) -> io::Result<Receiver> {
        let others = if blocks { Others::Together } else { Others::ByHost };
        let mut sockets: Vec<OwnedFd> =
            (0..=others.all_members()).map(|_| packet::open()).collect::<io::Result<_>>()?;
        let last = sockets.pop().ok_or(io::ErrorKind::InvalidInput)?;
        packet::receive_at(&last, index, NO_BUFFER, close)?;
        let make = |(member, socket)| match blocks && member < others.members() {
            true => Blocks::new(socket, index, close).map(Ring::Blocks),
            false => Slots::new(socket, index, mtu, close).map(Ring::Slots),
        };
        // The kernel waits for some 10 ms for each ring. When an interface comes up again, members
        // join again in the order in which their sockets were opened.
        let rings: Vec<Ring> = std::thread::scope(|scope| {
            let start = |socket| Builder::new().spawn_scoped(scope, move || make(socket));
            let makers: Vec<_> = sockets.into_iter().enumerate().map(start).collect::<io::Result<_>>()?;
            let join = |maker: ScopedJoinHandle<'_, io::Result<Ring>>| {
                maker.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
            };
            makers.into_iter().map(join).collect::<io::Result<_>>()
        })?;
        let mut members: Vec<&OwnedFd> = rings.iter().map(Ring::socket).collect();
        members.push(&last);
        let group = Group::of(&members, rules, direction, others)?;
        Ok(Receiver { rings, last, group, turn: Turn::default(), stamps: Vec::new() })
    }

    pub(in crate::io) fn fd(&self) -> BorrowedFd<'_> {
        self.group.fd()
    }

    pub(in crate::io) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings.iter().map(|ring| ring.socket().as_fd())
    }

    /// See [`crate::io::Receiver::select_by`].
    pub(in crate::io) fn select_by(&mut self, rules: &[Rule]) -> io::Result<()> {
        self.group.select_by(rules)
    }

    /// See [`crate::io::Receiver::receive`]. Of the rings whose turn it is, the frame that came
    /// first is taken first.
    pub(in crate::io) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        self.group.turn(&mut self.turn)?;
        let until = self.group.until();
        let Receiver { rings, group, turn: Turn { members, more }, stamps, .. } = self;
        let next = |ring: &mut Ring| ring.next().filter(|stamp| until.is_none_or(|until| *stamp < until));
        stamps.clear();
        stamps.extend(members.iter().map(|(member, _)| next(&mut rings[*member])));
        let (mut count, mut more) = (0, *more);
        while count < BATCH {
            let waiting = stamps.iter().enumerate().filter_map(|(place, stamp)| Some(((*stamp)?, place)));
            let Some((_, place)) = waiting.min() else { break };
            let (member, left) = &mut members[place];
            rings[*member].take(&mut take);
            *left -= 1;
            stamps[place] = if *left > 0 { next(&mut rings[*member]) } else { None };
            (count, more) = (count + 1, more | (*left == 0));
        }
        if until.is_some() {
            let empty =
                members.iter().zip(&*stamps).filter(|((_, left), stamp)| *left > 0 && stamp.is_none());
            empty.for_each(|((member, _), _)| group.settled(*member));
        }
        if count == 0 && !(more && until.is_some()) {
            // The sign that there is something to read was an error.
            let mut errors = members.iter().map(|(member, _)| pending_error(rings[*member].socket()));
            let none = || io::Error::from_raw_os_error(libc::EAGAIN);
            return Err(errors.find(|error| error.kind() != io::ErrorKind::WouldBlock).unwrap_or_else(none));
        }
        Ok(more)
    }

    /// See [`crate::io::Receiver::check`].
    pub(in crate::io) fn check(&mut self) -> io::Result<()> {
        for ring in &mut self.rings {
            if let Ring::Slots(ring) = ring
                && ring.check()?
            {
                packet::rejoin(&self.last)?;
            }
        }
        Ok(())
    }

    /// See [`crate::io::Receiver::missed`].
    pub(in crate::io) fn missed(&mut self) -> u64 {
        self.rings.iter_mut().map(Ring::missed).sum()
    }
}

impl Drop for Receiver {
    /// Closes all rings together: the kernel waits for some 10 ms for each.
    fn drop(&mut self) {
        std::thread::scope(|scope| {
            for ring in self.rings.drain(..) {
                // Without a thread it is closed here.
                let _ = Builder::new().spawn_scoped(scope, move || drop(ring));
            }
        });
    }
}
