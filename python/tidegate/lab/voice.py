"""A call beside four TCPs that take all they get, on 10 Mbit/s."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate.lab import capture, kernel, measures, traffic
from tidegate.lab.capture import Capture
from tidegate.lab.gate import Gate
from tidegate.lab.kernel import HtbClass
from tidegate.lab.measures import Bar, Column, Outcome, Row
from tidegate.lab.net import GATE_INSIDE, Net, processors

RATE = 10_000_000
LONG = kernel.FRAME
MTU_TIME = LONG * 8 / RATE
SLACK = 0.4e-3
PORT = 5004
CALL_FRAME = 214
"""160 bytes of G.711 behind 54 bytes of headers (RTP's too), every 20 ms."""
CALL_RATE = CALL_FRAME * 8 / 20e-3
RESERVED = 128_000
FLOWS = 4
ROOM = 100
"""Packets that the gate and each of HTB's arrangements can hold."""
LINE = 1.02 * RATE
"""The line behind is a little faster than what is shaped, as it should be."""
START = 0.3
WARM_UP = 5.0
"""Until TCP has left its slow start."""
SETTLE = 0.5
"""For packets of the measured time to arrive."""
PREDICTIONS = 5

FIFO_AT_LEAST = 90e-3
SPREAD = 0.02

COLUMNS = (
    Column("p50", "delay p50", "s"),
    Column("p99", "p99", "s"),
    Column("line_p99", "p99 to a line", "s"),
    Column("lost", "lost", "share"),
    Column("bulk", "bulk", "bit/s"),
    Column("spread", "bulk apart", "share"),
    Column("goodput_spread", "goodput apart", "share"),
    Column("lateness_p99", "late p99", "s"),
)


@dataclass(frozen=True)
class _Run:
    row: Row
    delays: npt.NDArray[np.float64]


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Measure every arrangement for `seconds`, one after the other."""
    progress("simulator")
    predicted = predict()
    runs = []
    for name, scheduler in (("gate, FIFO", "fifo"), ("gate, VirtualClock", "virtual-clock")):

        def gated(name: str = name, scheduler: str = scheduler) -> _Run:
            return _measure(name, seconds, scheduler, ())

        progress(name)
        runs.append(measures.repeated(gated, lambda run: run.row.figures["lateness_p99"] <= SLACK))
    call = HtbClass(RESERVED, priority=0, packets=ROOM, port=PORT)
    bulk = RATE - RESERVED
    each = [HtbClass(bulk // FLOWS, 1, ROOM // FLOWS, traffic.TCP_PORT + flow) for flow in range(FLOWS)]
    for name, classes in (
        ("kernel, HTB, two classes", (call, HtbClass(bulk, 1, ROOM))),
        ("kernel, HTB, a class per flow", (call, *each, HtbClass(8_000, 2, ROOM))),
    ):
        progress(name)
        runs.append(_measure(name, seconds, None, classes))
    rows = [run.row for run in runs] + predicted
    fifo, clock = (run.row.figures for run in runs[:2])
    in_time = clock["lateness_p99"] <= SLACK
    bars = (
        Bar("FIFO, p99 delay of the call", "s", fifo["p99"], FIFO_AT_LEAST, at_least=True),
        Bar("VirtualClock, p99 delay of the call", "s", clock["p99"], MTU_TIME + SLACK, conclusive=in_time),
        Bar("VirtualClock, packets of the call lost", "share", clock["lost"], 0.0),
        Bar("VirtualClock, bulk flows apart", "share", clock["spread"], SPREAD),
    )
    about = (
        f"a call (64 kbit/s of G.711, {CALL_RATE / 1e3:.1f} on the wire, {RESERVED // 1000} reserved) beside "
        f"{FLOWS} bulk TCPs (cubic) on {RATE // 1_000_000} Mbit/s for {seconds:g} s"
    )
    samples = {run.row.name: run.delays for run in runs}
    return Outcome("voice", about, COLUMNS, tuple(rows), bars, "delay of the call", samples)


def _measure(name: str, seconds: float, scheduler: str | None, classes: tuple[HtbClass, ...]) -> _Run:
    here, there = processors()
    with Net() as net:
        gate = None
        if scheduler is not None:
            gate = Gate(net, "voice.toml", [f"port.scheduler={scheduler}"], there)
        else:
            kernel.htb(net, RATE, classes)
        most = int((seconds + WARM_UP + 5) * (RATE / 8 / 400))
        far = capture.at_host(net, "outside", most, (PORT,))
        near = Capture(net, "box", GATE_INSIDE, most)
        receiver = traffic.Receiver(net, FLOWS, here)
        traffic.start_udp(net, PORT, CALL_FRAME, CALL_RATE, here)
        time.sleep(START)
        traffic.start_tcp(net, FLOWS, "cubic", here)
        time.sleep(WARM_UP)
        start, before = time.time_ns(), receiver.bytes()
        time.sleep(seconds)
        end, after = time.time_ns(), receiver.bytes()
        time.sleep(SETTLE)
        report = gate.stop() if gate is not None else None
        sent, came = near.read(), far.read()
    is_call = (sent.protocol == capture.UDP) & (sent.target == PORT)
    calls = sent.where(is_call).between(start, end)

    def of_call(packets: capture.Packets) -> capture.Packets:
        return packets.where((packets.protocol == capture.UDP) & (packets.target == PORT))

    delays, lost = measures.delays(calls, of_call(came))
    to_line, _ = measures.delays(calls, of_call(measures.behind_line(came, LINE)))
    within = came.between(start, end)
    shares = [
        float(
            within.length[(within.protocol == capture.TCP) & (within.target == traffic.TCP_PORT + flow)].sum()
        )
        for flow in range(FLOWS)
    ]
    goodput = [float(two - one) for one, two in zip(before, after, strict=True)]
    figures = {
        "p50": measures.quantile(delays, 0.5),
        "p99": measures.quantile(delays, 0.99),
        "line_p99": measures.quantile(to_line, 0.99),
        "lost": lost / len(calls),
        "bulk": sum(shares) * 8e9 / (end - start),
        "spread": measures.spread(shares),
        "goodput_spread": measures.spread(goodput),
    }
    if report is not None:
        figures["lateness_p99"] = report["directions"]["up"]["lateness"]["p99"]
    return _Run(Row(name, figures), delays)


def predict() -> list[Row]:
    """Return what the simulator says of the same file."""
    from tidegate.comparison import compare

    file = Path(__file__).with_name("voice-prediction.toml")
    compared = compare(file, ["fifo", "virtual-clock"], replications=PREDICTIONS)
    rows = []
    for name, results in zip(("FIFO", "VirtualClock"), compared.results.values(), strict=True):
        groups = {one.group: one for one in results.groups()}
        call, bulk = groups["voice"], groups["bulk"]
        figures: dict[str, Any] = {
            "p99": call.queueing_p99.mean,
            "lost": call.lost.mean,
            "bulk": bulk.throughput.mean,
        }
        known = {key: value for key, value in figures.items() if value is not None}
        rows.append(Row(f"simulator, {name}", known))
    return rows
