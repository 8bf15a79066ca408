"""The routes through a network between two nodes, the shortest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate.attack.contracts import TICKS
from tidegate.plan.curves import Hop


@dataclass(frozen=True)
class Link:
    """A link.

    Attributes:
        name: Its name.
        start: Index of the node at which it starts.
        end: Index of the node at which it ends.
        hop: Its rate and its delay.
        is_steady: Whether it has one rate and one delay, and loses nothing.
        is_of_switch: Whether it starts at a switch.
    """

    name: str
    start: int
    end: int
    hop: Hop
    is_steady: bool
    is_of_switch: bool


Route = tuple[int, ...]
"""Indices of links."""

Candidate = tuple[int, Route]
"""The length of a route, and the route."""


class Ways:
    """Routes without a circle, in the order of hops, delay, and place of their links in the file.

    The algorithm is that of Yen (Finding the k shortest loopless paths in a network, Management Science
    17(11), 1971). Of parallel links the first one counts: that is the one that a scenario's `route` names.

    Args:
        links: All links.
    """

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._out: dict[int, list[int]] = {}
        self._into: dict[int, list[int]] = {}
        ticks = [round(link.hop.delay * TICKS) for link in links]
        # No sum of delays is as long as one hop.
        self._lengths = [1 + sum(ticks) + delay for delay in ticks]
        self._left: dict[int, dict[int, int]] = {}
        seen = set()
        for ix, link in enumerate(links):
            is_first = (link.start, link.end) not in seen
            seen.add((link.start, link.end))
            if is_first and link.is_steady:
                self._out.setdefault(link.start, []).append(ix)
                self._into.setdefault(link.end, []).append(ix)

    def between(self, start: int, end: int) -> Iterator[Route]:
        """Yield the routes from one node to another."""
        found: list[Route] = []
        waiting: list[Candidate] = []
        known: set[Route] = set()
        shortest = self._shortest(start, end, (), set())
        if shortest is not None:
            waiting.append(shortest)
        while waiting:
            _, route = heapq.heappop(waiting)
            yield route
            found.append(route)
            # Each next route leaves those before at one of their nodes, by another link.
            for place in range(len(route)):
                root = route[:place]
                banned = {other[place] for other in found if other[:place] == root}
                candidate = self._shortest(start, end, root, banned)
                if candidate is not None and candidate[1] not in known:
                    known.add(candidate[1])
                    heapq.heappush(waiting, candidate)

    def _shortest(self, start: int, end: int, root: Route, banned: set[int]) -> Candidate | None:
        """Return the shortest route that begins with `root` and goes on with a link that is not banned."""
        left = self._distances(end)
        nodes = [start, *(self._links[link].end for link in root)]
        at = nodes[-1]
        if at not in left:
            return None
        gone = sum(self._lengths[link] for link in root)
        done = set(nodes[:-1])
        waiting = [(gone + left[at], root, gone, at)]
        while waiting:
            whole, route, gone, node = heapq.heappop(waiting)
            if node == end:
                return whole, route
            if node in done:
                continue
            done.add(node)
            for ix in self._out.get(node, []):
                link = self._links[ix]
                if link.end in done or link.end not in left or (route == root and ix in banned):
                    continue
                if node == start or link.is_of_switch:
                    to = gone + self._lengths[ix]
                    heapq.heappush(waiting, (to + left[link.end], (*route, ix), to, link.end))
        return None

    def _distances(self, end: int) -> dict[int, int]:
        """Return the least length of a route from each node, if hosts forwarded."""
        if end not in self._left:
            found: dict[int, int] = {}
            waiting = [(0, end)]
            while waiting:
                length, node = heapq.heappop(waiting)
                if node in found:
                    continue
                found[node] = length
                for ix in self._into.get(node, []):
                    heapq.heappush(waiting, (length + self._lengths[ix], self._links[ix].start))
            self._left[end] = found
        return self._left[end]
