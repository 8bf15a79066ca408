//! The program that hands frames to an AF_XDP socket: five instructions.

use crate::sys::bpf::{self, Instruction, Kind};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const MAP_TYPE_SOCKETS: u32 = 17;
const XDP: u32 = 37;
/// Generic XDP, which runs after the kernel has made a packet: for drivers without XDP.
const GENERIC: u32 = 1 << 1;
/// Offset of the receive queue's index in the program's context (`struct xdp_md`).
const QUEUE: i16 = 16;
/// The frame goes on as if there were no program.
const PASS: i32 = 2;
/// `bpf_redirect_map`: redirects to the map's entry of an index, or returns its third argument without one.
const REDIRECT: i32 = 51;

/// Redirects the frames of receive queue 0 of an interface to a socket, until the descriptor is closed.
///
/// # Errors
/// The system's: `EBUSY` when another program is attached.
pub(super) fn attach(interface: u32, socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let sockets = bpf::map(MAP_TYPE_SOCKETS, 1)?;
    bpf::set_flag(sockets.as_fd(), socket.as_raw_fd() as u32)?;
    let [low, high] = Instruction::map(1, sockets.as_fd());
    let code = [
        Instruction::load_at(2, 1, QUEUE),
        low,
        high,
        Instruction::set(3, PASS),
        Instruction::call(REDIRECT),
        Instruction::exit(),
    ];
    let program = bpf::program(Kind::Xdp, "tidegate_take", &code)?;
    bpf::link(program.as_fd(), interface, XDP, 0).or_else(|error| match error.raw_os_error() {
        Some(libc::EBUSY | libc::EPERM | libc::EACCES) => Err(error),
        // The driver has no XDP, or not with its present settings.
        _ => bpf::link(program.as_fd(), interface, XDP, GENERIC),
    })
}
