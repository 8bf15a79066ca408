"""The schedulers of ns.py at one port."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import simpy
from ns.packet.packet import Packet
from ns.port.port import Port
from ns.scheduler.drr import DRRServer
from ns.scheduler.sp import SPServer
from ns.scheduler.virtual_clock import VirtualClockServer
from ns.scheduler.wfq import WFQServer

from peers.workloads import LINK, Flow, Run, Sent, Workload

Server = Callable[[Any, Sequence[Flow]], Any]
"""A function that makes a scheduler in an environment of simpy, for flows."""

URGENCIES = 4
"""Levels of priority: in ns.py the greatest number is the most urgent."""

DISCIPLINES: dict[str, tuple[str, Server]] = {
    "fifo": ("Port", lambda env, _: Port(env, LINK)),
    "strict-priority": (
        "SPServer",
        lambda env, flows: SPServer(env, LINK, [URGENCIES - flow.priority for flow in flows]),
    ),
    "virtual-clock": (
        "VirtualClockServer",
        lambda env, flows: VirtualClockServer(env, LINK, [1 / flow.reserve for flow in flows]),
    ),
    "wfq": ("WFQServer", lambda env, flows: WFQServer(env, LINK, [flow.reserve / LINK for flow in flows])),
    "drr": ("DRRServer", lambda env, flows: DRRServer(env, LINK, [flow.part for flow in flows])),
}
"""By the names that the disciplines have here: their classes there, and what makes them."""


class _Sink:
    """The end of the link: it notes when packets come."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.sent: list[Sent] = []

    def put(self, packet: Any, **_: Any) -> None:
        """Note a packet."""
        flow, number = packet.flow_id, packet.packet_id
        self.sent.append(Sent(flow, number, packet.size, packet.time, self.env.now))


def run(discipline: str, workload: Workload, after: float) -> Run:
    """Send a workload through a scheduler, and go on for so many seconds behind the last arrival."""
    env = simpy.Environment()
    server = DISCIPLINES[discipline][1](env, workload.flows)
    sink = _Sink(env)
    server.out = sink

    def source() -> Any:
        counts = [0] * len(workload.flows)
        for time, flow, length in workload.arrivals:
            if time > env.now:
                yield env.timeout(time - env.now)
            server.put(Packet(time, length, counts[flow], flow_id=flow))
            counts[flow] += 1

    env.process(source())
    end = workload.arrivals[-1][0] + after
    env.run(until=end)
    return Run(workload, sink.sent, end)
