"""The search for routes: one option of each flow, so that no link has more reserved than its rate.

The search is complete. It takes a flow that has one option left, or else the largest, tries its options in
their order, and goes back where a flow has none, or where a cut of the network has too little left for the
flows that must cross it. Alike flows take options in the order of their places, as nothing else tells them
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Option = tuple[int, tuple[int, ...]]
"""A reservation in bit/s, and the links that have it."""

Cost = Callable[[Option, Sequence[int]], float]
"""The cost of an option, given the bit/s that are left of each link."""

WORK = 1_000_000
"""Options that are looked at in a search before it ends without an answer."""


class UndecidedError(Exception):
    """The search has ended without an answer."""


@dataclass(frozen=True)
class Cut:
    """Links of which a set of flows must cross one.

    Attributes:
        name: Its name in messages.
        links: The links.
    """

    name: str
    links: frozenset[int]


def solve(
    options: Sequence[Sequence[Option]], rates: Sequence[int], cuts: Sequence[Cut], work: int = WORK
) -> list[int] | None:
    """Return the place of the option of each flow; None if there is no choice that fits.

    Args:
        options: Options of each flow, best first.
        rates: Rate of each link, in bit/s.
        cuts: Sets of links beside single links that are checked as a whole.
        work: Options that are looked at before the search ends.

    Raises:
        UndecidedError: The search has ended without an answer.
    """
    if any(not some for some in options):
        return None
    for cost in (None, _most_used):
        chosen = _greedy(options, list(rates), cost)
        if chosen is not None:
            return chosen
    return _Search(options, list(rates), cuts, work).run()


def overbooked(
    options: Sequence[Sequence[Option]], rates: Sequence[int], cuts: Sequence[Cut]
) -> tuple[Cut, int, int] | None:
    """Return a cut that has too little for the flows that must cross it, with what they need and it has."""
    search = _Search(options, list(rates), cuts, 0)
    for cut, needed, left in zip(search.cuts, search.needed, search.left, strict=True):
        if needed > left:
            return cut, needed, left
    return None


def _most_used(option: Option, left: Sequence[int]) -> float:
    """Return the largest share of the rest of a link that an option takes."""
    rate, links = option
    return max(rate / left[link] if left[link] else float("inf") for link in links)


def _greedy(options: Sequence[Sequence[Option]], left: list[int], cost: Cost | None) -> list[int] | None:
    """Choose for one flow after the other, the largest first; None if one does not fit.

    The first option is chosen, or the cheapest one.
    """
    chosen = [0] * len(options)
    largest_first = sorted(range(len(options)), key=lambda flow: -options[flow][0][0])
    for flow in largest_first:
        fitting = [place for place, option in enumerate(options[flow]) if _fits(option, left)]
        if not fitting:
            return None
        chosen[flow] = fitting[0]
        if cost is not None:
            _, chosen[flow] = min((cost(options[flow][place], left), place) for place in fitting)
        rate, links = options[flow][chosen[flow]]
        for link in links:
            left[link] -= rate
    return chosen


def _fits(option: Option, left: Sequence[int]) -> bool:
    rate, links = option
    return all(left[link] >= rate for link in links)


class _Search:
    """The complete search.

    `needed` has, for each cut, the least that flows without a route will take of it, and `left` what is left.
    """

    def __init__(
        self, options: Sequence[Sequence[Option]], rates: list[int], cuts: Sequence[Cut], work: int
    ) -> None:
        self._options = options
        self._rates = rates
        self._work = work
        used = sorted({link for some in options for _, links in some for link in links})
        self.cuts = [Cut("", frozenset([link])) for link in used] + list(cuts)
        self.left = [sum(rates[link] for link in cut.links) for cut in self.cuts]
        # Cuts of each link.
        self._of_link: list[list[int]] = [[] for _ in rates]
        for place, cut in enumerate(self.cuts):
            for link in cut.links:
                self._of_link[link].append(place)
        self._least = [self._least_of(some) for some in options]
        self.needed = [0] * len(self.cuts)
        for least in self._least:
            for cut_, rate in least.items():
                self.needed[cut_] += rate
        alike: dict[tuple[Option, ...], list[int]] = {}
        for flow, some in enumerate(options):
            alike.setdefault(tuple(some), []).append(flow)
        self._alike = list(alike.values())
        self._chosen = [-1] * len(options)
        self._used = used
        self._most = [max(rate for rate, _ in some) for some in options]

    def _least_of(self, options: Sequence[Option]) -> dict[int, int]:
        """Return the least that the options take of each cut that all of them cross."""
        least = self._taken(options[0])
        for option in options[1:]:
            taken = self._taken(option)
            least = {cut: min(rate, taken[cut]) for cut, rate in least.items() if cut in taken}
        return least

    def _taken(self, option: Option) -> dict[int, int]:
        rate, links = option
        taken: dict[int, int] = {}
        for link in links:
            for cut in self._of_link[link]:
                taken[cut] = taken.get(cut, 0) + rate
        return taken

    def run(self) -> list[int] | None:
        if any(needed > left for needed, left in zip(self.needed, self.left, strict=True)):
            return None
        stack: list[tuple[int, Iterator[int]]] = []
        while True:
            picked = self._pick()
            if picked is None:
                return self._chosen
            stack.append((picked[0], iter(picked[1])))
            while stack:
                flow, places = stack[-1]
                if self._chosen[flow] >= 0:
                    self._book(flow, self._chosen[flow], -1)
                    self._chosen[flow] = -1
                place = next(places, None)
                if place is None:
                    stack.pop()
                    continue
                self._chosen[flow] = place
                self._book(flow, place, 1)
                if all(needed <= left for needed, left in zip(self.needed, self.left, strict=True)):
                    break
            else:
                return None

    def _pick(self) -> tuple[int, list[int]] | None:
        """Return the next flow, and the places of its options that fit; None if all flows have a route.

        It is one that has no option left, or else one, or else the largest.
        """
        best: tuple[int, int] | None = None
        found: tuple[int, list[int]] | None = None
        room = min((self._rates[link] for link in self._used), default=0)
        for members in self._alike:
            after = 0
            for flow in members:
                if self._chosen[flow] < 0:
                    break
                after = self._chosen[flow]
            else:
                continue
            some = self._options[flow]
            places = list(range(after, len(some)))
            if self._most[flow] > room:
                self._work -= len(places)
                places = [place for place in places if _fits(some[place], self._rates)]
            key = min(len(places), 2), -self._most[flow]
            if best is None or key < best:
                best, found = key, (flow, places)
            if not places:
                break
        self._work -= 1
        if self._work < 0:
            raise UndecidedError
        return found

    def _book(self, flow: int, place: int, sign: int) -> None:
        """Take what an option takes, or give it back."""
        rate, links = self._options[flow][place]
        for link in links:
            self._rates[link] -= sign * rate
            for cut in self._of_link[link]:
                self.left[cut] -= sign * rate
        for cut, least in self._least[flow].items():
            self.needed[cut] -= sign * least
