"""Properties of the conformance matrix that arrivals and departures decide, as its files state them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable

from peers.workloads import LARGEST, LATENCY, LINK, Arrival, Run, Workload, conforming, flood, flows

CLOCK = 2e-4
"""The most by which a peer's clock may be late, in seconds: a quarter of the smallest packet."""


class Property(ABC):
    """A property: random workloads, and a judge of what a port does with one."""

    name: str
    after = 10.0
    """Seconds behind the last arrival for which a port goes on."""

    @abstractmethod
    def draw(self, rng: random.Random) -> Workload:
        """Draw a workload."""

    @abstractmethod
    def judge(self, run: Run) -> str | None:
        """Say how a run breaks the property; None if it does not."""


def _merged(each: Iterable[list[Arrival]]) -> list[Arrival]:
    return sorted((arrival for one in each for arrival in one), key=lambda arrival: arrival[0])


class WorkConserving(Property):
    name = "work-conserving"
    after = 5.0

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        return Workload(own, _merged(conforming(place, flow, 2.0, rng) for place, flow in enumerate(own)))

    def judge(self, run: Run) -> str | None:
        came = [time for time, _, _ in run.workload.arrivals]
        waiting: list[float] = []
        position, free = 0, 0.0
        for one in sorted(run.sent, key=lambda one: one.left):
            start = one.left - 8 * one.length / LINK
            while position < len(came) and came[position] <= start + CLOCK:
                insort(waiting, came[position])
                position += 1
            since = max(free, waiting[0]) if waiting else start
            if start - since > CLOCK:
                return f"the link is idle for {start - since:.3f} s, and a packet waits"
            if one.arrived in waiting:
                waiting.remove(one.arrived)
            free = one.left
        return None


class Order(Property):
    name = "order"

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        each = (
            conforming(place, flow, 1.0, rng) if rng.random() < 0.5 else flood(place, rng.random(), 1.0)
            for place, flow in enumerate(own)
        )
        return Workload(own, _merged(each))

    def judge(self, run: Run) -> str | None:
        expected = [0] * len(run.flows)
        for one in sorted(run.sent, key=lambda one: one.left):
            if one.number != expected[one.flow]:
                return f"packet {one.number} of a flow leaves before an earlier one"
            expected[one.flow] += 1
        return None


class Throughput(Property):
    name = "throughput"
    after = 12.0

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        each = (flood(place, rng.uniform(0.0, 6.0), 48.0) for place in range(len(own)))
        return Workload(own, _merged(each), rng.randrange(len(own)))

    def judge(self, run: Run) -> str | None:
        subject = run.workload.subject
        begin = next(time for time, flow, _ in run.workload.arrivals if flow == subject)
        flow = run.flows[subject]
        for second in range(1, 13):
            behind = second - flow.seconds(run.served(subject, begin, begin + second))
            if behind > LATENCY + flow.seconds(LARGEST):
                return f"after {second} s beside floods a flow is {behind:.2f} s behind its reservation"
        return None


class Isolation(Property):
    name = "isolation"
    after = 12.0

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        subject = rng.randrange(len(own))
        each = (
            conforming(place, flow, 6.0, rng)
            if place == subject
            else flood(place, rng.uniform(0.0, 2.0), 24.0)
            for place, flow in enumerate(own)
        )
        return Workload(own, _merged(each), subject)

    def judge(self, run: Run) -> str | None:
        subject = run.workload.subject
        flow = run.flows[subject]
        worst = max(run.delays(subject))
        if worst > flow.seconds(flow.burst + LARGEST) + LATENCY:
            return f"a packet that conforms waits {worst:.2f} s beside floods"
        return None


class Delay(Property):
    name = "delay"
    after = 20.0

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        return Workload(own, _merged(conforming(place, flow, 6.0, rng) for place, flow in enumerate(own)))

    def judge(self, run: Run) -> str | None:
        # All bursts together on a tenth of the link, or a flow's own on its reservation.
        shared = 10 * 8 * sum(flow.burst for flow in run.flows) / LINK
        for place, flow in enumerate(run.flows):
            worst = max(run.delays(place))
            if worst > max(flow.seconds(flow.burst + LARGEST) + LATENCY, shared):
                return f"a packet waits {worst:.2f} s though all flows conform"
        return None


class Fairness(Property):
    name = "fairness"

    def draw(self, rng: random.Random) -> Workload:
        # The second comes when the first has had the link for a while.
        return Workload(flows(rng), _merged((flood(0, 0.0, 30.0), flood(1, 3.0, 30.0))))

    def judge(self, run: Run) -> str | None:
        one, other = run.flows[:2]
        for second in range(1, 11):
            apart = one.seconds(run.served(0, 3.0, 3.0 + second)) - other.seconds(
                run.served(1, 3.0, 3.0 + second)
            )
            if abs(apart) > LATENCY + one.seconds(LARGEST) + other.seconds(LARGEST):
                return f"within {second} s two flows are {abs(apart):.2f} s of their reservations apart"
        return None


class PunishmentFree(Property):
    name = "punishment-free"

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng)
        each = (flood(place, 4.0 if place else 0.0, 40.0) for place in range(len(own)))
        return Workload(own, _merged(each))

    def judge(self, run: Run) -> str | None:
        flow = run.flows[0]
        for second in range(1, 11):
            behind = second - flow.seconds(run.served(0, 4.0, 4.0 + second))
            if behind > LATENCY + flow.seconds(LARGEST):
                return (
                    f"{second} s after others came back, a flow that had the link is {behind:.2f} s "
                    "behind its reservation"
                )
        return None


class BoundedAcceleration(Property):
    name = "bounded acceleration"
    after = 8.0

    def draw(self, rng: random.Random) -> Workload:
        own = flows(rng, LINK)
        each = [flood(0, 2.0, 4.0)]
        for place, flow in enumerate(own[1:], start=1):
            gap = 8 * LARGEST / flow.reserve
            each.append([(number * gap, place, LARGEST) for number in range(int(10.0 / gap))])
        return Workload(own, _merged(each))

    def judge(self, run: Run) -> str | None:
        flow = run.flows[0]
        ahead = max(
            flow.seconds(run.served(0, 2.0, 2.0 + quarter / 4)) - quarter / 4 for quarter in range(1, 17)
        )
        if ahead > LATENCY + flow.seconds(flow.burst + LARGEST):
            return f"a burst is served {ahead:.2f} s ahead of its reservation"
        return None


PROPERTIES: tuple[Property, ...] = (
    WorkConserving(),
    Order(),
    Throughput(),
    Isolation(),
    Delay(),
    Fairness(),
    PunishmentFree(),
    BoundedAcceleration(),
)
"""Those of the matrix, in its order, but for what happens to a flow that is held or absent."""
