"""Two hosts that upload, and a call of one of them, on a line whose rate alone is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidegate.show import quantity
from tidegate_lab import capture, kernel, measures, traffic
from tidegate_lab.capture import Capture
from tidegate_lab.gate import Gate
from tidegate_lab.kernel import HtbClass
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import GATE_INSIDE, INSIDE, SECOND, Net, processors

RATE = 20_000_000
UPLOADS = (8, 2)
"""TCPs of each host."""
PORT = 5004
CALL_FRAME = 214
CALL_RATE = CALL_FRAME * 8 / 20e-3
EF = 46
"""The code point with which calls are marked (RFC 3246)."""
ROOM = 1000
WARM_UP = 5.0
SETTLE = 0.5

CALL = 5e-3
SHARE = 0.05
SPREAD = 0.2

COLUMNS = (
    Column("p50", "call, delay p50", "s"),
    Column("p99", "p99", "s"),
    Column("lost", "lost", "share"),
    Column("total", "uploads", "bit/s"),
    Column("second", "host with 2", "share"),
    Column("spread", "uploads of one apart", "share"),
    Column("lateness_p99", "late p99", "s"),
)

WAYS = ("gate, no file", "kernel, HTB", "kernel, CAKE", "kernel, FIFO")


@dataclass(frozen=True)
class _Run:
    row: Row
    delays: npt.NDArray[np.float64]


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Measure every arrangement for `seconds`, one after the other."""
    runs = {}
    for way in WAYS:
        if way == "kernel, CAKE" and not kernel.has_cake():
            continue
        progress(way)
        runs[way] = _measure(way, seconds)
    gate, htb, fifo = (runs[way].row.figures for way in (WAYS[0], WAYS[1], WAYS[3]))
    bars = [
        Bar("gate: p99 delay of the call", "s", gate["p99"], CALL),
        Bar("gate: packets of the call lost", "share", gate["lost"], 0.0),
        Bar("gate: share of the host with 2 uploads, off a half", "share", abs(gate["second"] - 0.5), SHARE),
        Bar("gate: uploads of one host apart", "share", gate["spread"], SPREAD),
    ]
    for name, other in (("HTB", htb), ("FIFO", fifo)):
        off = abs(other["second"] - 0.5)
        bars += [
            Bar(f"gate: p99 delay of the call, {name} as limit", "s", gate["p99"], other["p99"]),
            Bar(f"gate: off a half, {name} and 1 % as limit", "share", abs(gate["second"] - 0.5), off + 0.01),
            Bar(f"gate: uploads apart, {name} as limit", "share", gate["spread"], other["spread"]),
        ]
    about = (
        f"{UPLOADS[0]} uploads of host 1, {UPLOADS[1]} and a call of host 2 (64 kbit/s of G.711, marked EF) "
        f"on {quantity(RATE, 'bit/s')} for {seconds:g} s"
    )
    samples = {way: run.delays for way, run in runs.items()}
    rows = tuple(run.row for run in runs.values())
    return Outcome("household", about, COLUMNS, rows, tuple(bars), "delay of the call", samples)


def _measure(way: str, seconds: float) -> _Run:
    here, there = processors()
    flows = sum(UPLOADS)
    with Net() as net:
        net.add_second_host()
        gate = None
        if way == "gate, no file":
            sets = ["gate.fail=closed", f"switch.buffer={ROOM}p"]
            gate = Gate(net, None, sets, there, rate=f"{RATE}bit")
        elif way == "kernel, HTB":
            # As somebody who knows the hosts would set it up.
            half = RATE // 2
            kernel.htb(
                net, RATE, [HtbClass(half, 0, ROOM // 2, source=source) for source in (INSIDE, SECOND)]
            )
        elif way == "kernel, CAKE":
            kernel.cake(net, RATE)
        else:
            kernel.tbf(net, RATE, ROOM)
        most = int((seconds + WARM_UP + 5) * (RATE / 8 / 400))
        far = capture.at_host(net, "outside", most, (PORT,))
        near = Capture(net, "box", GATE_INSIDE, most)
        _receiver = traffic.Receiver(net, flows, here)
        traffic.start_udp(net, PORT, CALL_FRAME, CALL_RATE, here, SECOND, EF)
        first = 0
        for address, uploads in zip((INSIDE, SECOND), UPLOADS, strict=True):
            traffic.start_tcp(net, uploads, "cubic", here, address, first)
            first += uploads
        time.sleep(WARM_UP)
        start = time.time_ns()
        time.sleep(seconds)
        end = time.time_ns()
        time.sleep(SETTLE)
        report = gate.stop() if gate is not None else None
        sent, came = near.read(), far.read()

    def of_call(packets: capture.Packets) -> capture.Packets:
        return packets.where((packets.protocol == capture.UDP) & (packets.target == PORT))

    calls = of_call(sent).between(start, end)
    delays, lost = measures.delays(calls, of_call(came))
    within = came.where(came.protocol == capture.TCP).between(start, end)
    shares = [float(within.length[within.target == traffic.TCP_PORT + flow].sum()) for flow in range(flows)]
    figures = {
        "p50": measures.quantile(delays, 0.5),
        "p99": measures.quantile(delays, 0.99),
        "lost": lost / len(calls),
        "total": sum(shares) * 8e9 / (end - start),
        "second": sum(shares[UPLOADS[0] :]) / sum(shares),
        "spread": max(measures.spread(shares[: UPLOADS[0]]), measures.spread(shares[UPLOADS[0] :])),
    }
    if report is not None:
        figures["lateness_p99"] = report["directions"]["up"]["lateness"]["p99"]
    return _Run(Row(way, figures), delays)
