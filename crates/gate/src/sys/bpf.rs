//! bpf(2): the requests that the duplicate filter and AF_XDP need: a map, a value in it, a program
//! and a link.

#![allow(unsafe_code)]

use libc::{c_int, c_long, c_void};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: c_int = 0;
pub(crate) const MAP_UPDATE_ELEM: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;

const MAP_TYPE_ARRAY: u32 = 2;
/// The attach point where frames come in, after packet sockets and before a bridge (Linux 6.6).
const TCX_INGRESS: u32 = 46;
/// Attach before the existing programs.
const BEFORE: u32 = 1 << 3;
/// The source register of an instruction that loads a map (`BPF_PSEUDO_MAP_FD`), and of one that
/// loads the address of its value (`BPF_PSEUDO_MAP_VALUE`).
#[cfg(feature = "xdp")]
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;

/// The type of a program.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Decides how much of a packet a socket receives.
    SocketFilter = 1,
    /// Decides whether a packet at an interface goes on.
    Classifier = 3,
    /// Takes frames before the kernel makes packets of them (XDP).
    #[cfg(feature = "xdp")]
    Xdp = 6,
}

/// One instruction (`struct bpf_insn`).
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    const fn new(code: u8, [to, from]: [u8; 2], offset: i16, immediate: i32) -> Instruction {
        let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        Instruction { code, registers, offset, immediate }
    }

    /// Register `to` becomes the address of the only value of a map of [`flag`].
    pub(crate) fn address(to: u8, map: BorrowedFd<'_>) -> [Instruction; 2] {
        [Instruction::new(0x18, [to, MAP_VALUE], 0, map.as_raw_fd()), Instruction::new(0, [0, 0], 0, 0)]
    }

    /// Register `to` becomes the 32 bits at the address in register `from`.
    pub(crate) const fn load(to: u8, from: u8) -> Instruction {
        Instruction::new(0x61, [to, from], 0, 0)
    }

    /// Register `to` becomes the address of a map.
    #[cfg(feature = "xdp")]
    pub(crate) fn map(to: u8, map: BorrowedFd<'_>) -> [Instruction; 2] {
        [Instruction::new(0x18, [to, MAP], 0, map.as_raw_fd()), Instruction::new(0, [0, 0], 0, 0)]
    }

    /// Register `to` becomes the 32 bits at `offset` from the address in register `from`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn load_at(to: u8, from: u8, offset: i16) -> Instruction {
        Instruction::new(0x61, [to, from], offset, 0)
    }

    /// Register `to` becomes the value of register `from`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn copy(to: u8, from: u8) -> Instruction {
        Instruction::new(0xbf, [to, from], 0, 0)
    }

    /// Adds `value` to register `to`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn add(to: u8, value: i32) -> Instruction {
        Instruction::new(0x07, [to, 0], 0, value)
    }

    /// Inverts each bit of register `of`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn complement(of: u8) -> Instruction {
        Instruction::new(0xa7, [of, 0], 0, -1)
    }

    /// The 64 bits at `offset` from the address in register `to` become the value of register
    /// `from`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn store_at(to: u8, from: u8, offset: i16) -> Instruction {
        Instruction::new(0x7b, [to, from], offset, 0)
    }

    /// Skips `count` instructions if register `of` is not zero.
    #[cfg(feature = "xdp")]
    pub(crate) const fn skip_unless_zero(of: u8, count: i16) -> Instruction {
        Instruction::new(0x55, [of, 0], count, 0)
    }

    /// Skips `count` instructions if register `one` is greater than register `other`.
    #[cfg(feature = "xdp")]
    pub(crate) const fn skip_if_greater(one: u8, other: u8, count: i16) -> Instruction {
        Instruction::new(0x2d, [one, other], count, 0)
    }

    /// Register 0 becomes the result of one of the kernel's functions, called with registers 1 to
    /// 5.
    #[cfg(feature = "xdp")]
    pub(crate) const fn call(function: i32) -> Instruction {
        Instruction::new(0x85, [0, 0], 0, function)
    }

    /// The lower half of register `to` becomes `value`, the upper half zero.
    pub(crate) const fn set(to: u8, value: i32) -> Instruction {
        Instruction::new(0xb4, [to, 0], 0, value)
    }

    /// Skips `count` instructions if register `of` is zero.
    pub(crate) const fn skip_if_zero(of: u8, count: i16) -> Instruction {
        Instruction::new(0x15, [of, 0], count, 0)
    }

    /// Returns register 0.
    pub(crate) const fn exit() -> Instruction {
        Instruction::new(0x95, [0, 0], 0, 0)
    }
}

