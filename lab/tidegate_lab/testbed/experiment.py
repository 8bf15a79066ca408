"""Carries out a plan: builds its network, lets its flows send, and records. Runs in the guest."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from tidegate_lab.testbed import gate_process, network, recorder
from tidegate_lab.testbed.clock import Loop
from tidegate_lab.testbed.relay import Relay
from tidegate_lab.testbed.traffic import KINDS

PLAN, FIGURES = "plan.json", "figures.json"
AHEAD = 100_000_000
"""Least time from the end of all preparations to the start, in ns."""
PHASE = 4_096_000_000
"""The start is at a multiple of this, in ns: milliseconds of the kernel's clocks, and the steps of its timer
wheel for up to half a minute, then begin with those of the run."""
REPORTS = 50
"""Reports of progress."""


def main(results: str) -> None:
    """Carry out the plan in the folder `results`, and write figures and recordings there."""
    place = Path(results)
    plan = json.loads((place / PLAN).read_text(encoding="utf-8"))
    network.build(plan)
    gate = gate_process.start(plan["gate"]["box"], plan["gate"]["command"]) if "gate" in plan else None
    recorders = [
        recorder.Recorder(link["from" if at == "started" else "to"], interface(link), place / f"{at}-{index}")
        for index, link in enumerate(plan["links"])
        for at, interface in (("started", network.egress), ("received", network.arrival))
        if link["is_recorded"]
    ]
    loop = Loop(-(-(time.monotonic_ns() + AHEAD) // PHASE) * PHASE)
    if "relay" in plan:
        Relay(loop, plan["relay"])
    # The answers of a connection are made by its other end.
    flows = [KINDS[flow["kind"]](loop, flow, place) for flow in plan["flows"] if flow["kind"] in KINDS]
    duration: int = plan["duration"]
    figures: dict[str, Any] = {}

    def look(name: str) -> None:
        figures[name] = {
            "flows": [flow.figures() for flow in flows],
            "nodes": [network.counters(index) for index in range(len(plan["nodes"]))],
        }

    recorder.watch(loop, recorders)
    for report in range(1, REPORTS):
        loop.at(duration * report // REPORTS, partial(_tell, report / REPORTS))
    loop.at(plan["warmup"], lambda: look("warmup"))
    loop.run(duration)
    look("end")
    for one in recorders:
        one.end()
    if gate is not None:
        figures["gate"] = gate_process.stop(gate)
    figures["queues"] = [json.loads(text or "[]") for text in network.queues(plan)]
    figures["clock"] = loop.start
    figures["start"] = loop.start + _time_of_day()
    (place / FIGURES).write_text(json.dumps(figures), encoding="utf-8")


def _tell(share: float) -> None:
    print(f"progress {100 * share:g}", flush=True)


def _time_of_day() -> int:
    """Return the time of day at which the monotonic clock was 0, in ns."""
    # Each look takes equally long.
    before, day, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    return day - (before + after) // 2
