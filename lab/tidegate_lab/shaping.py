"""A backlogged UDP source at four rates: how exactly packets leave, and the cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidegate.show import quantity
from tidegate_lab import capture, kernel, measures, traffic
from tidegate_lab.gate import Gate
from tidegate_lab.kernel import HtbClass
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import Net, processors

RATES = (400_000, 10_000_000, 33_000_000, 155_000_000)
JUDGED = 33_000_000
"""The rate at which gaps and the processor's time have bars."""
FRAME = 1000
PORT = 9000
ROOM = 5000
"""Packets: enough that a source that is interrupted for a moment leaves no hole."""
OFFERED = 1.3
"""Rate of the source, over that of the link."""
WARM_UP = 1.5

RATE_ERROR = 1e-4
GAP = 1.2
CPU = 0.12
LOW_CPU = 0.05
FAST = 155_000_000
"""The rate at which frames leave together, with bars of its own."""
FAST_GAP = 1e-3
FAST_CPU = 0.20
NAP = "5ms"
"""Time that the gate sleeps in its mode of low processor use."""

COLUMNS = (
    Column("rate_error", "rate error", "share"),
    Column("ideal", "ideal gap", "s"),
    Column("p50", "gap p50", "s"),
    Column("p99", "p99", "s"),
    Column("over_ideal", "p99 / ideal", "count"),
    Column("cpu", "of a core", "share"),
    Column("lateness_p99", "late p99", "s"),
)

WAYS: dict[str, tuple[str, ...] | None] = {
    "gate": ("ring",),
    "gate, packet": ("packet",),
    f"gate, --coalesce {NAP}": ("ring", "--coalesce", NAP),
    "kernel, HTB": None,
    "kernel, TBF": None,
}
"""The gate's `io` and its arguments; None for the kernel's."""


@dataclass(frozen=True)
class _Run:
    row: Row
    gaps: npt.NDArray[np.float64]
    stalled: bool
    """Return whether the gate did not run for so long that the link lost time."""


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Measure every rate and way for `seconds`, one after the other."""
    runs: dict[tuple[int, str], _Run] = {}
    for rate in RATES:
        # Frames that leave together are late by intent.
        slack = (GAP - 1) * FRAME * 8 / rate if rate < FAST else math.inf
        for way, words in WAYS.items():
            if words is not None and len(words) > 1 and rate != JUDGED:
                continue

            def run(rate: int = rate, way: str = way) -> _Run:
                return _measure(rate, way, seconds)

            def in_time(done: _Run, slack: float = slack) -> bool:
                return not done.stalled and done.row.figures.get("lateness_p99", 0.0) <= slack

            progress(f"{way} at {quantity(rate, 'bit/s')}")
            # One that sleeps is late by intent.
            again = words is not None and len(words) == 1
            runs[rate, way] = measures.repeated(run, in_time) if again else run()
    bars = [
        Bar(
            f"gate, rate error at {quantity(rate, 'bit/s')}",
            "share",
            abs(runs[rate, "gate"].row.figures["rate_error"]),
            RATE_ERROR,
            conclusive=not runs[rate, "gate"].stalled,
        )
        for rate in RATES
    ]
    slack = (GAP - 1) * FRAME * 8 / JUDGED
    for way in ("gate", "gate, packet"):
        judged = runs[JUDGED, way].row.figures
        at = f"{way}, at {quantity(JUDGED, 'bit/s')}"
        in_time_here = judged["lateness_p99"] <= slack
        bars += [
            Bar(f"{at}: p99 gap / ideal", "count", judged["over_ideal"], GAP, conclusive=in_time_here),
            Bar(f"{at}: of a core", "share", judged["cpu"], CPU),
        ]
        fast = runs[FAST, way].row.figures
        at = f"{way}, at {quantity(FAST, 'bit/s')}"
        bars += [
            Bar(f"{at}: p99 gap", "s", fast["p99"], FAST_GAP, conclusive=not runs[FAST, way].stalled),
            Bar(f"{at}: of a core", "share", fast["cpu"], FAST_CPU),
        ]
    low = f"gate, --coalesce {NAP}"
    bars.append(
        Bar(
            f"{low}, at {quantity(JUDGED, 'bit/s')}: of a core",
            "share",
            runs[JUDGED, low].row.figures["cpu"],
            LOW_CPU,
        )
    )
    about = (
        f"frames of {FRAME} bytes from a UDP source that offers {OFFERED:g} times the rate, {seconds:g} s "
        f"each; gaps between departures"
    )
    rows = tuple(run.row for run in runs.values())
    samples = {way: runs[JUDGED, way].gaps for way in WAYS}
    axis = f"gap at {quantity(JUDGED, 'bit/s')}"
    return Outcome("shaping", about, COLUMNS, rows, tuple(bars), axis, samples)


def _measure(rate: int, way: str, seconds: float) -> _Run:
    here, there = processors()
    words = WAYS[way]
    with Net() as net:
        gate = None
        if words is not None:
            io, *arguments = words
            sets = [f"gate.up={rate}bit", f"gate.down={rate}bit", f"gate.io={io}"]
            gate = Gate(net, "backlog.toml", sets, there, arguments)
        elif way == "kernel, HTB":
            kernel.htb(net, rate, [HtbClass(rate, 0, ROOM)])
        else:
            kernel.tbf(net, rate, ROOM)
        most = int((seconds + WARM_UP + 3) * rate / 8 / FRAME * 1.2) + 1000
        far = capture.at_host(net, "outside", most, (PORT,))
        traffic.start_udp(net, PORT, FRAME, OFFERED * rate, here)
        time.sleep(WARM_UP)
        start, before = time.time_ns(), gate.cpu() if gate is not None else 0.0
        time.sleep(seconds)
        end, after = time.time_ns(), gate.cpu() if gate is not None else 0.0
        report = gate.stop() if gate is not None else None
        came = far.read()
    came = came.where(came.target == PORT).between(start, end)
    gaps, ideal = measures.gaps(came), FRAME * 8 / rate
    p99 = measures.quantile(gaps, 0.99)
    figures = {
        "rate_error": measures.rate(came) / rate - 1,
        "ideal": ideal,
        "p50": measures.quantile(gaps, 0.5),
        "p99": p99,
        "over_ideal": p99 / ideal,
    }
    if report is not None:
        figures["cpu"] = (after - before) / ((end - start) / 1e9)
        figures["lateness_p99"] = report["directions"]["up"]["lateness"]["p99"]
    stalled = report is not None and report["directions"]["up"]["stalls"] > 0
    return _Run(Row(f"{way}, {quantity(rate, 'bit/s')}", figures), gaps, stalled)
