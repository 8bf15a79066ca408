"""Means over replications with their 95 % intervals, one figure at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tidegate._tidegate import half_width_95, rare_half_width_95

RARE = 0.01
"""Mean share up to which losses are rare: their interval is then at least that of
`rare_half_width_95`."""

Values = list[float | None]
"""One figure of each replication; None where nothing was measured."""


class Estimate(NamedTuple):
    """A mean over the replications in which something was measured.

    Attributes:
        mean: The mean; None if no replication measured anything.
        half_width: Half the width of its 95 % interval; None from fewer than two replications.
    """

    mean: float | None
    half_width: float | None


def estimate(values: Sequence[float | None]) -> Estimate:
    """Return the mean of the figures that there are, with its interval."""
    measured = [float(value) for value in values if value is not None]
    if not measured:
        return Estimate(None, None)
    return Estimate(math.fsum(measured) / len(measured), half_width_95(measured))


def share(shares: Values, trials: Values) -> Estimate:
    """Return the mean of a share of `trials`, such as losses; where it is rare, with an interval that covers.

    Most replications have no rare event, so the mean is far from normal.
    """
    mean, half_width = estimate(shares)
    if mean is None or half_width is None or mean > RARE:
        return Estimate(mean, half_width)
    return Estimate(mean, widened(half_width, shares, trials))


def widened(half_width: float, shares: Values, trials: Values) -> float:
    """Return half the width of the interval of a rare share, which is at least Student's `half_width`."""
    pairs = [
        (part, number) for part, number in zip(shares, trials, strict=True) if part is not None and number
    ]
    rare = rare_half_width_95([(round(part * number), int(number)) for part, number in pairs])
    return half_width if rare is None else max(half_width, rare)
