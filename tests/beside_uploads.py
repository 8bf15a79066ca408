"""Sends pings beside uploads, and says what became of them, in the namespaces of a gate's two sides.

    python beside_uploads.py sink
    python beside_uploads.py measure OWN OTHER OWN6 SECONDS

`sink` takes uploads until it is ended. `measure` uploads from two addresses, pings from both, over
IPv6 and by ARP, and prints one JSON object: for each kind of probe the number sent and lost and the
round-trip times in seconds, and the bytes a second of all uploads. It needs root, and no program
but Python.
"""

import fcntl
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

OUTSIDE, OUTSIDE6 = "10.9.0.1", "2001:db8:9::1"
PORT = 5001
EVERY = 0.02
"""Seconds between two pings of a kind."""
PATIENCE = 1.0
"""Seconds after which a ping is lost."""
HOST = "eth0"


def sink() -> None:
    """Take everything that is sent to the port."""
    listener = socket.create_server(("", PORT), backlog=64)
    connections: list[socket.socket] = []
    while True:
        for ready in select.select([listener, *connections], [], [])[0]:
            if ready is listener:
                connections.append(listener.accept()[0])
            elif not ready.recv(1 << 20):
                connections.remove(ready)


def upload(source: str, until: float, sent: list[int]) -> None:
    """Send until then; the bytes that the other side has acknowledged are added to `sent`."""
    connection = socket.create_connection((OUTSIDE, PORT), source_address=(source, 0))
    connection.setblocking(False)
    block, written = bytes(1 << 16), 0
    while time.monotonic() < until:
        if select.select([], [connection], [], 0.1)[1]:
            written += connection.send(block)
    waiting = struct.unpack("I", unacknowledged(connection))[0]
    sent.append(written - waiting)


def unacknowledged(connection: socket.socket) -> bytes:
    """Return how many bytes are not acknowledged, as the kernel writes it (SIOCOUTQ)."""
    return fcntl.ioctl(connection, 0x5411, bytes(4))


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


class Echo:
    """Echo requests of ICMP or ICMPv6 from an address."""

    def __init__(self, source: str) -> None:
        self.number = os.getpid() & 0xFFFF
        self.six = ":" in source
        family = socket.AF_INET6 if self.six else socket.AF_INET
        protocol = socket.IPPROTO_ICMPV6 if self.six else socket.IPPROTO_ICMP
        self.socket = socket.socket(family, socket.SOCK_RAW, protocol)
        self.socket.bind((source, 0))

    def send(self, sequence: int) -> None:
        """Send one; the kernel completes the checksum of ICMPv6."""
        kind = 128 if self.six else 8
        body = struct.pack("!HH", self.number, sequence) + bytes(56)
        summed = 0 if self.six else checksum(struct.pack("!BBH", kind, 0, 0) + body)
        request = struct.pack("!BBH", kind, 0, summed) + body
        self.socket.sendto(request, (OUTSIDE6 if self.six else OUTSIDE, 0))

    def read(self) -> int | None:
        """Return the sequence number of an answer; None for anything else."""
        packet = self.socket.recv(2048)
        answer = packet if self.six else packet[(packet[0] & 15) * 4 :]
        kind, _, _, number, sequence = struct.unpack("!BBHHH", answer[:8])
        return sequence if (kind, number) == (129 if self.six else 0, self.number) else None


class Arp:
    """Requests for the address of the other side, one at a time."""

    def __init__(self, source: str) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
        self.socket.bind((HOST, 0x0806))
        self.mac = self.socket.getsockname()[4]
        self.addresses = socket.inet_aton(source), socket.inet_aton(OUTSIDE)
        self.sent: list[int] = []

    def send(self, sequence: int) -> None:
        """Ask who has the address."""
        own, wanted = self.addresses
        frame = b"\xff" * 6 + self.mac + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1)
        self.sent.append(sequence)
        self.socket.send(frame + self.mac + own + bytes(6) + wanted)

    def read(self) -> int | None:
        """Return the number of the oldest request that has no answer; None for anything but an answer."""
        frame = self.socket.recv(2048)
        answers = frame[20:22] == b"\x00\x02" and frame[28:32] == self.addresses[1]
        return self.sent.pop(0) if answers and self.sent else None


def probe(how: Echo | Arp, until: float, said: Callable[[dict[str, Any]], None]) -> None:
    """Send probes until then, and report the round-trip times and what was lost."""
    due, sequence = time.monotonic(), 0
    waiting: dict[int, float] = {}
    times: list[float] = []
    while True:
        now = time.monotonic()
        if now >= until + PATIENCE or (now >= until and not waiting):
            break
        if now >= due and now < until:
            waiting[sequence] = time.monotonic()
            how.send(sequence)
            sequence += 1
            due += EVERY
            continue
        pause = max(0.0, min(due, until + PATIENCE) - now) if now < until else 0.05
        if select.select([how.socket], [], [], pause)[0]:
            answered = how.read()
            if answered in waiting:
                times.append(time.monotonic() - waiting.pop(answered))
    said({"sent": sequence, "lost": sequence - len(times), "times": sorted(times)})


def measure(own: str, other: str, own6: str, seconds: float) -> dict[str, Any]:
    """Upload and probe at once."""
    begin = time.monotonic()
    until = begin + seconds
    sent: list[int] = []
    found: dict[str, Any] = {}
    probes = {"own ping": Echo(own), "other's ping": Echo(other), "IPv6": Echo(own6), "ARP": Arp(own)}
    uploads = [threading.Thread(target=upload, args=(who, until, sent)) for who in [own] * 4 + [other]]
    asking = [
        threading.Thread(target=probe, args=(how, until, lambda what, name=name: found.update({name: what})))
        for name, how in probes.items()
    ]
    for one in (*uploads, *asking):
        one.start()
    for one in (*uploads, *asking):
        one.join()
    assert len(sent) == len(uploads), "an upload failed"
    return {**found, "throughput": sum(sent) / seconds}


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink()
    else:
        print(json.dumps(measure(*sys.argv[2:5], float(sys.argv[5]))))
