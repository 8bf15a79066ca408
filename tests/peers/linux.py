"""Queueing disciplines of a Linux kernel in virtual time, at a link that is faster by a factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from peers.workloads import LARGEST, LINK, Flow, Run, Sent, Workload
from tidegate_lab.testbed import one_port, runs
from tidegate_lab.testbed.qdisc import UNLIMITED
from tidegate_lab.uml import machine

FASTER = one_port.RATE / LINK
"""Times of workloads are divided by this."""
ROOT = "qdisc add dev @ parent 1:1 handle 10:"
BANDS = 4
GAP = 20_000
"""Least time between packets of a flow, in ns: the recorder of packets has to follow."""


def _queues(classes: Sequence[int]) -> list[str]:
    """Return a queue for each class, and a filter that takes each flow to its class."""
    queues = [f"qdisc add dev @ parent 10:{one} pfifo limit {UNLIMITED}" for one in dict.fromkeys(classes)]
    return queues + [
        "filter add dev @ parent 10: protocol ip prio 1 u32 "
        f"match ip dst 10.0.0.{number + 1}/32 flowid 10:{one}"
        for number, one in enumerate(classes)
    ]


def _prio(flows: Sequence[Flow]) -> list[str]:
    bands = f"{ROOT} prio bands {BANDS} priomap {' '.join(['0'] * 16)}"
    return [bands, *_queues([flow.priority + 1 for flow in flows])]


def _drr(flows: Sequence[Flow]) -> list[str]:
    least = min(flow.part for flow in flows)
    classes = [
        f"class add dev @ parent 10: classid 10:{number} drr quantum {LARGEST * flow.part // least}"
        for number, flow in enumerate(flows, start=1)
    ]
    return [f"{ROOT} drr", *classes, *_queues(range(1, len(flows) + 1))]


def _htb(flows: Sequence[Flow]) -> list[str]:
    link = f"{one_port.RATE}bit"
    classes = [f"class add dev @ parent 10: classid 10:100 htb rate {link} ceil {link}"]
    classes += [
        f"class add dev @ parent 10:100 classid 10:{number} htb rate {round(flow.reserve * FASTER)}bit "
        f"ceil {link} quantum {LARGEST * flow.part}"
        for number, flow in enumerate(flows, start=1)
    ]
    return [f"{ROOT} htb default 1", *classes, *_queues(range(1, len(flows) + 1))]


DISCIPLINES: dict[str, tuple[str, Callable[[Sequence[Flow]], list[str]]]] = {
    "fifo": ("pfifo", lambda _: [f"{ROOT} pfifo limit {UNLIMITED}"]),
    "strict-priority": ("prio", _prio),
    "drr": ("drr", _drr),
    "classes that borrow": ("htb", _htb),
}
"""By the names that the disciplines have here: those of the kernel, and its commands for flows."""


def _spaced(own: Sequence[tuple[float, int]]) -> np.ndarray:
    """Return packets as an arrival process has them: not at once, but far faster than the link sends."""
    times = np.array([round(time * 1e9) for time, _ in own])
    steps = np.arange(len(own)) * GAP
    times = np.maximum.accumulate(times - steps) + steps
    return np.column_stack((times, [length for _, length in own]))


def runner(kernel: Any) -> Callable[[str, Workload, float], Run]:
    """Return what sends a workload through a discipline of a kernel."""

    def run(discipline: str, workload: Workload, after: float) -> Run:
        commands = DISCIPLINES[discipline][1](workload.flows)
        of_flow = [
            [(time, length) for time, own, length in workload.arrivals if own == flow]
            for flow in range(len(workload.flows))
        ]
        # A flow without a packet keeps its place by one that comes when all is over.
        last = workload.arrivals[-1][0] + after
        packets = [
            _spaced([(time / FASTER, length) for time, length in own or [(last, LARGEST)]]) for own in of_flow
        ]
        with machine.workspace() as place:
            source = one_port.scenario(place, one_port.Port(), packets, in_kernel=True)
            outcome = runs.run_once(kernel, source, 1, 0, None, qdiscs={one_port.LINK: commands})
        arrived = [outcome.flows[f"f{flow}"].arrived[1] for flow in range(len(of_flow))]
        # The kernel's time of the beginning: its clock runs from before, and the way to the port takes some.
        came = [own[0] - sent[0, 0] for own, sent in zip(arrived, packets, strict=True)]
        begin = min(came)
        sent = []
        for flow, own in enumerate(of_flow):
            started = (outcome.flows[f"f{flow}"].started[1] - begin) * 1e-9 * FASTER
            for number, (time, length) in enumerate(own):
                if started[number] >= 0:
                    left = float(started[number]) + 8 * length / LINK
                    sent.append(Sent(flow, number, length, time, left))
        return Run(workload, sent, last)

    return run
