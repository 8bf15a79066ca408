//! A group of sockets that receive the frames of one interface, each frame at the socket that a
//! [program](super::selection) selects.
//!
//! Source: packet(7), PACKET_FANOUT; the kernel's net/packet/af_packet.c.

#![allow(unsafe_code)]

use super::received::BATCH;
use super::selection::{Others, Rule, program};
use crate::sys::calls::{checked, set};
use crate::sys::clock::Clock;
use crate::sys::log::log;
use libc::{c_int, sock_filter};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use tidegate_core::classifier::rules::Direction;

/// Number of members for flows without promises that are read at once, enough that each gives a few
/// frames. The kernel returns those first that were read the longest time ago.
const AT_ONCE: usize = 4;

/// The kind of group in which a classic BPF program selects the socket that gets a frame.
const GROUP: u32 = libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;

/// A group of sockets, which belong to somebody else.
pub(super) struct Group {
    /// One of them.
    socket: Arc<OwnedFd>,
    direction: Direction,
    others: Others,
    rules: Vec<Rule>,
    /// The change to these rules, which takes the kernel some 10 ms; it returns its end in
    /// nanoseconds of CLOCK_REALTIME.
    change: Option<JoinHandle<io::Result<u64>>>,
    /// The end of the last change, and the members that may hold frames which came before it.
    changed_at: u64,
    unsettled: Vec<usize>,
    /// Readable when one of the members is.
    ready: OwnedFd,
    promised: Members,
    without: Members,
}

/// The members for flows that are promised something, or those for all others.
struct Members {
    /// Readable when one of them is.
    ready: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Members {
    /// No members yet; `at_once` of them are read at once.
    fn new(at_once: usize) -> io::Result<Members> {
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Members { ready, events: Vec::with_capacity(at_once) })
    }

    /// Looks which ones can be read, and returns their number.
    fn look(&mut self) -> io::Result<usize> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.events.clear();
        Ok(epoll::wait(&self.ready, spare_capacity(&mut self.events), Some(&now))?)
    }
}

/// Members that have frames.
#[derive(Default)]
pub(super) struct Turn {
    /// Each member, and the number of frames that may be read from it now.
    pub(super) members: Vec<(usize, usize)>,
    /// True if others may have frames, too.
    pub(super) more: bool,
}

/// Lets a socket receive nothing: until all are in the group, each would receive every frame.
pub(super) fn close(socket: &OwnedFd) -> io::Result<()> {
    filter(socket, &[sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 }])
}

/// Gives a socket a filter.
pub(super) fn filter(socket: &OwnedFd, code: &[sock_filter]) -> io::Result<()> {
    attach(socket, (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER), code)
}

