"""Records the packets that leave an interface or arrive there, with the kernel's times. Runs in the guest.

The kernel writes them into a ring; the ring is copied to a file before it is full.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.network import inside

SLOT = 256
"""Bytes of a packet in the ring: a header of the kernel, then the packet's own headers with all options."""
BLOCK = 4096
SLOTS = 1 << 13
"""Packets for which a ring has room."""
HELD = 1 << 9
"""Packets that a ring holds before they are copied: few, and copied at once when there are many."""
LOOK = 2_500_000
"""Time between two looks at the rings, in ns: the rest of a ring has room for all packets of 1 Gbit/s."""
ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 5, 6, 10
TPACKET_V2 = 1
SO_ATTACH_FILTER = 26
SO_TIMESTAMPNS = 35
PACKET_OUTGOING = 4
ADDRESS_OF_KIND = 0xFFFFF000 + 4
"""Where a filter finds a packet's type."""


class Recorder:
    """The packets that leave an interface of a node from now on.

    Args:
        index: The node.
        interface: The interface.
        file: Gets the slots of the ring, one after the other.
        arriving: Record the packets that arrive there instead.
    """

    def __init__(self, index: int, interface: str, file: Path, *, arriving: bool = False) -> None:
        with inside(index):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        keep(self._socket, arriving=arriving)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        blocks = SLOTS * SLOT // BLOCK
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("IIII", BLOCK, blocks, SLOT, SLOTS))
        self._ring = mmap.mmap(self._socket.fileno(), SLOTS * SLOT)
        self._socket.bind((interface, ETH_P_ALL))
        self._words = memoryview(self._ring).cast("I")
        self._file = file.open("wb")
        self._next = 0
        self.interface = interface

    def look(self) -> None:
        """Write the packets that have come to the file, if there are many."""
        if self._words[(self._next + HELD) % SLOTS * SLOT // 4]:
            self.drain()

    def drain(self) -> None:
        """Write the packets that have come to the file."""
        first = self._next
        while self._ring[self._next * SLOT : self._next * SLOT + 4] != b"\0\0\0\0":
            self._next += 1
            if self._next == SLOTS:
                self._write(first)
                first = self._next = 0
        self._write(first)

    def _write(self, first: int) -> None:
        if first != self._next:
            self._file.write(self._ring[first * SLOT : self._next * SLOT])
            for slot in range(first, self._next):
                self._ring[slot * SLOT : slot * SLOT + 4] = b"\0\0\0\0"

    def end(self) -> None:
        """Write the rest.

        Raises:
            OverflowError: More packets came than the ring had room for.
        """
        self.drain()
        self._file.close()
        _, dropped = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self._socket.close()
        if dropped:
            raise OverflowError(f"{dropped} packets were too many for the recorder of {self.interface}")


def watch(loop: Loop, recorders: Sequence[Recorder]) -> None:
    """Empty rings before they are full, from the start of the loop on."""

    def look(when: int) -> None:
        for recorder in recorders:
            recorder.look()
        loop.at(when + LOOK, partial(look, when + LOOK))

    loop.at(0, partial(look, 0))


def keep(recorder: socket.socket, *, arriving: bool) -> None:
    """Let a packet socket receive only packets that leave, or only those that arrive."""
    load_byte, equal, result = 0x30, 0x15, 0x06
    code = (
        (load_byte, 0, 0, ADDRESS_OF_KIND),
        (equal, 0, 1, PACKET_OUTGOING),
        (result, 0, 0, 0 if arriving else 0xFFFF),
        (result, 0, 0, 0xFFFF if arriving else 0),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    described = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
    recorder.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, described)
