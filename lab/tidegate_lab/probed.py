"""A load of one host and a probe of another, as a file describes them: the outcome of the probe.

They are run under a gate, under the kernel's HTB and CAKE, and in a FIFO.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from tidegate import parse_rate, parse_time
from tidegate_lab import capture, kernel, measures, traffic
from tidegate_lab.capture import Capture, Packets
from tidegate_lab.gate import Gate
from tidegate_lab.kernel import HtbClass
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.net import GATE_INSIDE, GATE_OUTSIDE, SECOND, Net, processors

PORT = 5004
ROOM = 1000
"""Packets that every arrangement can hold."""
OTHERS = 100
"""HTB sets this part of the rate aside for packets of no class, as the gate does."""
WINDOW = 100_000_000
"""Window in ns, in which the least share of the probe that passes is measured."""
PROBES = 100_000_000
"""Highest rate, in bit/s, of the packets that a capture of probes alone has to keep."""
SETTLE = 0.5

COLUMNS = (
    Column("p50", "delay p50", "s"),
    Column("p99", "p99", "s"),
    Column("max", "longest", "s"),
    Column("least", "least in 100 ms", "share"),
    Column("lost", "lost", "share"),
    Column("load", "load", "bit/s"),
    Column("offered", "frames/s offered", "count"),
    Column("passed", "passed", "count"),
    Column("over", "offered / passed", "count"),
    Column("lateness_p99", "late p99", "s"),
    Column("off", "reported off", "s"),
    Column("flows", "open flows", "count"),
)


@dataclass(frozen=True)
class _Run:
    row: Row
    delays: npt.NDArray[np.float64]


def carry_out(name: str, seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment of this name, the probe for `seconds` under each arrangement."""
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text()
    plan = tomllib.loads(text)
    runs = []
    for way in ("gate", "kernel, HTB", "kernel, CAKE", "kernel, FIFO"):
        if way == "kernel, CAKE" and not kernel.has_cake():
            continue
        progress(way)
        runs.append(_measure(way, plan, seconds))
    figures = runs[0].row.figures
    bars = tuple(
        Bar(
            f"gate: {bar['name']}",
            next(column.unit for column in COLUMNS if column.name == bar["column"]),
            figures[bar["column"]],
            bar.get("at_least", bar.get("at_most")),
            at_least="at_least" in bar,
        )
        for bar in plan["bar"]
    )
    rows = tuple(run.row for run in runs)
    samples = {run.row.name: run.delays for run in runs}
    return Outcome(
        name, f"{plan['about']}, {seconds:g} s", COLUMNS, rows, bars, "delay of the probe", samples
    )


def _measure(way: str, plan: dict[str, Any], seconds: float) -> _Run:
    here, there = processors()
    rate = parse_rate(plan["rate"])
    history = parse_time(plan["history"])
    probe, tcps, flood = plan["probe"], plan.get("tcps", 0), plan.get("flood", 0)
    with Net() as net:
        net.add_second_host()
        gate = _arrange(net, way, plan, rate, there)
        # A flood itself is not kept, only the probe.
        most = int((history + seconds + 5) * ((PROBES if flood else rate) / 8 / 400)) + 1000
        far = capture.at_host(net, "outside", most, (PORT,), PORT if flood else 0)
        near = Capture(net, "box", GATE_INSIDE, most, (), PORT if flood else 0)
        traffic.open_flows(net, plan.get("idle_flows", 0), here)
        if gate is not None:
            traffic.start_scrapers(net, plan.get("scrapers", 0), here)
        traffic.start_busy(net, plan.get("busy", 0), there)
        _receiver = traffic.Receiver(net, tcps, here)
        traffic.start_tcp(net, tcps, "cubic", here)
        if flood:
            traffic.start_flood(net, flood, here)
        time.sleep(history)
        start, before = time.time_ns(), frames(near)
        traffic.start_udp(net, PORT, probe["frame"], parse_rate(probe["rate"]), here, SECOND)
        time.sleep(seconds)
        end, after = time.time_ns(), frames(near)
        time.sleep(SETTLE)
        report = gate.stop() if gate is not None else None
        sent, came = near.read(), far.read()
    load = came.where(came.protocol == capture.TCP).between(start, end)
    sent, came = (of_probe(packets) for packets in (sent, came))
    # The gate's report is of all of them.
    all_delays, _ = measures.delays(sent, came)
    sent = sent.between(start, end)
    delays, lost = measures.delays(sent, came)
    figures = {
        "p50": measures.quantile(delays, 0.5),
        "p99": measures.quantile(delays, 0.99),
        "max": float(delays.max()) if len(delays) else float("nan"),
        "least": measures.least_passed(sent, came, WINDOW),
        "lost": lost / len(sent),
    }
    if tcps:
        figures["load"] = float(load.length.sum()) * 8e9 / (end - start)
    if flood:
        offered, passed = ((after - before) * 1e9 / (end - start)).tolist()
        figures |= {"offered": offered, "passed": passed, "over": offered / passed}
    if report is not None:
        up = report["directions"]["up"]
        figures["lateness_p99"] = up["lateness"]["p99"]
        figures["flows"] = float(sum(flow["flows"] for flow in up["flows"]))
        figures["off"] = abs(figures["lateness_p99"] - measures.quantile(all_delays, 0.99))
    return _Run(Row(way, figures), delays)


def frames(box: Capture) -> npt.NDArray[np.int64]:
    """Return the frames that have come in at the box and left it so far."""
    return np.array([box.frames(GATE_INSIDE), box.frames(GATE_OUTSIDE, sent=True)])


def of_probe(packets: Packets) -> Packets:
    """Return the packets of the probe."""
    return packets.where((packets.protocol == capture.UDP) & (packets.target == PORT))


def _arrange(net: Net, way: str, plan: dict[str, Any], rate: int, processor: int) -> Gate | None:
    """Put in the box what the row is about."""
    if way == "gate":
        sets = ["gate.fail=closed", f"switch.buffer={ROOM}p"]
        return Gate(net, plan.get("gate"), sets, processor, plan.get("arguments", ()), plan["rate"])
    if way == "kernel, HTB":
        rest = rate // OTHERS
        share = (rate - rest) // len(plan["classes"])
        classes = [HtbClass(share, 0, ROOM // 2, source=source) for source in plan["classes"]]
        kernel.htb(net, rate, [*classes, HtbClass(rest, 1, ROOM // 2)])
    elif way == "kernel, CAKE":
        kernel.cake(net, rate)
    else:
        kernel.tbf(net, rate, ROOM)
    return None
