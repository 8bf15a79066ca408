"""Senders and receivers of a plan's flows. Runs in the guest."""

from __future__ import annotations

import array
import fcntl
import select
import socket
import struct
import termios
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.network import inside

PORT = 5000
HEADERS = 14 + 20 + 8
"""Bytes of a datagram that are not its payload."""
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_TOS = 10, 2, 1
SO_RCVBUFFORCE = 33
LOOK = 100_000
"""Time between two looks at the data that are not acknowledged yet, in ns."""
CHUNK = 4 << 20
"""Bytes that a bulk sender hands the kernel in one call: more than it has memory for."""
TCP_INFO_BYTES = 256
TOTAL_RETRANSMISSIONS, BYTES_ACKED, BYTES_RECEIVED = (100, "I"), (120, "Q"), (128, "Q")
"""Where struct tcp_info has what a connection's end has counted, and its type."""
TCP_CC_INFO = 26
BBR_MODEL = "IIIII"
"""struct tcp_bbr_info: bandwidth in bytes/s, low and high half; least round trip in us; gains of the pace
and of the window, in units of `GAIN`."""
GAIN = 1 / 256


class Datagrams:
    """Sends the packets of an open-loop flow at their times; each carries its number."""

    def __init__(self, loop: Loop, flow: Mapping[str, Any], place: Path) -> None:
        self._loop = loop
        with inside(flow["to_node"]):
            # It is never read: what has arrived is recorded on the way.
            self._sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            self._sink.bind((flow["address"], flow["port"]))
        with inside(flow["from_node"]):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
            self._socket.setsockopt(socket.IPPROTO_IP, IP_TOS, flow["tos"])
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
            self._socket.bind((flow["source_address"], flow["port"]))
            self._socket.connect((flow["address"], flow["port"]))
        packets = array.array("q", (place / flow["packets"]).read_bytes())
        self._times, self._lengths = packets[::2], packets[1::2]
        self._next = 0
        self._payload = bytearray(max(self._lengths, default=HEADERS))
        self.dropped = 0
        self._schedule()

    def _schedule(self) -> None:
        if self._next < len(self._times):
            self._loop.at(self._times[self._next], self._send)

    def _send(self) -> None:
        struct.pack_into(">I", self._payload, 0, self._next)
        try:
            self._socket.send(memoryview(self._payload)[: self._lengths[self._next] - HEADERS])
        except OSError:
            # The first queue was full, and the kernel says so.
            self.dropped += 1
        self._next += 1
        self._schedule()

    def figures(self) -> dict[str, Any]:
        """Return what the sender has counted."""
        return {"refused": self.dropped}


class Connection:
    """Both ends of a connection of the kernel's TCP, and the data that its application hands over."""

    def __init__(self, loop: Loop, flow: Mapping[str, Any], place: Path) -> None:
        del place
        self._loop, self._flow = loop, flow
        self._left: int | None = None
        self._transfers: list[tuple[int, int, int]] = []
        self._began = 0
        self._peer: socket.socket | None = None
        self._data = bytes(CHUNK)
        with inside(flow["to_node"]):
            self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._prepare(self._listener)
            self._listener.bind((flow["address"], PORT))
            self._listener.listen(1)
        self._listener.setblocking(False)
        with inside(flow["from_node"]):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._prepare(self._socket)
            self._socket.bind((flow["source_address"], PORT))
        self._socket.setblocking(False)
        loop.watch(self._listener, select.EPOLLIN, self._accept)
        loop.at(flow["start"], self._connect)
        self._model: list[tuple[int, float, float, float, float]] = []
        if flow["congestion"] == "bbr":
            self._sample(-(-flow["start"] // flow["sample"]) * flow["sample"])
        if flow["stop"] is not None:
            loop.at(flow["stop"], self._stop)

    def _prepare(self, end: socket.socket) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._flow["congestion"].encode())
        if self._flow["receive_buffer"] is not None:
            end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, self._flow["receive_buffer"])

    def _connect(self) -> None:
        self._socket.connect_ex((self._flow["address"], PORT))
        self._begin()
        self._loop.watch(self._socket, select.EPOLLOUT | select.EPOLLET, self._write)

    def _begin(self) -> None:
        """Begin a transfer; a bulk application has one that does not end."""
        self._left = self._flow["size"]
        self._began = self._loop.now()

    def _write(self, _: int) -> None:
        try:
            while self._left is None or self._left > 0:
                sent = self._socket.send(memoryview(self._data)[: self._left])
                if self._left is not None:
                    self._left -= sent
                    if self._left == 0:
                        self._await_end()
        except BlockingIOError:
            pass
        except ConnectionError:
            self._loop.forget(self._socket)

    def _await_end(self) -> None:
        """Begin the next transfer, if there is one, a think time after all data are acknowledged."""
        if self._flow.get("think") is None:
            return
        (waiting,) = struct.unpack("i", fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4)))
        if waiting:
            self._loop.at(self._loop.now() + LOOK, self._await_end)
        else:
            self._loop.at(self._loop.now() + self._flow["think"], self._continue)

    def _continue(self) -> None:
        self._begin()
        self._write(0)

    def _accept(self, _: int) -> None:
        self._peer, _address = self._listener.accept()
        self._peer.setblocking(False)
        self._loop.watch(self._peer, select.EPOLLIN, self._read)

    def _read(self, _: int) -> None:
        assert self._peer is not None
        try:
            while got := self._peer.recv(CHUNK, socket.MSG_TRUNC):
                del got
        except BlockingIOError:
            return
        # The sender has ended.
        self._loop.forget(self._peer)

    def _sample(self, when: int) -> None:
        """Record the model of BBR at a time, and from then on."""

        def look() -> None:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, struct.calcsize(BBR_MODEL))
            # A connection that has ended may tell nothing; one before its handshake has no gains.
            model = info.ljust(struct.calcsize(BBR_MODEL), b"\0")
            low, high, least, pace, window = struct.unpack(BBR_MODEL, model)
            if pace:
                rate = 8.0 * (low + (high << 32))
                self._model.append((when, rate, least * 1e-6, pace * GAIN, window * GAIN))
            self._sample(when + self._flow["sample"])

        self._loop.at(when, look)

    def _stop(self) -> None:
        self._left = 0
        self._socket.shutdown(socket.SHUT_WR)

    def figures(self) -> dict[str, Any]:
        """Return what both ends have counted so far."""
        sender = _info(self._socket)
        receiver = None if self._peer is None else _info(self._peer)
        return {
            "retransmissions": _field(sender, TOTAL_RETRANSMISSIONS),
            "delivered": 0 if receiver is None else _field(receiver, BYTES_RECEIVED),
            "acked": _field(sender, BYTES_ACKED),
            "model": self._model,
        }


def _info(end: socket.socket) -> bytes:
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES).ljust(TCP_INFO_BYTES, b"\0")


def _field(info: bytes, where: tuple[int, str]) -> int:
    number: int = struct.unpack_from(where[1], info, where[0])[0]
    return number


KINDS: dict[str, Callable[[Loop, Mapping[str, Any], Path], Any]] = {
    "datagrams": Datagrams,
    "connection": Connection,
}
