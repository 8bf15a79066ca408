"""Carries out a trial of the gate: three namespaces, a gate, its traffic, reloads. Runs in the guest."""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tidegate_lab.testbed import gate_process
from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.network import inside, node
from tidegate_lab.testbed.recorder import Recorder, watch

JOB, GATE, REPORT = "job.json", "gate.toml", "report.json"
INSIDE, BOX, OUTSIDE = range(3)
"""The namespaces: the hosts, the gate, and the world."""
SETTLED = 1_000_000_000
"""Time from the start of the gate to the first packet, in ns."""
AFTER = 2_000_000_000
"""Time from the last packet to the end, in ns: all queues are empty by then."""
REPORTS = 50
ETHERNET = bytes.fromhex("020000000103" + "020000000101" + "0800")
UDP = 17


def main(results: str) -> None:
    """Carry out the trial in the folder `results`."""
    place = Path(results)
    job = json.loads((place / JOB).read_text(encoding="utf-8"))
    _build()
    gate = gate_process.start(BOX, job["command"])
    # The gate's frames pass no queueing discipline, and so are seen where they arrive only.
    recorders = [
        Recorder(INSIDE, "eth0", place / "sent"),
        Recorder(OUTSIDE, "eth0", place / "left", arriving=True),
    ]
    with inside(INSIDE):
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind(("eth0", 0))
    loop = Loop(time.monotonic_ns() + SETTLED)
    packets = array.array("q", (place / "packets").read_bytes())
    _send_all(loop, sender, [packets[at : at + 5] for at in range(0, len(packets), 5)])
    failures: list[str] = []
    for at, when in enumerate(job["reloads"]):
        loop.at(when, partial(_reload, place, job, at, failures))

    watch(loop, recorders)
    end = job["duration"] + AFTER
    for part in range(1, REPORTS):
        loop.at(end * part // REPORTS, partial(print, f"progress {100 * part / REPORTS:g}", flush=True))
    loop.run(end)
    for recorder in recorders:
        recorder.end()
    report = gate_process.stop(gate)
    before, day, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    report_of = {
        "start": loop.start + day - (before + after) // 2,
        "failures": failures,
        "reloads": len(job["reloads"]),
        "gate": report,
    }
    (place / REPORT).write_text(json.dumps(report_of), encoding="utf-8")


def _build() -> None:
    """Join three namespaces in a row; the gate's is in the middle."""
    for index in (INSIDE, BOX, OUTSIDE):
        _run(f"ip netns add {node(index)}")
    for index, own, macs in ((INSIDE, "inside", ("01", "02")), (OUTSIDE, "outside", ("03", "04"))):
        there = node(index)
        _run(
            f"ip link add {own} netns {node(BOX)} address 02:00:00:00:01:{macs[1]} type veth "
            f"peer name eth0 netns {there} address 02:00:00:00:01:{macs[0]}"
        )
        _run(f"ip -n {there} link set eth0 gso_max_segs 1 up")
        _run(f"ip -n {node(BOX)} link set {own} gso_max_segs 1 up")


def _run(words: str) -> None:
    subprocess.run(words.split(), capture_output=True, text=True, check=True)


def _send_all(loop: Loop, sender: socket.socket, rows: list[Any]) -> None:
    """Send frames at their times: rows of time in ns, length, source address, port and number."""
    pending = iter(rows)

    def schedule() -> None:
        if (row := next(pending, None)) is not None:
            loop.at(row[0], partial(send, row))

    def send(row: Any) -> None:
        _, length, source, port, number = row
        header = struct.pack(">BBHHHBBHI", 0x45, 0, length - 14, 0, 0, 64, UDP, 0, source)
        datagram = struct.pack(">BBBBHHHHI", 192, 0, 2, 1, 4000, port, length - 34, 0, number)
        sender.send((ETHERNET + header + datagram).ljust(length, b"\0"))
        schedule()

    schedule()


def _reload(place: Path, job: dict[str, Any], at: int, failures: list[str]) -> None:
    """Put the next of the files in the gate's place, and let the gate follow it."""
    from tidegate import commands

    files = job["files"]
    (place / GATE).write_text(files[at % len(files)], encoding="utf-8")
    with inside(BOX), _silence():
        code = commands.gate("reload", str(place / GATE))
    if code != 0:
        failures.append(f"reload {at}: exit code {code}")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Drop what is printed meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
