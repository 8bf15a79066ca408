"""Senders and receivers: `python -m tidegate_lab.traffic KIND …`, each its own process in a namespace.

Send times do not come from this module: a late sender has sent late, and the kernel records when.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from tidegate_lab.capture import wait_until_ready
from tidegate_lab.net import HOST, INSIDE, OUTSIDE, Net

HEADERS = 14 + 20 + 8
"""Bytes of Ethernet, IPv4 and UDP headers."""
LONGEST_SLEEP = 1e-3
"""Longest time, in s, between two looks of a backlogged source at what is due."""
BUFFER = 1 << 20
TCP_PORT = 5201
FIRST_PORT = 2000
DISCARD = 9
"""The port of the discard service (RFC 863)."""
FLOOD_PORT = 7000
UDP_SEGMENT = 103
"""The option by which the kernel segments a buffer into datagrams (udp(7)); Python has no name for
it."""
SEGMENTS = 40
TRANSPARENT = 19
"""The option by which a socket sends from an address that the host does not have (ip(7)); Python
has no name for it."""
FLOODING = "10.7.1.{}"
"""Addresses of the hosts that flood together."""
METRICS = ("127.0.0.1", 9273)


class Receiver:
    """The far end of TCP flows, in a process of its own; it counts what it gets."""

    def __init__(self, net: Net, flows: int, processor: int) -> None:
        self._process = _start(net, "outside", ("receive", str(flows)), processor)

    def bytes(self) -> list[int]:
        """Return the bytes that each flow has delivered so far, in the order of their ports."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        counts: list[int] = json.loads(self._process.stdout.readline())
        return counts


def start_tcp(
    net: Net, flows: int, congestion: str, processor: int, address: str = INSIDE, first: int = 0
) -> None:
    """Start TCP flows of a host inside that send all they may, to the receiver's flows from `first` on."""
    _start(net, "inside", ("send", str(flows), congestion, address, str(first)), processor)


def start_udp(
    net: Net, port: int, frame: int, rate: float, processor: int, address: str = INSIDE, dscp: int = 0
) -> None:
    """Start frames of `frame` bytes at `rate` bit/s, evenly as far as a process can, before all others."""
    words = ("udp", str(port), str(frame), str(rate), address, str(dscp))
    source = _start(net, "inside", words, processor)
    os.sched_setscheduler(source.pid, os.SCHED_FIFO, os.sched_param(1))


def start_flood(net: Net, frame: int, processor: int) -> None:
    """Start frames of `frame` bytes from the inside, as many as the processor can send."""
    # The kernel cuts a long datagram into frames where it leaves the host: less work than sending
    # each.
    net.command(net.name("inside"), *f"ethtool -K {HOST} tx-udp-segmentation off".split())
    _start(net, "inside", ("flood", str(frame)), processor)


def start_flood_of_hosts(
    net: Net, frame: int, hosts: int, rate: float, processor: int
) -> subprocess.Popen[bytes]:
    """Start frames of so many hosts inside, `rate` in a second as far as the processor can send them."""
    net.command(net.name("inside"), *f"ethtool -K {HOST} tx-udp-segmentation off".split())
    return _start(net, "inside", ("flood-of-hosts", str(frame), str(hosts), str(rate)), processor)


def open_flows(net: Net, count: int, processor: int) -> None:
    """Send a packet from each of so many UDP ports of the inside, and wait until all are sent."""
    if count:
        _start(net, "inside", ("open", str(count)), processor)


def start_scrapers(net: Net, count: int, processor: int) -> None:
    """Start clients that read the gate's metrics again and again."""
    if count:
        net.command(net.name("box"), "ip", "link", "set", "lo", "up")
    for _ in range(count):
        _start(net, "box", ("scrape",), processor)


def start_busy(net: Net, count: int, processor: int) -> None:
    """Start processes that take all of a processor that they get."""
    for _ in range(count):
        _start(net, "box", ("busy",), processor)


def _start(net: Net, place: str, words: tuple[str, ...], processor: int) -> subprocess.Popen[bytes]:
    process = net.start(place, (sys.executable, "-m", __name__, *words), processor)
    wait_until_ready(process, f"traffic ({words[0]})")
    return process


def send_udp(port: int, frame: int, rate: float, address: str, dscp: int) -> None:
    """Send numbered frames at a rate; a late wake-up sends what it missed, at most 100 ms of it."""
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    peer.bind((address, 0))
    peer.connect((OUTSIDE, port))
    gap = frame * 8 / rate
    payload = bytearray(frame - HEADERS)
    print("ready", flush=True)
    number, due = 0, time.monotonic()
    while True:
        now = time.monotonic()
        due = max(due, now - 100e-3)
        while due <= now:
            struct.pack_into(">Q", payload, 0, number)
            # A full queue below is what a backlogged source is for.
            with contextlib.suppress(OSError):
                peer.send(payload)
            number += 1
            due += gap
        time.sleep(max(due - time.monotonic(), min(gap, LONGEST_SLEEP)))


