"""A call that shares 1 to 10 Mbit/s with four greedy TCPs: measured, and predicted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate.show import quantity
from tidegate_lab import capture, kernel, measures, traffic
from tidegate_lab.capture import Capture
from tidegate_lab.gate import Gate
from tidegate_lab.kernel import HtbClass
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import GATE_INSIDE, Net, processors

RATE = 10_000_000
RATES = (1_000_000, 2_000_000, 5_000_000, RATE)
"""Rates at which the simulator is compared with the measurement."""
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
LINE = 1.02
"""The line behind is a little faster than the shaped rate, as it should be."""
START = 0.3
WARM_UP = 5.0
"""Until TCP has left its slow start; at lower rates as many round trips, and as many packets are
measured."""
SETTLE = 0.5
"""For packets of the measured time to arrive."""
PREDICTIONS = 5

FIFO_AT_LEAST = 90e-3
SPREAD = 0.02
PREDICTED_DELAY = 0.2
PREDICTED_LOSS = 1.5

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
    """Measure every arrangement, for `seconds` at the highest rate, one after the other."""
    rows: list[Row] = []
    bars: list[Bar] = []
    for rate in RATES:
        at = quantity(rate, "bit/s")
        progress(f"simulator, {at}")
        predicted = predict(rate)
        runs = []
        for name, scheduler in (("gate, FIFO", "fifo"), ("gate, VirtualClock", "virtual-clock")):

            def gated(name: str = name, scheduler: str = scheduler, rate: int = rate, at: str = at) -> _Run:
                return _measure(f"{name}, {at}", seconds, rate, scheduler, ())

            progress(f"{name}, {at}")

            def in_time(run: _Run, rate: int = rate) -> bool:
                return run.row.figures["lateness_p99"] <= SLACK * RATE / rate

            runs.append(measures.repeated(gated, in_time))
        rows += [run.row for run in runs]
        bars += _predicted(at, [run.row for run in runs], predicted)
        if rate == RATE:
            rows += [run.row for run in _kernels(runs, seconds, progress)]
            bars += _at_full_rate(*(run.row.figures for run in runs[:2]))
        rows += predicted
    about = (
        f"a call (64 kbit/s of G.711, {CALL_RATE / 1e3:.1f} on the wire, {RESERVED // 1000} reserved) beside "
        f"{FLOWS} bulk TCPs (cubic) on 1 to {RATE // 1_000_000} Mbit/s, for {seconds:g} s at the highest rate"
    )
    samples = {run.row.name: run.delays for run in runs}
    return Outcome("voice", about, COLUMNS, tuple(rows), tuple(bars), "delay of the call", samples)


def _kernels(runs: list[_Run], seconds: float, progress: Callable[[str], None]) -> list[_Run]:
    """Measure the kernel's arrangements, and add them to `runs`."""
    call = HtbClass(RESERVED, priority=0, packets=ROOM, port=PORT)
    bulk = RATE - RESERVED
    each = [HtbClass(bulk // FLOWS, 1, ROOM // FLOWS, traffic.TCP_PORT + flow) for flow in range(FLOWS)]
    first = len(runs)
    for name, classes in (
        ("kernel, HTB, two classes", (call, HtbClass(bulk, 1, ROOM))),
        ("kernel, HTB, a class per flow", (call, *each, HtbClass(8_000, 2, ROOM))),
    ):
        progress(name)
        runs.append(_measure(name, seconds, RATE, None, classes))
    return runs[first:]


def _at_full_rate(fifo: dict[str, float], clock: dict[str, float]) -> list[Bar]:
    in_time = clock["lateness_p99"] <= SLACK
    return [
        Bar("FIFO, p99 delay of the call", "s", fifo["p99"], FIFO_AT_LEAST, at_least=True),
        Bar("VirtualClock, p99 delay of the call", "s", clock["p99"], MTU_TIME + SLACK, conclusive=in_time),
        Bar("VirtualClock, packets of the call lost", "share", clock["lost"], 0.0),
        Bar("VirtualClock, bulk flows apart", "share", clock["spread"], SPREAD),
    ]


def _predicted(at: str, measured: list[Row], predicted: list[Row]) -> list[Bar]:
    """Return by how much the simulator is off at a rate."""
    bars = []
    for name, real, said in zip(("FIFO", "VirtualClock"), measured, predicted, strict=True):
        delay = abs(said.figures["p99"] / real.figures["p99"] - 1)
        bars.append(Bar(f"simulator off at {at}: {name}, p99 delay", "share", delay, PREDICTED_DELAY))
        losses = sorted((real.figures["lost"], said.figures["lost"]))
        # Where neither loses any, they agree.
        factor = losses[1] / losses[0] if losses[0] else (1.0 if losses[1] == 0 else float("inf"))
        bars.append(Bar(f"simulator off at {at}: {name}, loss", "count", factor, PREDICTED_LOSS))
    return bars


def _measure(
    name: str, seconds: float, rate: int, scheduler: str | None, classes: tuple[HtbClass, ...]
) -> _Run:
    here, there = processors()
    slower = RATE / rate
    seconds, warm_up = seconds * slower, WARM_UP * slower
    with Net() as net:
        gate = None
        if scheduler is not None:
            rates = [f"gate.up={rate}bit", f"gate.down={rate}bit"]
            gate = Gate(net, "voice.toml", [f"port.scheduler={scheduler}", *rates], there)
        else:
            kernel.htb(net, rate, classes)
        most = int((seconds + warm_up + 5 * slower) * (rate / 8 / 400 + 50)) + 1000
        far = capture.at_host(net, "outside", most, (PORT,))
        near = Capture(net, "box", GATE_INSIDE, most)
        receiver = traffic.Receiver(net, FLOWS, here)
        traffic.start_udp(net, PORT, CALL_FRAME, CALL_RATE, here)
        time.sleep(START)
        traffic.start_tcp(net, FLOWS, "cubic", here)
        time.sleep(warm_up)
        start, before = time.time_ns(), receiver.bytes()
        time.sleep(seconds)
        end, after = time.time_ns(), receiver.bytes()
        time.sleep(SETTLE * slower)
        report = gate.stop() if gate is not None else None
        sent, came = near.read(), far.read()
    is_call = (sent.protocol == capture.UDP) & (sent.target == PORT)
    calls = sent.where(is_call).between(start, end)

    def of_call(packets: capture.Packets) -> capture.Packets:
        return packets.where((packets.protocol == capture.UDP) & (packets.target == PORT))

    delays, lost = measures.delays(calls, of_call(came))
    to_line, _ = measures.delays(calls, of_call(measures.behind_line(came, LINE * rate)))
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


def predict(rate: int = RATE) -> list[Row]:
    """Return the simulator's results for the same file at a rate."""
    from tidegate import compare

    at = quantity(rate, "bit/s")
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        # A scenario has the rates of its gate's file.
        text = (here / "voice.toml").read_text().replace('"10mbit"', f'"{rate}bit"')
        Path(folder, "voice.toml").write_text(text)
        scenario = Path(folder, "voice-prediction.toml")
        scenario.write_text((here / scenario.name).read_text())
        compared = compare(scenario, ["fifo", "virtual-clock"], replications=PREDICTIONS)
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
        rows.append(Row(f"simulator, {name}, {at}", known))
    return rows
