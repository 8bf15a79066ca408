"""Frames and capture files, byte by byte: what the generator of captures is made of.

Sources: RFC 791, 8200, 768, 9293; draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

import ipaddress
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

UDP, TCP = 17, 6
ETHERNET, RAW, SLL, SLL2 = 1, 101, 113, 276


@dataclass(frozen=True)
class Packet:
    """A packet: when, from where to where, and the bytes of its payload.

    A payload has a number of its own, as those of senders have: two packets are equal only if the
    number is.
    """

    at: float
    source: str
    destination: str
    ports: tuple[int, int]
    payload: int
    number: int = 0
    protocol: int = UDP
    sequence: int = 0
    hops: int = 64


def network(packet: Packet, kept: int = 1 << 18) -> tuple[bytes, int]:
    """Return an IP packet, its first bytes at least, and the length that it has."""
    addresses = [ipaddress.ip_address(one).packed for one in (packet.source, packet.destination)]
    if packet.protocol == UDP:
        transport = struct.pack(">HHHH", *packet.ports, (8 + packet.payload) & 0xFFFF, 0)
    else:
        transport = struct.pack(
            ">HHIIBBHHH", *packet.ports, packet.sequence & 0xFFFFFFFF, 0, 0x50, 0x10, 65535, 0, 0
        )
    length = len(transport) + packet.payload
    if len(addresses[0]) == ipaddress.IPV4LENGTH // 8:
        # Offload states no length where it does not fit.
        stated = 20 + length if 20 + length <= 0xFFFF else 0
        identification = packet.number & 0xFFFF
        head = struct.pack(
            ">BBHHHBBH", 0x45, 0, stated, identification, 0, packet.hops, packet.protocol, 0
        ) + b"".join(addresses)
    else:
        stated = length if length <= 0xFFFF else 0
        head = struct.pack(">IHBB", 6 << 28, stated, packet.protocol, packet.hops) + b"".join(addresses)
    content = struct.pack(">Q", packet.number)[: packet.payload]
    whole = head + transport + content + bytes(max(0, min(packet.payload, kept) - len(content)))
    return whole, len(head) + length


def frame(packet: Packet, link: int = ETHERNET, place: int = 1, vlan: int | None = None) -> tuple[bytes, int]:
    """Return the frame of a packet on a link of this type, and its length; `place` is where it is seen."""
    inner, length = network(packet)
    kind = 0x0800 if ipaddress.ip_address(packet.source).version == ipaddress.IPV4LENGTH // 8 else 0x86DD
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    heads = {
        ETHERNET: bytes([2, 0, 0, 0, 0, place, 2, 0, 0, 0, 1, place]) + tag + struct.pack(">H", kind),
        RAW: b"",
        SLL: struct.pack(">HHH8sH", place, 1, 6, bytes(8), kind),
        SLL2: struct.pack(">HHIHBB8s", kind, 0, place, 1, 4 if place > 1 else 0, 6, bytes(8)),
    }
    return heads[link] + inner, len(heads[link]) + length


@dataclass
class Capture:
    """Records in the order of the file: time in µs, the bytes that are kept, and the length on the wire."""

    link: int = ETHERNET
    records: list[tuple[int, bytes, int]] = field(default_factory=list)

    @classmethod
    def of(cls, packets: Iterable[Packet], link: int = ETHERNET, kept: int = 128) -> "Capture":
        """Return the capture of packets, in the order of time."""
        made = cls(link)
        for packet in sorted(packets, key=lambda one: one.at):
            made.add(packet.at, *frame(packet, link), kept)
        return made

    def add(self, at: float, data: bytes, length: int, kept: int = 128) -> None:
        """Add a record."""
        self.records.append((round(at * 1e6), data[:kept], length))

    def record(self, at: int, data: bytes, length: int) -> bytes:
        """Return a record of a classic file."""
        return struct.pack("<IIII", at // 10**6 & 0xFFFFFFFF, at % 10**6, len(data), length) + data

    def pcap(self) -> bytes:
        """Return the file in the classic format."""
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, self.link)
        return head + b"".join(self.record(*record) for record in self.records)

    def pcapng(self, interfaces: int = 1) -> bytes:
        """Return the file in the newer format."""
        out = section() + interface(self.link) * interfaces
        return out + b"".join(enhanced(0, *record) for record in self.records)


def block(kind: int, body: bytes) -> bytes:
    """Return a block of a pcapng file."""
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))


def section() -> bytes:
    """Return the block with which a pcapng file starts."""
    return block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(link: int = ETHERNET) -> bytes:
    """Return the description of an interface, whose clock counts microseconds."""
    return block(1, struct.pack("<HHI", link, 0, 0))


def enhanced(number: int, at: int, data: bytes, length: int) -> bytes:
    """Return the block of a packet of this interface."""
    return block(6, struct.pack("<IIIII", number, at >> 32, at & 0xFFFFFFFF, len(data), length) + data)
