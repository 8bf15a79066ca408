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

    It is judged against one of `tolerance`, `at_most` and `at_least`; a figure with none of them is only
    shown. Everything is in `unit`.

    Attributes:
        name: What it is a figure of.
        unit: Its unit; empty for a share.
        paper: What is published; None where the paper gives no number.
        tolerance: How far ours may be from it. Zero: none at all, in any replication.
        at_most: What ours may not exceed.
        at_least: What ours may not fall below.
        required: Whether it must hold.
        unmet: Whether a required claim is known not to hold.
        why: What we know about why it does not hold, or may not.
    """

    name: str
    unit: str = ""
    paper: float | None = None
    tolerance: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    required: bool = False
    unmet: bool = False
    why: str | None = None

    @property
    def judged(self) -> bool:
        """Whether it can hold or not."""
        return (self.tolerance, self.at_most, self.at_least) != (None, None, None)

    def holds(self, values: Values) -> bool | None:
        """Return whether it holds for what was measured in each replication; None when that is undecided.

        A published figure is undecided when half of our interval exceeds half of the tolerance, wherever our
        mean lies; else it holds when our mean is within the tolerance of it, and otherwise does not. A limit
        holds when our mean is on its right side, and is undecided when it lies within our interval. One
        replication has no interval and decides only what must be exact.
        """
        measured = [value for value in values if value is not None]
        mean, half = estimate(values)
        if mean is None or not self.judged:
            return None
        if self.tolerance == 0:
            return all(value == self.paper for value in measured)
        if half is None:
            return None
        if self.tolerance is not None and self.paper is not None:
            if half > self.tolerance / 2:
                return None
            return abs(mean - self.paper) <= self.tolerance
        margin = self.at_most - mean if self.at_most is not None else mean - (self.at_least or 0.0)
        return None if abs(margin) < half else margin >= 0


@dataclass(frozen=True)
class Finding:
    """A published figure and ours.

    Attributes:
        claim: What is published.
        measured: Our mean over replications.
        holds: Whether it holds; None when that is undecided.
        beside: Our mean under other settings, by their name.
    """

    claim: Claim
    measured: Estimate
    holds: bool | None
    beside: Mapping[str, Estimate]

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
        )
        for claim in claims
    ]
