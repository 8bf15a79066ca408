//! How frames come in and go out: one way for both sides of a gate, chosen when it starts.
//!
//! The unsafe code of the data path is below here. Whatever the way, a frame comes with a virtio-net
//! header that says what the kernel left undone, and what is sent is whole and takes none.

mod interface;
mod packet;
mod ring;
mod system;
mod tap;
#[cfg(feature = "xdp")]
mod xdp;

pub(crate) use interface::Interface;

use crate::engine::Loss;
use crate::error::GateError;
use crate::offload::{HEADER, Whole};
use std::io;
use std::os::fd::BorrowedFd;
use tidegate_core::classifier::rules::Direction;
use tidegate_spec::{GateFile, Io};

/// Frames that are received or sent at once at most.
pub(crate) const BATCH: usize = 32;
/// Room for a VLAN tag that is put back.
const TAG: usize = 4;
/// An Ethernet header.
const ETHERNET: usize = 14;
/// The longest super-packet: 64 KB behind an Ethernet header with two tags.
const LONGEST: usize = (1 << 16) + 22;

/// An interface, opened to receive what comes in at it and to send out at it.
pub(crate) struct Side {
    pub(crate) interface: Interface,
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Side {
    /// Opens an interface.
    ///
    /// # Errors
    /// When it is missing, down, not Ethernet, or not to be had.
    pub(crate) fn open(io: Io, name: &str) -> Result<Side, GateError> {
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
            Io::Ring => ring::slots::Receiver::open(index, mtu).map(Receiver::Slots),
            Io::RingBatch => ring::blocks::Receiver::open(index).map(Receiver::Blocks),
            Io::Packet | Io::Tap | Io::Xdp => packet::Receiver::open(index, |_| Ok(())).map(Receiver::Packet),
        };
        let opened = receiver.and_then(|receiver| {
            let sender = Sender::Packet(packet::Sender::open(index)?);
            Ok(Side { interface, receiver, sender })
        });
        opened.map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => GateError::Privilege(name.to_owned()),
            _ => GateError::system(format!("a packet socket on `{name}`"), error),
        })
    }
}

impl Side {
    #[cfg(feature = "xdp")]
    fn open_xdp(name: &str, interface: Interface) -> Result<Side, GateError> {
        let (receiver, sender) = xdp::open(name, interface)?;
        Ok(Side { interface, receiver: Receiver::Xdp(receiver), sender: Sender::Xdp(sender) })
    }

    #[cfg(not(feature = "xdp"))]
    fn open_xdp(name: &str, _: Interface) -> Result<Side, GateError> {
        let help = "cargo build --release -p tidegate-gate --features xdp";
        Err(GateError::unfit(name, "this build of the gate has no AF_XDP", help))
    }
}

/// Refuses rates above what the cards carry on which they go out.
///
/// # Errors
/// The direction and the card.
pub(crate) fn check_rates(file: &GateFile) -> Result<(), GateError> {
    for (direction, name) in Direction::BOTH.into_iter().zip([&file.outside, &file.inside]) {
        let speed = Interface::find(name).ok().and_then(|interface| interface.speed);
        let rate = file.rates[direction as usize].bits_per_second();
        if let Some(carries) = speed.filter(|carries| rate > *carries as f64) {
            let (direction, interface) = (direction.name(), name.clone());
            return Err(GateError::TooFast { direction, interface, carries });
        }
    }
    Ok(())
}

/// Receives what comes in at an interface, whomever it is for; what this host sends there is not received.
pub(crate) enum Receiver {
    Packet(packet::Receiver),
    Slots(ring::slots::Receiver),
    Blocks(ring::blocks::Receiver),
    Tap(tap::Receiver),
    #[cfg(feature = "xdp")]
    Xdp(xdp::Receiver),
}

impl Receiver {
    /// What can be read, for poll(2), when there are frames.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Receiver::Packet(receiver) => receiver.fd(),
            Receiver::Slots(receiver) => receiver.fd(),
            Receiver::Blocks(receiver) => receiver.fd(),
            Receiver::Tap(receiver) => receiver.fd(),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.fd(),
        }
    }

    /// Gives up to [`BATCH`] frames, as many as are there, to `take`, and says how many there were.
    ///
    /// # Errors
    /// The system's: `EAGAIN` when there is none, `ENETDOWN` once when the interface went down, `EINVAL`
    /// when a super-packet was dropped of a kind which a virtio-net header cannot describe.
    pub(crate) fn receive(&mut self, take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        match self {
            Receiver::Packet(receiver) => receiver.receive(take),
            Receiver::Slots(receiver) => receiver.receive(take),
            Receiver::Blocks(receiver) => receiver.receive(take),
            Receiver::Tap(receiver) => receiver.receive(take),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.receive(take),
        }
    }

    /// Looks whether frames still come in; to be called several times a second.
    ///
    /// # Errors
    /// The system's, when they cannot come in any more.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self {
            Receiver::Slots(receiver) => receiver.check(),
            _ => Ok(()),
        }
    }

    /// Frames that the kernel dropped since the last call, since this receiver was too slow.
    pub(crate) fn missed(&mut self) -> u64 {
        match self {
            Receiver::Packet(receiver) => receiver.missed(),
            Receiver::Slots(receiver) => receiver.missed(),
            Receiver::Blocks(receiver) => receiver.missed(),
            Receiver::Tap(receiver) => receiver.missed(),
            #[cfg(feature = "xdp")]
            Receiver::Xdp(receiver) => receiver.missed(),
        }
    }
}

/// Sends frames out at an interface, past its queueing discipline: the queue is the gate's.
pub(crate) enum Sender {
    Packet(packet::Sender),
    Tap(tap::Sender),
    #[cfg(feature = "xdp")]
    Xdp(xdp::Sender),
}

impl Sender {
    /// Sends the first [`BATCH`] of the frames, in order, and says how many the kernel took.
    ///
    /// # Errors
    /// The system's, about the first frame; none was sent.
    pub(crate) fn send<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>) -> io::Result<usize> {
        match self {
            Sender::Packet(sender) => sender.send(frames),
            Sender::Tap(sender) => sender.send(frames),
            #[cfg(feature = "xdp")]
            Sender::Xdp(sender) => sender.send(frames),
        }
    }
}

/// A frame as it was received. Its bytes start [`TAG`] bytes into `room`.
pub(crate) struct Received<'r> {
    /// The virtio-net header.
    header: [u8; HEADER],
    /// Room for a tag, then the frame.
    room: &'r mut [u8],
    /// The VLAN tag that the kernel took out of the frame.
    tag: Option<[u8; TAG]>,
    /// What is known to be wrong with it.
    unfit: Option<Loss>,
}

impl<'r> Received<'r> {
    /// The frame with its tag, and what it takes to make it whole.
    ///
    /// # Errors
    /// Why nothing can be kept of it.
    pub(crate) fn whole(self) -> Result<Whole<'r>, Loss> {
        let Received { header, room, tag, unfit } = self;
        if let Some(loss) = unfit {
            return Err(loss);
        }
        if room.len() < TAG + ETHERNET {
            return Err(Loss::Malformed);
        }
        let (frame, inserted) = match tag {
            None => (&room[TAG..], 0),
            Some(tag) => {
                // The addresses move forward into the room that was kept for the tag.
                room.copy_within(TAG..TAG + 12, 0);
                room[12..12 + TAG].copy_from_slice(&tag);
                (&*room, TAG)
            }
        };
        Whole::new(&header, frame, inserted).map_err(|_| Loss::Offload)
    }
}
