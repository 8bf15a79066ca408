//! Input and output of frames: packet sockets, rings, TAP devices or AF_XDP, chosen by the gate
//! file.
//!
//! The unsafe code of the data path is in this module. A received frame has a virtio-net header
//! that describes its offloads. These are carried out on receipt; TCP segments that leave together
//! may be joined again for sending.

mod group;
mod hosts;
#[cfg(feature = "bench")]
mod null;
mod packet;
mod received;
mod ring;
mod selection;
mod tap;
#[cfg(feature = "xdp")]
mod xdp;

#[cfg(feature = "bench")]
pub(crate) use null::Receiver as NullReceiver;
pub(crate) use packet::Sender as SendSocket;
pub(crate) use received::{BATCH, Received};
pub(crate) use selection::Rule;

use crate::error::GateError;
use crate::sys::interface::Interface;
use std::io;
use std::os::fd::BorrowedFd;
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::Io;

/// One side of the gate: an interface, opened to receive and to send.
pub(crate) struct Side {
    pub(crate) interface: Interface,
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Side {
    /// Opens an interface. Frames that come in there go in `direction`, and belong to flows by these
    /// rules.
    ///
    /// # Errors
    /// When it is missing, down, not Ethernet, or cannot be opened.
    pub(crate) fn open(io: Io, name: &str, rules: &[Rule], direction: Direction) -> Result<Side, GateError> {
        if io == Io::Tap {
            let (interface, receiver, sender) = tap::open(name)?;
            return Ok(Side { interface, receiver: Receiver::Tap(receiver), sender: Sender::Tap(sender) });
        }
        let interface = Interface::usable(name)?;
        if io == Io::Xdp {
            return Side::open_xdp(name, interface);
        }
        let Interface { index, mtu, .. } = interface;
        let receiver = match io {
            Io::Ring | Io::RingBatch => {
                let blocks = io == Io::RingBatch;
                ring::group::Receiver::open((index, mtu), blocks, rules, direction).map(Receiver::Rings)
            }
            Io::Packet | Io::Tap | Io::Xdp => {
                hosts::Receiver::open(index, rules, direction).map(Receiver::Packet)
            }
        };
        let opened = receiver.and_then(|receiver| {
            let sender = Sender::Packet(packet::Sender::open(index, mtu)?);
            Ok(Side { interface, receiver, sender })
        });
        opened.map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => GateError::Privilege(name.to_owned()),
            _ => GateError::system(format!("a packet socket on `{name}`"), error),
        })
    }
}

impl Side {
    /// Opens an interface to send only: what is received there is always these frames.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "bench")]
    pub(crate) fn open_with(name: &str, frames: &[Vec<u8>]) -> Result<Side, GateError> {
        let failed = |error| GateError::system("a null device", error);
        let interface = Interface::usable(name)?;
        let sender = packet::Sender::open(interface.index, interface.mtu).map_err(failed)?;
        let receiver =
            Receiver::Null(null::Receiver::of(frames, crate::sys::clock::Clock::wall).map_err(failed)?);
        Ok(Side { interface, receiver, sender: Sender::Packet(sender) })
    }

    #[cfg(feature = "xdp")]
    fn open_xdp(name: &str, interface: Interface) -> Result<Side, GateError> {
        let (receiver, sender) = xdp::open(name, interface)?;
        Ok(Side { interface, receiver: Receiver::Xdp(receiver), sender: Sender::Xdp(sender) })
    }

    #[cfg(not(feature = "xdp"))]
    fn open_xdp(name: &str, _: Interface) -> Result<Side, GateError> {
        let help = "cargo build --release -p tidegate-gate --features xdp";
        Err(GateError::unsuitable(name, "this build of the gate has no AF_XDP", help))
    }
}

/// Receives the frames that come in at an interface, whatever their destination, but not those that
/// this host sends there.
pub(crate) enum Receiver {
    Packet(hosts::Receiver),
    Rings(ring::group::Receiver),
    Tap(tap::Receiver),
    #[cfg(feature = "xdp")]
    Xdp(xdp::Receiver),
    #[cfg(feature = "bench")]
    Null(null::Receiver),
}

