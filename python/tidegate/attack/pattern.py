"""Patterns of arrivals: what each flow with a contract sends, relative to the attacked packet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidegate.attack.contracts import Contract, Packets, greedy
from tidegate.attack.network import Routes

MOST = 400
"""Most packets of a flow."""


class Place(Enum):
    """Which packet of a flow's burst meets the attacked packet at the port that they share."""

    FIRST = "first"
    LAST = "last"
    WITH_BURST = "with the burst"
    """Its first packet meets the first of the attacked flow's own burst."""


@dataclass(frozen=True)
class Plan:
    """When and how a flow sends.

    Attributes:
        hop: Which of the ports that it shares with the attacked flow its burst is timed for, from 0.
        place: Which of its packets meets the attacked one there.
        shift: Ticks by which it is later than that.
        small: Whether its packets are its smallest ones and not its largest.
        window: Share of the time of the attack in which it goes on sending after its first packet.
    """

    hop: int = 0
    place: Place = Place.LAST
    shift: int = -1
    small: bool = False
    window: float = 1.0


class Traffic:
    """Makes the packets of plans; what depends on no time is made once.

    Attributes:
        contracts: The contract of each flow.
        attacked: Index of the attacked flow.
        movable: Indexes of the flows that have a contract.
        window: Ticks over which flows go on sending after their first packet, at most.

    Args:
        contracts: The contract of each flow.
        routes: Routes seen from the attacked flow.
        attacked: Index of that flow.
        window: Ticks over which flows go on sending after their first packet, at most.
    """

    def __init__(self, contracts: list[Contract], routes: Routes, attacked: int, window: int) -> None:
        self.contracts = contracts
        self.attacked = attacked
        self.movable = [ix for ix, one in enumerate(contracts) if one.reason is None]
        self._routes = routes
        self.window = window
        self._made: dict[tuple[int, bool, float], Packets] = {}
        self._bursts: dict[tuple[int, bool], int] = {}

    def packets(self, flow: int, plan: Plan) -> Packets:
        """Return the packets of a flow from the first one on, which is at 0."""
        key = (flow, plan.small, plan.window)
        if key not in self._made:
            window = round(plan.window * self.window)
            self._made[key] = greedy(self.contracts[flow], self._size(flow, plan), window, MOST)
        return self._made[key]

    def start(self, flow: int, plan: Plan, meetings: list[int], burst: int) -> int:
        """Return when a flow sends its first packet.

        Args:
            flow: Index of the flow.
            plan: Its plan.
            meetings: When the attacked packet is at each port of its route.
            burst: Ticks from the first packet of the attacked flow's burst to that packet.
        """
        shared = self._routes.shared[flow]
        if flow == self.attacked or not shared:
            return plan.shift
        place = shared[plan.hop % len(shared)]
        size = self._size(flow, plan)
        arrives = meetings[place] + plan.shift - self._routes.travel(flow, place, size)
        if plan.place is Place.LAST:
            count = self.burst(flow, plan)
            return arrives - self._routes.spread(flow, place, [size] * count)
        return arrives - (burst if plan.place is Place.WITH_BURST else 0)

    def burst(self, flow: int, plan: Plan) -> int:
        """Return the number of packets that a flow may send at once."""
        key = (flow, plan.small)
        if key not in self._bursts:
            one = greedy(self.contracts[flow], self._size(flow, plan), 0, MOST)
            self._bursts[key] = max(len(one), 1)
        return self._bursts[key]

    def hops(self, flow: int) -> int:
        """Return the number of ports that a flow shares with the attacked one."""
        return len(self._routes.shared[flow])

    def first_place(self, flow: int) -> int:
        """Return the first port on the attacked route that a flow passes; the last ones pass none."""
        return min(self._routes.shared[flow], default=len(self._routes.own))

    def _size(self, flow: int, plan: Plan) -> int:
        contract = self.contracts[flow]
        return contract.smallest if plan.small else contract.largest
