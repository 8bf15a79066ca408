//! The four rings between an AF_XDP socket and the kernel: one side produces entries and the other
//! consumes them, and each publishes its position as one index.

#![allow(unsafe_code)]

use crate::sys::calls::Mapping;
use rustix::net::xdp::XdpRingOffset;
use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring's memory.
struct Shared<T> {
    memory: Mapping,
    offsets: XdpRingOffset,
    size: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Shared<T> {
    fn map(socket: &OwnedFd, size: u32, offsets: XdpRingOffset, page: libc::off_t) -> io::Result<Shared<T>> {
        let length = offsets.desc as usize + size as usize * size_of::<T>();
        let memory = Mapping::of(socket, length, page)?;
        Ok(Shared { memory, offsets, size, entries: PhantomData })
    }

    fn number(&self, offset: u64) -> &AtomicU32 {
        let place = self.memory.at(offset as usize, size_of::<u32>());
        // SAFETY: the kernel says that this number is here, aligned; both sides use it as an atomic
        // only.
        unsafe { AtomicU32::from_ptr(place.cast()) }
    }

    fn produced(&self) -> &AtomicU32 {
        self.number(self.offsets.producer)
    }

    fn consumed(&self) -> &AtomicU32 {
        self.number(self.offsets.consumer)
    }

    /// The address of the entry with this number. The number of entries is a power of two.
    fn entry(&self, number: u32) -> *mut T {
        let ix = (number & (self.size - 1)) as usize;
        self.memory.at(self.offsets.desc as usize + ix * size_of::<T>(), size_of::<T>()).cast()
    }
}

/// A ring whose entries the kernel produces.
pub(super) struct Consumer<T> {
    shared: Shared<T>,
    next: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        size: u32,
        offsets: XdpRingOffset,
        page: libc::off_t,
    ) -> io::Result<Consumer<T>> {
        Ok(Consumer { shared: Shared::map(socket, size, offsets, page)?, next: 0 })
    }

    /// Entries that can be read.
    pub(super) fn available(&self) -> u32 {
        // Acquire: the entries were written before the index was set.
        self.shared.produced().load(Ordering::Acquire).wrapping_sub(self.next)
    }

    /// The next of the entries that are [`available`](Self::available).
    pub(super) fn pop(&mut self) -> T {
        let entry = self.shared.entry(self.next);
        self.next = self.next.wrapping_add(1);
        // SAFETY: the place is within the ring and holds an entry that the kernel has written, or
        // zeros; either is a value of these types.
        unsafe { entry.read() }
    }

    /// Hands the entries that were read back to the kernel.
    pub(super) fn release(&self) {
        self.shared.consumed().store(self.next, Ordering::Release);
    }
}

/// A ring whose entries the kernel consumes. It cannot overflow: it has as many entries as there
/// are chunks.
pub(super) struct Producer<T> {
    shared: Shared<T>,
    next: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn map(
        socket: &OwnedFd,
        size: u32,
        offsets: XdpRingOffset,
        page: libc::off_t,
    ) -> io::Result<Producer<T>> {
        Ok(Producer { shared: Shared::map(socket, size, offsets, page)?, next: 0 })
    }

    /// Writes an entry, which the kernel does not see before the next [`publish`](Self::publish).
    pub(super) fn push(&mut self, entry: T) {
        // SAFETY: the place is within the ring, and the kernel has read what was there.
        unsafe { self.shared.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Entries that the kernel has not read yet.
    pub(super) fn pending(&self) -> u32 {
        self.next.wrapping_sub(self.shared.consumed().load(Ordering::Acquire))
    }

    /// Publishes the entries that were written.
    pub(super) fn publish(&self) {
        self.shared.produced().store(self.next, Ordering::Release);
    }
}
