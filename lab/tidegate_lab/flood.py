"""A call that reserves a rate, beside 200 hosts that send more frames than the gate's processor can forward.

The frames that pass are found first, with every way of receiving frames; then the hosts send one
and a half times and three times as many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate import parse_rate
from tidegate_lab import capture, measures, probed, traffic
from tidegate_lab.capture import Capture
from tidegate_lab.gate import Gate
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import GATE_INSIDE, SECOND, Net, processors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HOSTS = 200
FLOOD_FRAME = 60
CALL_FRAME, CALL_RATE = 214, "1712kbit"
WAYS = ("packet", "ring", "ring-batch")
TIMES = (1.0, 1.5, 3.0)

FEWEST, STEP, SPAN = 80_000.0, 1.15, 1.0
"""The search for the frames that pass: frames a second at first, factor of a step, seconds of a step."""
PASSES = 0.98
"""Share of the frames that pass as long as the processor forwards all."""
LAST_PART = 0.2
"""Seconds of the call at its end that do not count: its packets may still be on their way."""

PASSED_BAR, LOST_BAR, DELAY_BAR = 0.9, 0.0, 20e-3

COLUMNS = (
    Column("p50", "call, delay p50", "s"),
    Column("p99", "p99", "s"),
    Column("max", "longest", "s"),
    Column("lost", "lost", "share"),
    Column("offered", "frames/s offered", "count"),
    Column("passed", "passed", "count"),
    Column("over", "offered / passed", "count"),
)


@dataclass(frozen=True)
class _Box:
    """A gate in a network, the counts at its interfaces, and where the flood runs."""

    net: Net
    counted: Capture
    here: int

    def passed(self, rate: float, seconds: float) -> tuple[float, float]:
        """Let the hosts send so many frames a second; return those that came in and left, a second."""
        flood = traffic.start_flood_of_hosts(self.net, FLOOD_FRAME, HOSTS, rate, self.here)
        time.sleep(SPAN / 2)
        start, before = time.monotonic(), probed.frames(self.counted)
        time.sleep(seconds)
        span, after = time.monotonic() - start, probed.frames(self.counted)
        flood.kill()
        flood.wait()
        offered, passed = ((after - before) / span).tolist()
        return offered, passed


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment, each of its rows for `seconds`."""
    rows, samples, bars = [], {}, []
    for way in WAYS:
        progress(f"{way}, the frames that pass")
        most = _most(way)
        own = []
        for times in TIMES:
            name = f"{way}, {times:g} times"
            progress(name)
            row, samples[name] = _measure(way, name, times * most, seconds)
            own.append(row)
        rows += own
        bars += _bars(own)
    about = f"a reserved call beside {HOSTS} hosts with frames of {FLOOD_FRAME} bytes, {seconds:g} s"
    return Outcome("flood", about, COLUMNS, tuple(rows), tuple(bars), "delay of the call", samples)


def _bars(rows: list[Row]) -> list[Bar]:
    first, *more = rows
    bars = []
    for row in more:
        share = row.figures["passed"] / first.figures["passed"]
        bars += [
            Bar(f"{row.name}: lost of the call", "share", row.figures["lost"], LOST_BAR),
            Bar(f"{row.name}: p99 delay of the call", "s", row.figures["p99"], DELAY_BAR),
            Bar(f"{row.name}: passed, of those at 1 time", "share", share, PASSED_BAR, at_least=True),
        ]
    return bars


def _gate(net: Net, way: str, processor: int) -> Gate:
    return Gate(net, "flood-gate.toml", [f"gate.io={way}"], processor)


def _most(way: str) -> float:
    """Return the most frames a second that pass while nearly all do."""
    here, there = processors()
    with Net() as net:
        gate = _gate(net, way, there)
        box = _Box(net, Capture(net, "box", GATE_INSIDE, 1, (), probed.PORT), here)
        rate, most = FEWEST, 0.0
        while True:
            offered, passed = box.passed(rate, SPAN)
            most = max(most, passed)
            if passed < PASSES * offered or offered < rate / STEP:
                gate.stop()
                return most
            rate *= STEP


def _measure(way: str, name: str, rate: float, seconds: float) -> tuple[Row, npt.NDArray[np.float64]]:
    here, there = processors()
    with Net() as net:
        net.add_second_host()
        gate = _gate(net, way, there)
        most = int((seconds + 5) * parse_rate(CALL_RATE) / 8 / CALL_FRAME) + 1000
        far = capture.at_host(net, "outside", most, (probed.PORT,), probed.PORT)
        near = Capture(net, "box", GATE_INSIDE, most, (), probed.PORT)
        box = _Box(net, near, here)
        start = time.time_ns()
        traffic.start_udp(net, probed.PORT, CALL_FRAME, parse_rate(CALL_RATE), here, SECOND)
        offered, passed = box.passed(rate, seconds)
        end = time.time_ns()
        time.sleep(probed.SETTLE)
        gate.stop()
        sent, came = (probed.of_probe(packets) for packets in (near.read(), far.read()))
    sent = sent.between(start, end - int(LAST_PART * 1e9))
    delays, lost = measures.delays(sent, came)
    figures = {
        "p50": measures.quantile(delays, 0.5),
        "p99": measures.quantile(delays, 0.99),
        "max": float(delays.max()) if len(delays) else float("nan"),
        "lost": lost / len(sent),
        "offered": offered,
        "passed": passed,
        "over": offered / passed,
    }
    return Row(name, figures), delays
