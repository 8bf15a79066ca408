"""The search for the pattern under which a flow is latest.

It begins with patterns that are the same for all flows: greedy (all bursts at the start), and bursts
that meet the attacked packet at the ports that they share. It goes on with one flow after the other,
from the first port of the route to the last, and then changes plans at random and keeps what is no
worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from tidegate._tidegate import TidegateError
from tidegate.attack.conformance import violation
from tidegate.attack.pattern import Place, Plan, Traffic
from tidegate.attack.trial import Outcome, Plans, Trials

TOGETHER = [
    Plan(place=place, shift=shift, window=window)
    for window in (1.0, 0.0)
    for place, shift in (
        (Place.LAST, -1),
        (Place.FIRST, 0),
        (Place.FIRST, 1),
        (Place.FIRST, -1),
        (Place.WITH_BURST, -1),
    )
]
"""Plans that are tried for all flows at once."""

SINGLE = [(place, shift) for place in (Place.LAST, Place.FIRST, Place.WITH_BURST) for shift in (-1, 0, 1)]
"""Times of a burst that are tried for one flow."""

LATER = 0.25
"""Share of the random changes that are another time of the whole pattern, beside flows that have no
contract."""

Progress = Callable[[float, float], None]
"""Called with the share of the tries that is done, 0 to 1, and the largest delay so far, in s."""


@dataclass(frozen=True)
class Limits:
    """When a search ends.

    Attributes:
        tries: Most runs.
        seconds: Most seconds; None for any.
    """

    tries: int
    seconds: float | None


class Search:
    """Searches patterns; `best` is what it has found, at any time.

    Args:
        traffic: The packets of plans.
        trials: Runs patterns.
        limits: When it ends.
        random: Generator of all random changes.
        leads: Ticks before the first packet that are tried.
        progress: Told of the progress; None for nobody.
    """

    def __init__(
        self,
        traffic: Traffic,
        trials: Trials,
        limits: Limits,
        random: Random,
        leads: list[int],
        progress: Progress | None,
    ) -> None:
        self.best: Outcome | None = None
        self._traffic = traffic
        self._trials = trials
        self._limits = limits
        self._random = random
        self._leads = leads
        self._progress = progress
        self._ends = None if limits.seconds is None else time.monotonic() + limits.seconds
        self._plans: Plans = {}
        self._meetings: list[int] = []
        self._lead = leads[0]
        self._delay = -1.0

    def run(self) -> None:
        """Search until the limits.

        Raises:
            TidegateError: A pattern breaks a contract, which is a mistake of this search.
        """
        for _ in self._steps():
            if self._is_over():
                return

    def _steps(self) -> Iterator[None]:
        """Make one change after the other; without end."""
        for lead in self._leads:
            yield from self._greedy(lead)
            for plan in TOGETHER:
                self._try(dict.fromkeys(self._traffic.movable, plan), self._meetings, lead)
                yield
        if not self._traffic.movable:
            return
        while True:
            before = self._delay
            yield from self._one_by_one()
            if self._delay <= before:
                break
        while True:
            if len(self._leads) > 1 and self._random.random() < LATER:
                lead = self._random.randrange(2 * self._traffic.window)
                self._try(self._plans, self._meetings, lead)
            else:
                self._try(self._varied(), self._meetings, self._lead)
            yield

    def _greedy(self, lead: int) -> Iterator[None]:
        """Send all bursts at the start."""
        plans = dict.fromkeys(self._traffic.movable, Plan())
        packets = {
            flow: [(at + lead, size) for at, size in self._traffic.packets(flow, plan)]
            for flow, plan in plans.items()
        }
        outcome = self._trials.run(packets, lead)
        if outcome is None:
            raise TidegateError("no packet of the attacked flow arrives, so that it has no delay")
        self._see([outcome], plans, lead)
        yield

    def _one_by_one(self) -> Iterator[None]:
        """Try all times and packets of one flow after the other, in the order of the ports."""
        for flow in sorted(self._traffic.movable, key=self._traffic.first_place):
            for plan in self._alternatives(flow):
                self._try({**self._plans, flow: plan}, self._meetings, self._lead)
                yield

    def _alternatives(self, flow: int) -> Iterator[Plan]:
        plan = self._plans[flow]
        if flow != self._traffic.attacked:
            for hop in range(max(self._traffic.hops(flow), 1)):
                for place, shift in SINGLE:
                    yield replace(plan, hop=hop, place=place, shift=shift)
        for window in (0.0, 0.25, 1.0):
            yield replace(self._plans[flow], window=window)
        yield replace(self._plans[flow], small=not self._plans[flow].small)

    def _varied(self) -> Plans:
        """Change the plans of a few flows."""
        plans = dict(self._plans)
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            flow = self._random.choice(self._traffic.movable)
            plans[flow] = self._changed(flow, plans[flow])
        return plans

    def _changed(self, flow: int, plan: Plan) -> Plan:
        random = self._random
        what = random.random()
        if what < 0.5 and flow != self._traffic.attacked:
            # From a tick to the time of the whole attack, each order of magnitude as likely.
            far = round(self._traffic.window ** random.random())
            return replace(plan, shift=plan.shift + random.choice((-far, far)))
        if what < 0.75 and flow != self._traffic.attacked:
            place, shift = random.choice(SINGLE)
            return replace(plan, hop=random.randrange(8), place=place, shift=shift)
        if what < 0.9:
            return replace(plan, window=random.choice((0.0, random.random() ** 2, 1.0)))
        return replace(plan, small=not plan.small)

    def _try(self, plans: Plans, meetings: list[int], lead: int) -> None:
        rounds = min(len(meetings) + 2, self._limits.tries - self._trials.runs)
        self._see(self._trials.settle(plans, meetings, lead, rounds), plans, lead)

    def _see(self, outcomes: list[Outcome], plans: Plans, lead: int) -> None:
        """Keep the largest delay; go on from plans that are no worse than those so far."""
        for outcome in outcomes:
            if self.best is None or outcome.delay > self.best.delay:
                self._check(outcome)
                self.best = outcome
            if outcome.delay >= self._delay:
                self._delay, self._plans, self._lead = outcome.delay, plans, lead
                self._meetings = [at - outcome.origin for at in outcome.meetings]
        if self._progress is not None and self.best is not None:
            self._progress(self._trials.runs / self._limits.tries, self.best.delay)

    def _check(self, outcome: Outcome) -> None:
        for flow, packets in outcome.packets.items():
            contract = self._traffic.contracts[flow]
            broken = violation(packets, contract.buckets)
            if broken is not None:
                raise TidegateError(f"the pattern of {contract.flow} breaks its contract: {broken}")

    def _is_over(self) -> bool:
        if self._trials.runs >= self._limits.tries:
            return True
        return self._ends is not None and time.monotonic() >= self._ends
