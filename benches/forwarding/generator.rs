//! Sender of frames for the gate and the kernel to forward: an AF_XDP socket in copy mode, which
//! uses less processor time for a frame than other ways to send from a process.

use libc::c_void;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use rustix::net::sockopt::{
    set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size, set_xdp_umem_fill_ring_size, set_xdp_umem_reg,
    xdp_mmap_offsets,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XdpDesc, XdpDescOptions, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, netdevice, send, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

const CHUNK: usize = 2048;
const CHUNKS: u32 = 2048;
/// The most frames that the kernel sends for one call.
const BATCH: u32 = 32;

/// Sends copies of one frame. It lives as long as the process.
pub struct Generator {
    socket: OwnedFd,
    memory: *mut u8,
    descriptors: *mut XdpDesc,
    produced: &'static AtomicU32,
    completed: &'static AtomicU32,
    consumed: &'static AtomicU32,
    next: u32,
}

impl Generator {
    /// Creates a generator for an interface of this thread's network namespace.
    ///
    /// # Errors
    /// The system's errors; most of all when the kernel has no AF_XDP.
    pub fn new(interface: &str) -> io::Result<Generator> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let length = CHUNK * CHUNKS as usize;
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: the kernel chooses the address.
        let memory =
            unsafe { mmap_anonymous(null_mut(), length, access, MapFlags::PRIVATE | MapFlags::POPULATE)? };
        let region = XdpUmemReg {
            addr: memory as u64,
            len: length as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        set_xdp_umem_reg(&socket, region)?;
        set_xdp_umem_fill_ring_size(&socket, CHUNKS)?;
        set_xdp_umem_completion_ring_size(&socket, CHUNKS)?;
        set_xdp_tx_ring_size(&socket, CHUNKS)?;
        let offsets = xdp_mmap_offsets(&socket)?;
        let map = |bytes: u64, offset| -> io::Result<*mut u8> {
            // SAFETY: the kernel chooses the address.
            Ok(unsafe { mmap(null_mut::<c_void>(), bytes as usize, access, shared, &socket, offset)? }.cast())
        };
        let (tx, cr) = (offsets.tx, offsets.cr);
        let sending = map(tx.desc + u64::from(CHUNKS) * 16, libc::XDP_PGOFF_TX_RING as u64)?;
        let done = map(cr.desc + u64::from(CHUNKS) * 8, libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
        let other = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        let index = netdevice::name_to_index(&other, interface)?;
        bind(&socket, &SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, index, 0))?;
        // SAFETY: the kernel gives the offsets of these in its mappings, and nothing unmaps them.
        unsafe {
            let atomic = |start: *mut u8, offset: u64| AtomicU32::from_ptr(start.add(offset as usize).cast());
            Ok(Generator {
                memory: memory.cast(),
                descriptors: sending.add(tx.desc as usize).cast(),
                produced: atomic(sending, tx.producer),
                completed: atomic(done, cr.producer),
                consumed: atomic(done, cr.consumer),
                next: 0,
                socket,
            })
        }
    }

    /// Sends as many copies as the kernel takes at once, at most `most`, and returns their number.
    pub fn send(&mut self, frame: &[u8], most: u32) -> u32 {
        let completed = self.completed.load(Ordering::Acquire);
        self.consumed.store(completed, Ordering::Release);
        let room = CHUNKS - self.next.wrapping_sub(completed);
        let count = room.min(BATCH).min(most);
        for _ in 0..count {
            let slot = (self.next % CHUNKS) as usize;
            // SAFETY: the chunk is no longer the kernel's, and holds the longest frame.
            unsafe {
                assert!(frame.len() <= CHUNK);
                std::ptr::copy_nonoverlapping(frame.as_ptr(), self.memory.add(slot * CHUNK), frame.len());
                self.descriptors.add(slot).write(XdpDesc {
                    addr: (slot * CHUNK) as u64,
                    len: frame.len() as u32,
                    options: XdpDescOptions::empty(),
                });
            }
            self.next = self.next.wrapping_add(1);
        }
        self.produced.store(self.next, Ordering::Release);
        // An error means that there was more, or too much: the rest is sent next time.
        let _ = send(&self.socket, &[], SendFlags::DONTWAIT);
        count
    }
}