impl Receiver {
    /// A descriptor that is readable when there are frames, for poll(2).
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Receiver::Packet(receiver) => receiver.fd(),
            Receiver::Rings(receiver) => receiver.fd(),
            Receiver::Tap(receiver) => receiver.fd(),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.fd(),
            #[cfg(feature = "bench")]
            Receiver::Null(receiver) => receiver.fd(),
        }
    }

    /// The sockets that receive, for their filters.
    pub(crate) fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Receiver::Packet(receiver) => receiver.sockets().collect(),
            Receiver::Rings(receiver) => receiver.sockets().collect(),
            _ => vec![self.fd()],
        }
    }

    /// Tells flows that are promised something from others by these rules from now on. No frame is
    /// lost.
    ///
    /// # Errors
    /// System errors; the rules are those of before.
    pub(crate) fn select_by(&mut self, rules: &[Rule]) -> io::Result<()> {
        match self {
            Receiver::Packet(receiver) => receiver.select_by(rules),
            Receiver::Rings(receiver) => receiver.select_by(rules),
            _ => Ok(()),
        }
    }

    /// Passes available frames to `take`, but not so many that sending stands still meanwhile.
    /// Returns whether there may be more.
    ///
    /// # Errors
    /// System errors: `EAGAIN` when there is no frame, `ENETDOWN` once when the interface went
    /// down, `EINVAL` when the kernel dropped a super-packet of a kind that a virtio-net header
    /// cannot describe.
    pub(crate) fn receive(&mut self, take: impl FnMut(Received<'_>)) -> io::Result<bool> {
        match self {
            Receiver::Packet(receiver) => receiver.receive(take),
            Receiver::Rings(receiver) => receiver.receive(take),
            Receiver::Tap(receiver) => receiver.receive(take).map(|count| count == BATCH),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.receive(take).map(|count| count == xdp::AT_ONCE),
            #[cfg(feature = "bench")]
            Receiver::Null(receiver) => receiver.receive(take),
        }
    }

    /// Checks that frames can still come in; to be called several times a second.
    ///
    /// # Errors
    /// A system error when frames can no longer come in.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self {
            Receiver::Rings(receiver) => receiver.check(),
            _ => Ok(()),
        }
    }

    /// Frames that the kernel dropped since the last call because they were not read in time.
    pub(crate) fn missed(&mut self) -> u64 {
        match self {
            Receiver::Packet(receiver) => receiver.missed(),
            Receiver::Rings(receiver) => receiver.missed(),
            Receiver::Tap(receiver) => receiver.missed(),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.missed(),
            #[cfg(feature = "bench")]
            Receiver::Null(_) => 0,
        }
    }
}

/// Sends frames out at an interface, bypassing its queueing discipline.
pub(crate) enum Sender {
    Packet(packet::Sender),
    Tap(tap::Sender),
    #[cfg(feature = "xdp")]
    Xdp(xdp::Sender),
}

impl Sender {
    /// Sends the first [`BATCH`] of the frames, in order, or more if frames are joined. Returns the
    /// number that the kernel took.
    ///
    /// # Errors
    /// The system error for the first frame; no frame was sent.
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]> + Clone) -> io::Result<usize> {
        match self {
            Sender::Packet(sender) => sender.send(frames),
            Sender::Tap(sender) => sender.send(frames),
            #[cfg(feature = "xdp")]
            Sender::Xdp(sender) => sender.send(frames),
        }
    }
}

impl Sender {
    /// A second sender on the same socket, for another thread; `None` where separate threads do not
    /// send.
    pub(crate) fn another(&self) -> io::Result<Option<SendSocket>> {
        match self {
            Sender::Packet(sender) => sender.try_clone().map(Some),
            _ => Ok(None),
        }
    }
}