def send_flood(frame: int) -> None:
    """Send frames to nobody without a pause, many in a call."""
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.setsockopt(socket.SOL_UDP, UDP_SEGMENT, frame - HEADERS)
    peer.bind((INSIDE, 0))
    peer.connect((OUTSIDE, FLOOD_PORT))
    segments = bytes((frame - HEADERS) * SEGMENTS)
    print("ready", flush=True)
    while True:
        # The far end has no receiver, and says so now and then.
        with contextlib.suppress(OSError):
            peer.send(segments)


def send_flood_of_hosts(frame: int, hosts: int, rate: float) -> None:
    """Send frames of each host in turn to nobody, in all so many a second as far as a process can."""
    peers = []
    for ix in range(hosts):
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        peer.setsockopt(socket.IPPROTO_IP, TRANSPARENT, 1)
        peer.setsockopt(socket.SOL_UDP, UDP_SEGMENT, frame - HEADERS)
        peer.bind((FLOODING.format(ix + 1), 0))
        peer.connect((OUTSIDE, FLOOD_PORT))
        peers.append(peer)
    segments = bytes((frame - HEADERS) * SEGMENTS)
    gap = SEGMENTS / rate
    print("ready", flush=True)
    due = time.monotonic()
    while True:
        for peer in peers:
            while (now := time.monotonic()) < due:
                pass
            due = max(due, now - 10e-3) + gap
            with contextlib.suppress(OSError):
                peer.send(segments)


def send_from_ports(count: int) -> None:
    """Send a packet from each of so many ports, at most 10 in a millisecond."""
    for ix in range(count):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind((INSIDE, FIRST_PORT + ix))
            peer.sendto(bytes(18), (OUTSIDE, DISCARD))
        if ix % 10 == 9:
            time.sleep(1e-3)
    print("ready", flush=True)


def scrape() -> None:
    """Read the metrics of the gate in this namespace until it ends."""

    def read() -> bytes:
        peer = http.client.HTTPConnection(*METRICS, timeout=10)
        peer.request("GET", "/metrics")
        answer = peer.getresponse().read()
        peer.close()
        return answer

    if not read().startswith(b"# "):
        raise SystemExit("the answer is not from a gate")
    print("ready", flush=True)
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            read()


def keep_busy() -> None:
    """Compute without a pause."""
    print("ready", flush=True)
    while True:
        pass


def send_tcp(flows: int, congestion: str, address: str, first: int) -> None:
    """Send endlessly on so many connections."""
    peers = []
    for ix in range(first, first + flows):
        peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        peer.bind((address, 40_000 + ix))
        peer.connect((OUTSIDE, TCP_PORT + ix))
        peers.append(peer)
    print("ready", flush=True)

    def push(peer: socket.socket) -> None:
        nothing = bytes(BUFFER)
        # The far end is gone when the experiment is over.
        with contextlib.suppress(ConnectionError):
            while True:
                peer.sendall(nothing)

    for peer in peers:
        threading.Thread(target=push, args=(peer,), daemon=True).start()
    sys.stdin.buffer.read()


def receive_tcp(flows: int) -> None:
    """Accept so many connections, and print what each has received whenever a line comes in."""
    counts = [0] * flows

    def drain(ix: int, listener: socket.socket) -> None:
        peer, _ = listener.accept()
        place = bytearray(BUFFER)
        # The kernel discards it without a copy.
        while got := peer.recv_into(place, BUFFER, socket.MSG_TRUNC):
            counts[ix] += got

    for ix in range(flows):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", TCP_PORT + ix))
        listener.listen(1)
        threading.Thread(target=drain, args=(ix, listener), daemon=True).start()
    print("ready", flush=True)
    while sys.stdin.buffer.readline():
        print(json.dumps(counts), flush=True)


def main(words: list[str]) -> None:
    """Carry out the command line."""
    match words:
        case ["udp", port, frame, rate, address, dscp]:
            send_udp(int(port), int(frame), float(rate), address, int(dscp))
        case ["flood", frame]:
            send_flood(int(frame))
        case ["flood-of-hosts", frame, hosts, rate]:
            send_flood_of_hosts(int(frame), int(hosts), float(rate))
        case ["open", count]:
            send_from_ports(int(count))
        case ["scrape"]:
            scrape()
        case ["busy"]:
            keep_busy()
        case ["send", flows, congestion, address, first]:
            send_tcp(int(flows), congestion, address, int(first))
        case ["receive", flows]:
            receive_tcp(int(flows))
        case _:
            raise SystemExit(f"{words}: there is no such traffic")


if __name__ == "__main__":
    main(sys.argv[1:])
