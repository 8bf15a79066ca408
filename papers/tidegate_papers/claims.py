"""Published figures, and whether ours agree with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.stopping import estimate_after
from tidegate.summary import Estimate, Values, estimate

Columns = Mapping[str, Mapping[str, Values]]
"""Figures of each replication, by name, under the scenario as it is (`MAIN`) and under others
beside it."""

MAIN = ""

LIMIT_SHARE = 0.25
"""Half the width of the interval that decides a claim with a limit, as a share of the limit."""


@dataclass(frozen=True)
class Claim:
    """A figure that a paper publishes, or that follows from what it says.

    It is judged against one of `tolerance`, `factor`, `at_most` and `at_least`; a figure with none
    of them is only shown. Everything but the factor is in `unit`.

    Attributes:
        name: Subject of the figure.
        unit: Its unit; empty for a share.
        paper: The published figure; None where the paper gives no number.
        derived: A figure that follows from the paper where it gives none: the solution of its
            equation, a difference or a ratio of its figures, zero where it says that there is none.
        tolerance: Greatest distance of ours from the reference. Zero: none at all, in any
            replication.
        factor: Greatest ratio of ours to the reference, or the other way round; above 1.
        at_most: Upper limit of ours.
        at_least: Lower limit of ours.
        every: Whether the limit must be kept in every replication, and not by their mean.
        required: Whether it must hold.
        unmet: Whether a required claim is known not to hold.
        why: Known reasons why it does not hold, or may not.
        half_width: Half the width of the interval that decides it, in its unit; None for half the
            tolerance, or a quarter of a limit.
    """

    name: str
    unit: str = ""
    paper: float | None = None
    derived: float | None = None
    tolerance: float | None = None
    factor: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    every: bool = False
    required: bool = False
    unmet: bool = False
    why: str | None = None
    half_width: float | None = None

    @property
    def reference(self) -> float | None:
        """The figure that ours is compared with: the published one, else the derived one."""
        return self.derived if self.paper is None else self.paper

    @property
    def judged(self) -> bool:
        """True if it can hold or not."""
        return any(way is not None for way in (self.tolerance, self.factor, self.at_most, self.at_least))

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest figure that it allows; without a limit all of them."""
        if self.at_most is not None or self.at_least is not None:
            least = -math.inf if self.at_least is None else self.at_least
            return least, math.inf if self.at_most is None else self.at_most
        if self.reference is None:
            return -math.inf, math.inf
        if self.factor is not None:
            return self.reference / self.factor, self.reference * self.factor
        reach = math.inf if self.tolerance is None else self.tolerance
        return self.reference - reach, self.reference + reach

    @property
    def wanted_half_width(self) -> float | None:
        """Half the width of the interval of the mean that decides it; None where nothing is to be decided.

        It depends on the claim alone.
        """
        if not self.required or not self.judged or self.every or self.tolerance == 0:
            return None
        if self.half_width is not None:
            return self.half_width
        least, greatest = self.bounds
        if math.isfinite(least) and math.isfinite(greatest):
            return (greatest - least) / 4
        limit = abs(greatest if math.isfinite(greatest) else least)
        return LIMIT_SHARE * limit or None

    def holds(self, values: Values, measured: Estimate | None = None) -> bool | None:
        """Return whether it holds for what was measured in each replication; None when that is undecided.

        One replication has no interval and decides only what must be exact, and what must be so in
        every one: a limit on every replication holds when none is beyond it.

        Args:
            values: The figure in each replication.
            measured: Its mean with the interval that decides; by default that of `values`.
        """
        measured = estimate(values) if measured is None else measured
        if measured.mean is None or not self.judged:
            return None
        if self.tolerance == 0:
            return all(value == self.reference for value in values if value is not None)
        worst = self.worst(values)
        return self.judge(measured) if worst is None else self._margin(worst) >= 0

    def judge(self, measured: Estimate) -> bool | None:
        """Return whether it holds by the interval of the mean; None when that is undecided.

        It holds when the figures that it allows contain the interval, or the interval contains them
        all. It does not hold when the two do not meet. Everything else is undecided, as is a mean
        without interval.
        """
        mean, half = measured
        if mean is None or half is None or not self.judged:
            return None
        (least, greatest), (low, high) = self.bounds, (mean - half, mean + half)
        if (least <= low and high <= greatest) or (low <= least and greatest <= high):
            return True
        return False if high < least or greatest < low else None

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
        least, greatest = self.bounds
        return min(value - least, greatest - value)


@dataclass(frozen=True)
class Finding:
    """A published or derived figure and ours.

    Attributes:
        claim: The claim, published or derived.
        measured: Our mean over replications.
        holds: Whether it holds; None when that is undecided.
        beside: Our mean under other settings, by their name.
        worst: For a limit on every replication, the figure of the one that comes closest to it, or
            is furthest beyond it.
        runs: Number of runs that the mean covers.
    """

    claim: Claim
    measured: Estimate
    holds: bool | None
    beside: Mapping[str, Estimate]
    worst: float | None = None
    runs: int = 0

    @property
    def why(self) -> str | None:
        """Known reasons why it does not hold; None where it does, or is not judged."""
        return self.claim.why if self.claim.judged and self.holds is not True else None


def find(claims: tuple[Claim, ...], columns: Columns, first: Columns | None = None) -> list[Finding]:
    """Put our figures beside the published ones.

    Args:
        claims: The published figures.
        columns: Our figures in each run.
        first: Those in each run of the first stage; None where there was one stage.

    Raises:
        KeyError: A figure was not measured.
    """
    first = columns if first is None else first
    return [_find(claim, columns, first) for claim in claims]


def _find(claim: Claim, columns: Columns, first: Columns) -> Finding:
    estimates = {
        name: estimate_after(first[name][claim.name], column[claim.name])
        for name, column in columns.items()
        if name == MAIN or claim.name in column
    }
    measured, values = estimates.pop(MAIN), columns[MAIN][claim.name]
    return Finding(
        claim, measured, claim.holds(values, measured), estimates, claim.worst(values), len(values)
    )
