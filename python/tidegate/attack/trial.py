"""One run under a pattern, and the patterns that are timed by what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate import _tidegate
from tidegate.attack.contracts import TICKS, Packets
from tidegate.attack.pattern import Plan, Traffic

if TYPE_CHECKING:
    from tidegate.source import LoadedScenario

Plans = dict[int, Plan]
"""The plan of each flow with a contract, by its index."""

SLICE = 200_000
"""Events between two looks at whether to stop."""


@dataclass(frozen=True)
class Outcome:
    """The findings of a run under a pattern.

    Attributes:
        delay: Largest delay of the attacked flow, in s.
        packets: What each flow with a contract sent.
        meetings: When its packet was at each port of its route, in ticks from the start.
        origin: Ticks from the start of the run to the time 0 of the plans.
        fingerprint: The outcome of the run.
        packet_hops: Packets that left a port in it.
    """

    delay: float
    packets: dict[int, Packets]
    meetings: list[int]
    origin: int
    fingerprint: str
    packet_hops: int


class Trials:
    """Runs patterns.

    Args:
        scenario: The scenario.
        traffic: The packets of plans.
        seed: Seed of the runs, which decides what flows without a contract send.
        after: Seconds that a run lasts beyond the first packets of all flows.
    """

    def __init__(self, scenario: LoadedScenario, traffic: Traffic, seed: int, after: float) -> None:
        self.runs = 0
        self._scenario = scenario
        self._traffic = traffic
        self._seed = seed
        self._after = after

    def seconds(self, packets: dict[int, Packets]) -> float:
        """Return how long a run with these packets lasts."""
        last = max((sent[-1][0] for sent in packets.values() if sent), default=0)
        return last / TICKS + self._after

    def run(self, packets: dict[int, Packets], origin: int) -> Outcome | None:
        """Run with these packets; None if no packet of the attacked flow arrives."""
        self.runs += 1
        attacked = self._traffic.attacked
        run = _tidegate.Run.playing(self._scenario, self._seed, packets, attacked, self.seconds(packets))
        while not run.advance(SLICE):
            pass
        slowest = run.slowest()
        if not slowest:
            return None
        meetings = [round(hop["arrived"] * TICKS) + round(hop["held"] * TICKS) for hop in slowest[0]["hops"]]
        return Outcome(slowest[0]["delay"], packets, meetings, origin, run.fingerprint, run.packet_hops)

    def settle(self, plans: Plans, meetings: list[int], lead: int, rounds: int) -> list[Outcome]:
        """Run plans, each time timed by the meetings that the run before has shown.

        Args:
            plans: The plans.
            meetings: When the attacked packet is expected at each port, from the time 0 of the plans.
            lead: Ticks from the start of the run to the first packet.
            rounds: Most runs.
        """
        outcomes: list[Outcome] = []
        for _ in range(rounds):
            packets, origin = self._timed(plans, meetings, lead)
            outcome = self.run(packets, origin)
            if outcome is None:
                break
            outcomes.append(outcome)
            shown = [at - origin for at in outcome.meetings]
            if shown == meetings:
                break
            meetings = shown
        return outcomes

    def _timed(self, plans: Plans, meetings: list[int], lead: int) -> tuple[dict[int, Packets], int]:
        traffic = self._traffic
        own = plans.get(traffic.attacked)
        burst = max(meetings[0] - own.shift, 0) if own is not None else 0
        starts = {flow: traffic.start(flow, plan, meetings, burst) for flow, plan in plans.items()}
        if own is None:
            # The attacked flow has its own times, which nothing can be earlier than.
            origin = 0
            starts = {flow: max(start, 0) for flow, start in starts.items()}
        else:
            origin = lead - min(starts.values())
        packets = {
            flow: [(at + starts[flow] + origin, size) for at, size in traffic.packets(flow, plan)]
            for flow, plan in plans.items()
        }
        return packets, origin
