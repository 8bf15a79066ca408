"""Ten greedy TCPs on 1 and 2.5 Gbit/s, with the gate on one of two processors."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np

from tidegate.show import quantity
from tidegate_lab import kernel, measures, traffic
from tidegate_lab.gate import Gate
from tidegate_lab.kernel import HtbClass
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import Net, processors

RATES = (1_000_000_000, 2_500_000_000)
FLOWS = 10
ROOM = 12e-3
"""Time limit of long frames, in s."""
BURST = 1e-3
"""Burst of HTB, in s: more than a super-packet has."""
WARM_UP = 3.0
PAYLOAD = 1448
"""Bytes of TCP's payload in a full frame, with time stamps."""

OFF = 0.015
SPREAD = 0.01
FULL = 0.9
"""Share of a processor."""

COLUMNS = (
    Column("total", "total", "bit/s"),
    Column("off", "off the rate", "share"),
    Column("spread", "flows apart", "share"),
    Column("cpu", "of a core", "share"),
    Column("lateness_p99", "late p99", "s"),
    Column("stalled", "lost by stalls", "s"),
)

WAYS = {"gate": "ring", "gate, packet": "packet", "kernel, HTB": None}
"""The gate's `io`; None for the kernel's."""


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Measure every way for `seconds`, one after the other."""
    rows = []
    bars = []
    for rate, way in itertools.product(RATES, WAYS):
        name = f"{way}, {quantity(rate, 'bit/s')}"

        def run(name: str = name, way: str = way, rate: int = rate) -> Row:
            return _measure(name, WAYS[way], rate, seconds)

        progress(name)
        # Time that the link has lost since the gate was not run at all says nothing about the gate.
        row = measures.repeated(run, lambda row: row.figures.get("stalled", 0.0) == 0.0)
        rows.append(row)
        if "cpu" in row.figures:
            # A gate that uses up its processor loses time as well, and that is its own doing.
            in_time = row.figures["stalled"] == 0.0 or row.figures["cpu"] > FULL
            bars += [
                Bar(f"{name}: off the rate", "share", abs(row.figures["off"]), OFF, conclusive=in_time),
                Bar(f"{name}: flows apart", "share", row.figures["spread"], SPREAD, conclusive=in_time),
            ]
    about = (
        f"{FLOWS} bulk TCPs (cubic, with segmentation offloads) on 1 and 2.5 Gbit/s for {seconds:g} s, "
        "the gate on one processor and both hosts on the other"
    )
    return Outcome("gigabit", about, COLUMNS, tuple(rows), tuple(bars), "", {})


def _measure(name: str, io: str | None, rate: int, seconds: float) -> Row:
    here, there = processors()
    room = round(ROOM * rate / 8 / kernel.FRAME)
    with Net(offloads=True) as net:
        net.receive_on(here)
        gate = None
        if io is not None:
            sets = (f"gate.io={io}", f"gate.up={rate}bit", f"gate.down={rate}bit", f"switch.buffer={room}p")
            gate = Gate(net, "gigabit.toml", sets, there)
        else:
            share = rate // FLOWS
            classes = [HtbClass(share, 0, room // FLOWS, traffic.TCP_PORT + flow) for flow in range(FLOWS)]
            kernel.htb(net, rate, [*classes, HtbClass(8_000, 1, room)], round(BURST * rate / 8))
        receiver = traffic.Receiver(net, FLOWS, here)
        traffic.start_tcp(net, FLOWS, "cubic", here)
        time.sleep(WARM_UP)
        spent = gate.cpu() if gate is not None else 0.0
        start, before = time.monotonic(), receiver.bytes()
        time.sleep(seconds)
        end, after = time.monotonic(), receiver.bytes()
        spent = gate.cpu() - spent if gate is not None else 0.0
        report = gate.stop() if gate is not None else None
    shares = np.array(after, dtype=np.float64) - np.array(before, dtype=np.float64)
    # Interfaces count the headers of a super-packet once, and the wire has them in each frame.
    total = float(shares.sum()) * kernel.FRAME / PAYLOAD * 8 / (end - start)
    figures = {"total": total, "off": total / rate - 1, "spread": measures.spread(shares.tolist())}
    if report is not None:
        up = report["directions"]["up"]
        figures["cpu"] = spent / (end - start)
        figures["lateness_p99"] = up["lateness"]["p99"]
        figures["stalled"] = up["stalled"]
    return Row(name, figures)
