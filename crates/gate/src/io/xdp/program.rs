//! The program that hands frames to an AF_XDP socket, each with the time of its arrival in front.

use crate::sys::bpf::{self, Instruction, Kind};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const MAP_TYPE_SOCKETS: u32 = 17;
const XDP: u32 = 37;
/// Generic XDP, which runs after the kernel has made a packet: for drivers without XDP.
const GENERIC: u32 = 1 << 1;
/// Offsets in the program's context (`struct xdp_md`): of the address of the frame, of that of its
/// metadata, and of the index of its receive queue.
const DATA: i16 = 0;
const METADATA: i16 = 8;
const QUEUE: i16 = 16;
/// The frame goes on as if there were no program.
const PASS: i32 = 2;
/// `bpf_redirect_map`: redirects to the map's entry at an index, or returns its third argument if
/// there is none.
const REDIRECT: i32 = 51;
/// `bpf_xdp_adjust_meta`: makes room for metadata in front of the frame; not zero where the driver
/// does not support it.
const ADJUST_METADATA: i32 = 54;
/// `bpf_ktime_get_ns`: CLOCK_MONOTONIC.
const MONOTONIC_TIME: i32 = 5;
/// Bytes of metadata: CLOCK_MONOTONIC in nanoseconds, and its complement, which marks it as a
/// stamp.
pub(super) const STAMP: usize = 16;

/// Arrival time of a frame, from the metadata in front of it, if the driver has any.
pub(super) fn stamp_of(metadata: [u8; STAMP]) -> Option<u64> {
    let (time, complement) = metadata.split_at(STAMP / 2);
    let time = u64::from_ne_bytes(time.try_into().ok()?);
    let complement = u64::from_ne_bytes(complement.try_into().ok()?);
    (time == !complement).then_some(time)
}

/// Redirects the frames of receive queue 0 of an interface to a socket, until the descriptor is
/// closed.
///
/// # Errors
/// System errors: `EBUSY` when another program is attached.
pub(super) fn attach(interface: u32, socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let sockets = bpf::map(MAP_TYPE_SOCKETS, 1)?;
    bpf::set_flag(sockets.as_fd(), socket.as_raw_fd() as u32)?;
    let [low, high] = Instruction::map(1, sockets.as_fd());
    let code = [
        Instruction::copy(6, 1),
        Instruction::set(2, -(STAMP as i32)),
        Instruction::call(ADJUST_METADATA),
        Instruction::skip_unless_zero(0, 9),
        Instruction::call(MONOTONIC_TIME),
        // The kernel's verifier demands this check that the metadata end where the frame begins.
        Instruction::load_at(2, 6, METADATA),
        Instruction::load_at(3, 6, DATA),
        Instruction::copy(4, 2),
        Instruction::add(4, STAMP as i32),
        Instruction::skip_if_greater(4, 3, 3),
        Instruction::store_at(2, 0, 0),
        Instruction::complement(0),
        Instruction::store_at(2, 0, 8),
        Instruction::load_at(2, 6, QUEUE),
        low,
        high,
        Instruction::set(3, PASS),
        Instruction::call(REDIRECT),
        Instruction::exit(),
    ];
    let program = bpf::program(Kind::Xdp, "tidegate_take", &code)?;
    bpf::link(program.as_fd(), interface, XDP, 0).or_else(|error| match error.raw_os_error() {
        Some(libc::EBUSY | libc::EPERM | libc::EACCES) => Err(error),
        // The driver does not support XDP, or not with its present settings.
        _ => bpf::link(program.as_fd(), interface, XDP, GENERIC),
    })
}
