"""Ten TCPs that take all they get, on 1 Gbit/s, with the gate on one processor."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tidegate.lab import kernel, measures, traffic
from tidegate.lab.gate import Gate
from tidegate.lab.kernel import HtbClass
from tidegate.lab.measures import Bar, Column, Outcome, Row
from tidegate.lab.net import Net, processors

RATE = 1_000_000_000
FLOWS = 10
ROOM = 1000
BURST = 131_072
"""Of HTB, in bytes: 1 ms, and more than a super-packet has."""
WARM_UP = 3.0

OFF = 0.015
SPREAD = 0.01

COLUMNS = (
    Column("total", "total", "bit/s"),
    Column("off", "off the rate", "share"),
    Column("spread", "flows apart", "share"),
    Column("cpu", "of a core", "share"),
    Column("lateness_p99", "late p99", "s"),
    Column("stalled", "lost by stalls", "s"),
)

WAYS = {"gate": "packet", "gate, ring": "ring", "kernel, HTB": None}
"""The gate's `io`; None for the kernel's."""


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Measure every way for `seconds`, one after the other."""
    rows = []
    for way in WAYS:

        def run(way: str = way) -> Row:
            return _measure(way, seconds)

        progress(way)
        # Time that the link has lost since the gate was not run at all says nothing about the gate.
        rows.append(measures.repeated(run, lambda row: row.figures.get("stalled", 0.0) == 0.0))
    bars = []
    for way, row in zip(WAYS, rows, strict=True):
        if "cpu" not in row.figures:
            continue
        in_time = row.figures["stalled"] == 0.0
        bars += [
            Bar(f"{way}: off the rate", "share", abs(row.figures["off"]), OFF, conclusive=in_time),
            Bar(f"{way}: flows apart", "share", row.figures["spread"], SPREAD, conclusive=in_time),
        ]
    about = f"{FLOWS} bulk TCPs (cubic, with segmentation offloads) on 1 Gbit/s for {seconds:g} s"
    return Outcome("gigabit", about, COLUMNS, tuple(rows), tuple(bars), "", {})


def _measure(way: str, seconds: float) -> Row:
    here, there = processors()
    io = WAYS[way]
    with Net(offloads=True) as net:
        gate = None
        if io is not None:
            gate = Gate(net, "gigabit.toml", [f"gate.io={io}"], there)
        else:
            share = RATE // FLOWS
            classes = [HtbClass(share, 0, ROOM // FLOWS, traffic.TCP_PORT + flow) for flow in range(FLOWS)]
            kernel.htb(net, RATE, [*classes, HtbClass(8_000, 1, ROOM)], BURST)
        receiver = traffic.Receiver(net, FLOWS, here)
        traffic.start_tcp(net, FLOWS, "cubic", here)
        time.sleep(WARM_UP)
        spent = gate.cpu() if gate is not None else 0.0
        before = receiver.bytes()
        start, bytes_before = time.monotonic(), receiver.on_wire()
        time.sleep(seconds)
        end, bytes_after = time.monotonic(), receiver.on_wire()
        after = receiver.bytes()
        spent = gate.cpu() - spent if gate is not None else 0.0
        report = gate.stop() if gate is not None else None
    total = (bytes_after - bytes_before) * 8 / (end - start)
    shares = np.array(after, dtype=np.float64) - np.array(before, dtype=np.float64)
    figures = {"total": total, "off": total / RATE - 1, "spread": measures.spread(shares.tolist())}
    if report is not None:
        up = report["directions"]["up"]
        figures["cpu"] = spent / (end - start)
        figures["lateness_p99"] = up["lateness"]["p99"]
        figures["stalled"] = up["stalled"]
    return Row(way, figures)
