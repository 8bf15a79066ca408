"""Published figures, and whether ours agree with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.summary import Estimate, Values, estimate

Columns = Mapping[str, Mapping[str, Values]]
"""Figures of each replication, by name, under the scenario as it is (`MAIN`) and under others beside it."""

MAIN = ""


@dataclass(frozen=True)
class Claim:
    """A figure that a paper publishes.

    It is judged against one of `tolerance`, `factor`, `at_most` and `at_least`; a figure with none of them
    is only shown. Everything but the factor is in `unit`.

    Attributes:
        name: What it is a figure of.
        unit: Its unit; empty for a share.
        paper: What is published; None where the paper gives no number.
        tolerance: How far ours may be from it. Zero: none at all, in any replication.
        factor: How many times ours may be what is published, or the other way round; above 1.
        at_most: What ours may not exceed.
        at_least: What ours may not fall below.
        every: Whether the limit must be kept in every replication, and not by their mean.
        required: Whether it must hold.
        unmet: Whether a required claim is known not to hold.
        why: What we know about why it does not hold, or may not.
    """

    name: str
    unit: str = ""
    paper: float | None = None
    tolerance: float | None = None
    factor: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    every: bool = False
    required: bool = False
    unmet: bool = False
    why: str | None = None

    @property
    def judged(self) -> bool:
        """Whether it can hold or not."""
        return any(way is not None for way in (self.tolerance, self.factor, self.at_most, self.at_least))

    def holds(self, values: Values) -> bool | None:
        """Return whether it holds for what was measured in each replication; None when that is undecided.

        A published figure is undecided when half of our interval exceeds half of the tolerance, wherever our
        mean lies; else it holds when our mean is within the tolerance of it, and otherwise does not. A limit
        holds when our mean is on its right side, and is undecided when it lies within our interval; a factor
        is a limit on either side. A limit on every replication holds when none is beyond it. One replication
        has no interval and decides only what must be exact, and what must be so in every one.
        """
        mean, half = estimate(values)
        if mean is None or not self.judged:
            return None
        if self.tolerance == 0:
            return all(value == self.paper for value in values if value is not None)
        worst = self.worst(values)
        if worst is not None:
            return self._margin(worst) >= 0
        if half is None:
            return None
        if self.tolerance is not None and self.paper is not None:
            if half > self.tolerance / 2:
                return None
            return abs(mean - self.paper) <= self.tolerance
        margin = self._margin(mean)
        return None if abs(margin) < half else margin >= 0

    def worst(self, values: Values) -> float | None:
        """Return what comes closest to the limit on every replication, or is furthest beyond it.

        None when nothing was measured, and for a claim without such a limit.
        """
        measured = [value for value in values if value is not None]
        if not self.every or not measured:
            return None
        return min(measured, key=self._margin)

    def _margin(self, value: float) -> float:
        """Return how far a value is on the right side of the nearest limit, negative on the wrong one."""
        if self.at_most is not None:
            return self.at_most - value
        if self.at_least is not None:
            return value - self.at_least
        published, factor = self.paper or 0.0, self.factor or 1.0
        return min(value - published / factor, published * factor - value)


@dataclass(frozen=True)
class Finding:
    """A published figure and ours.

    Attributes:
        claim: What is published.
        measured: Our mean over replications.
        holds: Whether it holds; None when that is undecided.
        beside: Our mean under other settings, by their name.
        worst: For a limit on every replication, the figure of the one that comes closest to it, or is
            furthest beyond it.
    """

    claim: Claim
    measured: Estimate
    holds: bool | None
    beside: Mapping[str, Estimate]
    worst: float | None = None

    @property
    def why(self) -> str | None:
        """What we know about why it does not hold; None where it does, or is not judged."""
        return self.claim.why if self.claim.judged and self.holds is not True else None


def find(claims: tuple[Claim, ...], columns: Columns) -> list[Finding]:
    """Put our figures beside the published ones.

    Raises:
        KeyError: A figure was not measured.
    """
    return [
        Finding(
            claim,
            estimate(columns[MAIN][claim.name]),
            claim.holds(columns[MAIN][claim.name]),
            {
                name: estimate(column[claim.name])
                for name, column in columns.items()
                if name != MAIN and claim.name in column
            },
            claim.worst(columns[MAIN][claim.name]),
        )
        for claim in claims
    ]
