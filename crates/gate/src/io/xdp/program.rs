//! The program that hands frames to an AF_XDP socket: five instructions.

use crate::bpf::{self, Instruction, Kind};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const MAP_TYPE_SOCKETS: u32 = 17;
const XDP: u32 = 37;
/// Runs where the kernel has made a packet already: for interfaces that know nothing of XDP.
const GENERIC: u32 = 1 << 1;
/// Where in what the program is told the number of the queue is (`struct xdp_md`).
const QUEUE: i16 = 16;
/// The frame goes on as if there were no program.
const PASS: i32 = 2;
/// `bpf_redirect_map`: to what the map has for a number, or else what the third argument says.
const REDIRECT: i32 = 51;

/// Hands what comes in at queue 0 of an interface to a socket, until the descriptor is closed.
///
/// # Errors
/// The system's: `EBUSY` when there is another program.
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
    let program = bpf::program(Kind::Express, "tidegate_take", &code)?;
    bpf::link(program.as_fd(), interface, XDP, 0).or_else(|error| match error.raw_os_error() {
        Some(libc::EBUSY | libc::EPERM | libc::EACCES) => Err(error),
        // The driver cannot as things are.
        _ => bpf::link(program.as_fd(), interface, XDP, GENERIC),
    })
}
