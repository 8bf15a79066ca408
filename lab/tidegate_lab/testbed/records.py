"""Recordings of the guest: the packets that left each interface, with their flows and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate_lab.testbed.plan import ADDRESSES
from tidegate_lab.testbed.recorder import SLOT
from tidegate_lab.testbed.traffic import PORT

if TYPE_CHECKING:
    import numpy as np

UDP, TCP = 17, 6
ETHERNET = 14
SYN, ACK = 0x02, 0x10
CE = 3
WRAP = 1 << 16


@dataclass(frozen=True)
class Packets:
    """Packets in the order in which they left an interface: columns of equal length.

    Attributes:
        time: When they left, in ns from the start.
        flow: Index of their flow.
        number: Their number within the flow, in the order in which they were sent: the same at
            every interface.
        length: Bytes, with the Ethernet header.
        is_marked: True for packets with CE.
        sequence: Sequence number of the first byte of TCP's data; 0 without TCP.
        payload: Bytes of data.
    """

    time: np.ndarray
    flow: np.ndarray
    number: np.ndarray
    length: np.ndarray
    is_marked: np.ndarray
    sequence: np.ndarray
    payload: np.ndarray

    def of(self, flow: int) -> Packets:
        """Return the packets of one flow."""
        chosen = self.flow == flow
        return Packets(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


class Ring:
    """The slots of a recorder's file.

    Args:
        file: The file.
        start: Times are from this time of day on, in ns.

    Attributes:
        time: When each packet left, in ns; no two are equal.
        length: Bytes of each packet, with the Ethernet header.
    """

    def __init__(self, file: Path, start: int) -> None:
        import numpy as np

        self._slots = np.fromfile(file, dtype=np.uint8).reshape(-1, SLOT)
        words = self._slots[:, :32].copy().view("<u4")
        self._begin = self._slots[:, 12:14].copy().view("<u2")[:, 0].astype(np.int64)
        self.time = _in_order(words[:, 4].astype(np.int64) * 1_000_000_000 + words[:, 5] - start)
        self.length = words[:, 1].astype(np.int64)

    def packets(self) -> list[bytes]:
        """Return what the ring has of each packet, with the Ethernet header."""
        return [slot[begin:].tobytes() for slot, begin in zip(self._slots, self._begin, strict=True)]

    def big_endian(self, offset: int, length: int) -> np.ndarray:
        """Return the number in `length` bytes of each packet from `offset` on."""
        import numpy as np

        rows = np.arange(len(self._slots))
        number = np.zeros(len(self._slots), dtype=np.int64)
        for byte in range(length):
            number = (number << 8) | self._slots[rows, self._begin + offset + byte].astype(np.int64)
        return number


def read(file: Path, start: int, flows: int) -> Packets:
    """Read what the guest wrote about an interface; times are from `start` on, a time of day in ns.

    Numbers of TCP's packets are identifications of IP (16 bits), unwrapped from the first one on;
    they start at 0 in this interface only, and `aligned` makes them equal at all.
    """
    import numpy as np

    ring = Ring(file, start)
    big_endian = ring.big_endian
    protocol = big_endian(23, 1)
    is_tcp = protocol == TCP
    port = big_endian(36, 2)
    is_shared = (protocol == UDP) & (port > PORT)
    flow = np.where(is_shared, port - PORT, big_endian(30, 4) - ADDRESSES) - 1
    flags = np.where(is_tcp, big_endian(47, 1), 0)
    header = np.where(is_tcp, (big_endian(46, 1) >> 4) * 4, 8)
    number = np.where(is_tcp, big_endian(18, 2), big_endian(42, 4))
    payload = big_endian(16, 2) - 20 - header
    # Answers to an opening segment have no identification.
    number = np.where(is_tcp & (flags & (SYN | ACK) == SYN | ACK), -1, number)
    packets = Packets(
        time=ring.time,
        flow=flow,
        number=number,
        length=ring.length,
        is_marked=big_endian(15, 1) & 3 == CE,
        sequence=np.where(is_tcp, big_endian(38, 4), 0),
        payload=payload,
    )
    known = (flow >= 0) & (flow < flows) & (is_tcp | (protocol == UDP))
    return Packets(*(getattr(packets, name)[known] for name in packets.__dataclass_fields__))


def _in_order(times: np.ndarray) -> np.ndarray:
    """Return times of which no two are equal: packets of one step of the clock follow each other by 1 ns."""
    import numpy as np

    count = np.arange(len(times))
    is_new = np.concatenate(([True], np.diff(times) > 0)) if len(times) else np.zeros(0, dtype=bool)
    return times + count - np.maximum.accumulate(np.where(is_new, count, 0))


def unwrapped(numbers: np.ndarray, first: int) -> np.ndarray:
    """Return numbers of 16 bits, counted on from `first`; those below 0 stay as they are."""
    import numpy as np

    counted = numbers.copy()
    chosen = numbers >= 0
    if chosen.any():
        steps = np.diff(np.concatenate(([first], numbers[chosen])))
        steps = (steps + WRAP // 2) % WRAP - WRAP // 2
        counted[chosen] = np.cumsum(steps)
    return counted


def read_all(
    place: Path, plan: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], start: int
) -> dict[tuple[str, int], Packets]:
    """Return the packets that started on each link and those received behind it, by (`started`, link)."""
    import dataclasses

    found: dict[tuple[str, int], Packets] = {}
    for at, link in enumerate(plan["links"]):
        if link["is_recorded"]:
            for what in ("started", "received"):
                found[what, at] = read(place / f"{what}-{at}", start, len(flows))
    # The first number of a flow of TCP, at the first interface that it passes.
    for index, flow in enumerate(flows):
        if flow["source"]["kind"] == "open-loop":
            continue
        own = found["started", flow["route"][0]].of(index).number
        sent = own[own >= 0]
        first = int(sent[0]) if len(sent) else 0
        for at in flow["route"]:
            for what in ("started", "received"):
                packets = found[what, at]
                mine = packets.flow == index
                number = packets.number.copy()
                number[mine] = unwrapped(number[mine], first)
                found[what, at] = dataclasses.replace(packets, number=number)
    return found
