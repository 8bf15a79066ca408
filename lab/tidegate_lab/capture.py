"""Arrival times of packets: the kernel's own time stamps, in a memory ring that is read after the experiment.

`python -m tidegate_lab.capture INTERFACE PACKETS ONLY [PORT …]` says `ready`, lets the kernel write
the beginning of every incoming packet into a ring, and prints the ring when its input is closed. It
does not run during the experiment. Where ONLY is a port and not 0, the ring has only UDP packets
for that port. UDP packets for the other ports have a receiver.

The stamp is made where the network stack takes the packet from the interface's driver: for a
virtual pair that is within the call that sent the packet at the other end, so a packet that arrives
at a host is stamped when the box handed it over. The clock is CLOCK_REALTIME, the only one that
packet sockets stamp with.

Source: the kernel's Documentation/networking/packet_mmap.rst and net/packet/af_packet.c
(TPACKET_V2).
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import TidegateError
from tidegate_lab.net import HOST, Net

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SOL_PACKET = 263
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, PACKET_IGNORE_OUTGOING = 5, 6, 10, 23
TPACKET_V2 = 1
SO_TIMESTAMPNS = 35
SO_ATTACH_FILTER = 26
ETH_P_ALL, ETH_P_IP = 0x0003, 0x0800

SLOT = 128
"""Bytes of the ring for a packet: its header, and the packet as far as 20 bytes behind a UDP
header."""
BLOCK = 1 << 20

TCP, UDP = 6, 17


@dataclass(frozen=True)
class Packets:
    """Packets in the order in which they came, one entry of each array for each.

    Attributes:
        time: When, in ns of CLOCK_REALTIME.
        length: Bytes of the frame, without its check sequence.
        protocol: IP's number: 6 is TCP, 17 UDP.
        source: Port that it came from.
        target: Port that it goes to.
        number: The first eight bytes behind a UDP header as a number.
    """

    time: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    protocol: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Packets:
        """Return those that are chosen."""
        return Packets(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def between(self, start: int, end: int) -> Packets:
        """Return those that came in this time, in ns."""
        return self.where((self.time >= start) & (self.time < end))


def parse(ring: bytes) -> Packets:
    """Read the packets of a ring, as the kernel has written it."""
    import numpy as np

    slots = np.frombuffer(ring, dtype=np.uint8).reshape(-1, SLOT)
    words = slots[:, :32].copy().view("<u4")
    slots = slots[words[:, 0] != 0]
    words = words[words[:, 0] != 0]
    mac = slots[:, 12:14].copy().view("<u2")[:, 0].astype(np.int64)

    def big_endian(offset: int, length: int) -> Any:
        rows = np.arange(len(slots))
        number = np.zeros(len(slots), dtype=np.int64)
        for byte in range(length):
            column = np.minimum(mac + offset + byte, SLOT - 1)
            number = (number << 8) | slots[rows, column].astype(np.int64)
        return number

    packets = Packets(
        time=words[:, 4].astype(np.int64) * 1_000_000_000 + words[:, 5].astype(np.int64),
        length=words[:, 1].astype(np.int64),
        protocol=big_endian(23, 1),
        source=big_endian(34, 2),
        target=big_endian(36, 2),
        number=big_endian(42, 8),
    )
    return packets.where(big_endian(12, 2) == ETH_P_IP)


class Capture:
    """The packets that arrive at an interface from now on, until they are read.

    Args:
        net: The network.
        place: The namespace.
        interface: The interface.
        most: Number of packets for which there is room.
        ports: Ports of UDP that get a receiver.
        only: The port of the only UDP packets to keep; 0 for all packets.
    """

    def __init__(
        self,
        net: Net,
        place: str,
        interface: str,
        most: int,
        ports: tuple[int, ...] = (),
        only: int = 0,
    ) -> None:
        words = [sys.executable, "-m", __name__, interface, str(most), str(only), *map(str, ports)]
        self._process: subprocess.Popen[bytes] = net.start(place, words)
        self._name = f"{interface} of {place}"
        wait_until_ready(self._process, f"the capture at {self._name}")

    def frames(self, interface: str, sent: bool = False) -> int:
        """Return how many frames an interface beside it has received, or sent, so far."""
        rows = Path(f"/proc/{self._process.pid}/net/dev").read_text().splitlines()
        row = next(row for row in rows if row.strip().startswith(f"{interface}:"))
        return int(row.split(":")[1].split()[9 if sent else 1])

    def read(self) -> Packets:
        """End the capture, and return its packets.

        Raises:
            TidegateError: More packets came than the ring has room for.
        """
        ring, _ = self._process.communicate()
        if self._process.returncode != 0:
            raise TidegateError(f"{self._name} received more packets than the capture can hold")
        return parse(ring)


def at_host(net: Net, place: str, most: int, ports: tuple[int, ...] = (), only: int = 0) -> Capture:
    """Return a capture of the packets that arrive at a host."""
    return Capture(net, place, HOST, most, ports, only)


def wait_until_ready(process: subprocess.Popen[bytes], what: str) -> None:
    """Wait for a process of the laboratory to say `ready`.

    Raises:
        TidegateError: It ended before.
    """
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise TidegateError(f"{what} did not start")


def keep_only(recorder: socket.socket, port: int) -> None:
    """Let a packet socket receive IPv4 packets without options that are UDP for one port, and no others."""
    load_half, load_byte, equal, result = 0x28, 0x30, 0x15, 0x06
    code = (
        (load_half, 0, 0, 12),
        (equal, 0, 5, ETH_P_IP),
        (load_byte, 0, 0, 23),
        (equal, 0, 3, UDP),
        (load_half, 0, 0, 36),
        (equal, 0, 1, port),
        (result, 0, 0, 0xFFFF),
        (result, 0, 0, 0),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    described = struct.pack(
        "HxxxxxxQ" if sys.maxsize > 2**32 else "HxxI", len(code), ctypes.addressof(program)
    )
    recorder.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, described)


def main(interface: str, most: int, only: int, ports: tuple[int, ...]) -> None:
    """Record until the input is closed, then print the ring."""
    blocks = -(-most * SLOT // BLOCK)
    sinks = []
    for port in ports:
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Packets that do not fit are dropped, as intended.
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sink.bind(("", port))
        sinks.append(sink)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as recorder:
        recorder.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        # Without this no packet is stamped before it is written into the ring.
        recorder.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if only:
            keep_only(recorder, only)
        recorder.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        request = struct.pack("IIII", BLOCK, blocks, SLOT, BLOCK // SLOT * blocks)
        recorder.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        ring = mmap.mmap(recorder.fileno(), BLOCK * blocks)
        # All protocols: what asks for one is not told of what a bridge takes.
        recorder.bind((interface, ETH_P_ALL))
        print("ready", flush=True)
        sys.stdin.buffer.read()
        _, dropped = struct.unpack("II", recorder.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        sys.stdout.buffer.write(ring[:])
        ring.close()
    raise SystemExit(1 if dropped else 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), tuple(map(int, sys.argv[4:])))