/// Sends a request to the kernel. A pointer in `request` is the address of memory that outlives the
/// call.
fn request<T>(command: c_int, request: &T) -> io::Result<c_long> {
    let (place, size) = ((&raw const *request).cast::<c_void>(), size_of::<T>());
    // SAFETY: `place` is `size` readable bytes. The addresses in them, of instructions, a text, a
    // key and a value, were made by the functions below from references that live until the call
    // returns, and the kernel only reads there.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, place, size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(result: c_long) -> OwnedFd {
    // SAFETY: the request that succeeded has opened this descriptor, with O_CLOEXEC, for the caller
    // alone.
    unsafe { OwnedFd::from_raw_fd(result as c_int) }
}

fn address<T: ?Sized>(of: &T) -> u64 {
    (&raw const *of).cast::<c_void>().addr() as u64
}

/// A map with a single value of 32 bits, which is zero.
pub(crate) fn flag() -> io::Result<OwnedFd> {
    map(MAP_TYPE_ARRAY, 1)
}

/// A map of type `kind`, from the first `entries` numbers to values of 32 bits.
pub(crate) fn map(kind: u32, entries: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        kind: u32,
        key: u32,
        value: u32,
        entries: u32,
        flags: u32,
    }
    let create = Create { kind, key: 4, value: 4, entries, flags: 0 };
    request(MAP_CREATE, &create).map(descriptor)
}

/// Sets the first value in a map.
pub(crate) fn set_flag(map: BorrowedFd<'_>, value: u32) -> io::Result<()> {
    #[repr(C)]
    struct Update {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let key = 0_u32;
    let update = Update {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: address(&key),
        value: address(&value),
        flags: 0,
    };
    request(MAP_UPDATE_ELEM, &update).map(drop)
}

/// Loads a program, which the kernel verifies.
pub(crate) fn program(kind: Kind, name: &str, code: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        version: u32,
        flags: u32,
        name: [u8; 16],
    }
    let mut load = Load {
        kind: kind as u32,
        count: code.len() as u32,
        code: address(code),
        license: address(c"Dual MIT/GPL"),
        log_level: 0,
        log_size: 0,
        log: 0,
        version: 0,
        flags: 0,
        name: [0; 16],
    };
    for (place, byte) in load.name[..15].iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    request(PROG_LOAD, &load).map(descriptor)
}

/// Attaches a classifier to the ingress of an interface, until the descriptor is closed.
///
/// # Errors
/// System errors: `EINVAL` before Linux 6.6.
pub(crate) fn attach(program: BorrowedFd<'_>, interface: u32) -> io::Result<OwnedFd> {
    link(program, interface, TCX_INGRESS, BEFORE)
}

/// Attaches a program to a point of an interface, until the descriptor is closed.
///
/// # Errors
/// System errors.
pub(crate) fn link(program: BorrowedFd<'_>, interface: u32, point: u32, flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        program: u32,
        interface: u32,
        point: u32,
        flags: u32,
        relative: u32,
        padding: u32,
        revision: u64,
    }
    let create = Create {
        program: program.as_raw_fd() as u32,
        interface,
        point,
        flags,
        relative: 0,
        padding: 0,
        revision: 0,
    };
    request(LINK_CREATE, &create).map(descriptor)
}

/// Attaches a filter to a socket.
pub(crate) fn filter(socket: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SO_ATTACH_BPF, program.as_raw_fd())
}

/// Detaches the filter of a socket.
pub(crate) fn unfilter(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SO_DETACH_FILTER, 0)
}

fn set(socket: BorrowedFd<'_>, option: c_int, value: c_int) -> io::Result<()> {
    let size = size_of::<c_int>() as libc::socklen_t;
    let place = (&raw const value).cast::<c_void>();
    // SAFETY: `place` is `size` readable bytes, of which the kernel makes a copy.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, place, size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