impl Group {
    /// Makes a group of sockets that are closed; from then on they receive. As many sockets as
    /// [`Others::all_members`] says are selected; a further one is not.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn of(
        sockets: &[&OwnedFd],
        rules: &[Rule],
        direction: Direction,
        others: Others,
    ) -> io::Result<Group> {
        let [first, further @ ..] = sockets else { return Err(io::ErrorKind::InvalidInput.into()) };
        let new = (GROUP | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16;
        set(first, libc::SOL_PACKET, libc::PACKET_FANOUT, &new)?;
        let number = number(first)?;
        for socket in further {
            set(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &(number | GROUP << 16))?;
        }
        attach(first, SELECTION, &program(rules, direction, others))?;
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (most, all) = (others.members(), others.all_members());
        let (promised, without) = (Members::new(all - most)?, Members::new(AT_ONCE.min(most))?);
        let readable = epoll::EventFlags::IN;
        for members in [&promised, &without] {
            epoll::add(&ready, &members.ready, epoll::EventData::new_u64(0), readable)?;
        }
        for (ix, socket) in sockets.iter().enumerate().take(all) {
            let members = if ix < most { &without } else { &promised };
            epoll::add(&members.ready, socket, epoll::EventData::new_u64(ix as u64), readable)?;
            set::<c_int>(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0)?;
        }
        Ok(Group {
            socket: Arc::new(first.try_clone()?),
            direction,
            others,
            rules: rules.to_vec(),
            change: None,
            changed_at: u64::MAX,
            unsettled: Vec::new(),
            ready,
            promised,
            without,
        })
    }

    /// A descriptor that is readable when a member is.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// Starts to select by other rules. A change that is under way is finished first.
    ///
    /// # Errors
    /// System errors; frames are selected as before.
    pub(super) fn select_by(&mut self, rules: &[Rule]) -> io::Result<()> {
        if rules == self.rules {
            return Ok(());
        }
        if let Some(change) = self.change.take() {
            self.finish(change);
        }
        let (socket, code) = (Arc::clone(&self.socket), program(rules, self.direction, self.others));
        let change = move || attach(&socket, SELECTION, &code).map(|()| Clock::wall());
        self.change = Some(std::thread::Builder::new().name("selection".into()).spawn(change)?);
        self.rules = rules.to_vec();
        Ok(())
    }

    fn finish(&mut self, change: JoinHandle<io::Result<u64>>) {
        match change.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())) {
            Ok(changed_at) => {
                self.changed_at = changed_at;
                self.unsettled = (0..self.others.all_members()).collect();
            }
            Err(error) => log(&format!("warning: selecting the frames of promised flows: {error}")),
        }
    }

    /// The time before which frames may have been selected by other rules, while such frames may be
    /// left. They are read in the order in which they came, and before all later ones: a flow whose
    /// member has changed stays in order.
    pub(super) fn until(&self) -> Option<u64> {
        match self.change {
            Some(_) => Some(u64::MAX),
            None => (!self.unsettled.is_empty()).then_some(self.changed_at),
        }
    }

    /// Notes that a member has no frames left that came before [`until`](Self::until).
    pub(super) fn settled(&mut self, member: usize) {
        self.unsettled.retain(|unsettled| *unsettled != member);
    }

    /// The members that are to be read now, those of flows with promises first: [`BATCH`] frames in
    /// all, of which flows with promises and those without have half each if both have frames. During
    /// a change of rules all members, which may have none.
    ///
    /// # Errors
    /// System errors: `EAGAIN` when there is no frame.
    pub(super) fn turn(&mut self, turn: &mut Turn) -> io::Result<()> {
        turn.members.clear();
        if let Some(change) = self.change.take_if(|change| change.is_finished()) {
            self.finish(change);
        }
        if self.until().is_some() {
            let all = 0..self.others.all_members();
            turn.members.extend(all.map(|member| (member, BATCH)));
            turn.more = self.change.is_none();
            return Ok(());
        }
        let counts = [self.promised.look()?, self.without.look()?];
        turn.more = counts[1] == AT_ONCE;
        let most = if counts.contains(&0) { BATCH } else { BATCH / 2 };
        for (members, count) in [&self.promised, &self.without].into_iter().zip(counts) {
            let share = most.checked_div(count).unwrap_or(0);
            turn.members.extend(members.events.iter().map(|event| (event.data.u64() as usize, share)));
        }
        if turn.members.is_empty() { Err(io::Error::from_raw_os_error(libc::EAGAIN)) } else { Ok(()) }
    }
}

/// The option that takes the program which selects.
const SELECTION: (c_int, c_int) = (libc::SOL_PACKET, libc::PACKET_FANOUT_DATA);

/// Gives a program to a socket.
fn attach(socket: &OwnedFd, (level, option): (c_int, c_int), code: &[sock_filter]) -> io::Result<()> {
    // The kernel reads the program and keeps a copy.
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    set(socket, level, option, &program)
}

/// The number of the group that a socket is in.
fn number(socket: &OwnedFd) -> io::Result<u32> {
    let mut group: u32 = 0;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `group`, which holds as many.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_FANOUT,
            (&raw mut group).cast(),
            &raw mut length,
        )
    })?;
    Ok(group & 0xffff)
}
