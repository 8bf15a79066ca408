"""Relays between both ends of a cable, and drops stated segments of data on the way. Runs in the guest."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Mapping
from typing import Any

from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.network import GATED, inside
from tidegate_lab.testbed.recorder import ETH_P_ALL, SOL_PACKET, keep

PACKET_VNET_HDR = 15
ANNOUNCED = 10
"""Bytes in front of a frame that say whether its checksum is still to be computed (struct virtio_net_hdr)."""
LONGEST = 1 << 16
TCP = 6
LENGTH, PROTOCOL, OFFSET = ANNOUNCED + 16, ANNOUNCED + 23, ANNOUNCED + 46
"""Places of the IPv4 packet's length and protocol, and of the length of the TCP header."""
IPV4_HEADER = 20


class Relay:
    """Carries each frame from one end of a cable to the other as it is.

    Args:
        loop: Where frames are waited for.
        relay: The node `box` in which it runs; `forward`, the place in `GATED` of the interface by which
            data come; and `dropped`, the numbers of segments with data, counted from 1 as they come
            there, that it drops.
    """

    def __init__(self, loop: Loop, relay: Mapping[str, Any]) -> None:
        self._dropped = frozenset(relay["dropped"])
        self._count = 0
        with inside(relay["box"]):
            ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in GATED]
        for end, interface in zip(ends, GATED, strict=True):
            keep(end, arriving=True)
            end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            end.bind((interface, ETH_P_ALL))
            end.setblocking(False)
        for place, end in enumerate(ends):
            self._watch(loop, end, ends[1 - place], has_data=place == relay["forward"])

    def _watch(self, loop: Loop, end: socket.socket, other: socket.socket, *, has_data: bool) -> None:
        def carry(_: int) -> None:
            while True:
                try:
                    frame = end.recv(LONGEST)
                except BlockingIOError:
                    return
                if not (has_data and self._drops(frame)):
                    other.send(frame)

        loop.watch(end, select.EPOLLIN, carry)

    def _drops(self, frame: bytes) -> bool:
        """Count a segment with data, and say if it is to be dropped."""
        if frame[PROTOCOL] != TCP:
            return False
        (length,) = struct.unpack_from(">H", frame, LENGTH)
        if length == IPV4_HEADER + (frame[OFFSET] >> 4) * 4:
            return False
        self._count += 1
        return self._count in self._dropped
