"""Routes of a scenario as the search sees them: shared ports, and times to reach them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.attack.contracts import TICKS

if TYPE_CHECKING:
    from tidegate.source import LoadedScenario


@dataclass(frozen=True)
class Routes:
    """The routes of all flows, seen from one of them.

    Attributes:
        own: Links of its route.
        shared: Of each flow, places on the own route of the ports that it passes, in its order.
        rates: Of each link, bit/s.
        delays: Of each link, ticks.
        routes: Links of each flow's route.
    """

    own: list[int]
    shared: list[list[int]]
    rates: list[int]
    delays: list[int]
    routes: list[list[int]]

    def travel(self, flow: int, place: int, size: int) -> int:
        """Return the ticks from a packet's start to its arrival at a port of the own route, alone."""
        ticks = 0
        for link in self.routes[flow]:
            if link == self.own[place]:
                break
            ticks += self.sending(link, size) + self.delays[link]
        return ticks

    def sending(self, link: int, size: int) -> int:
        """Return the ticks that a packet takes on a link."""
        return -(-size * 8 * TICKS // self.rates[link])

    def spread(self, flow: int, place: int, sizes: list[int]) -> int:
        """Return the ticks from the first to the last packet of a burst at a port of the own route."""
        before = self.routes[flow][: self.routes[flow].index(self.own[place])]
        return max((sum(self.sending(link, size) for size in sizes[1:]) for link in before), default=0)


def routes(scenario: LoadedScenario, flow: int) -> Routes:
    """Return the routes of a scenario, seen from a flow by its index."""
    network = json.loads(scenario.network_json())
    links = network["links"]
    ways = [one["route"] for one in network["flows"]]
    own = ways[flow]
    places = {link: place for place, link in enumerate(own)}
    return Routes(
        own=own,
        shared=[[places[link] for link in way if link in places] for way in ways],
        rates=[link["rate"] for link in links],
        delays=[round(link["delay"] * TICKS) for link in links],
        routes=ways,
    )
