"""Intervals of a wanted width in two stages: Stein's rule.

The first runs give the spread of a figure, and the spread alone gives the number of runs: the
figure is not looked at, so runs do not end because a claim holds. The interval is of that spread,
too, and covers the mean of normal figures in 95 of 100 cases, whatever the number of runs. Source:
C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance",
The Annals of Mathematical Statistics 16(3), 1945.
"""

from __future__ import annotations

import math

from tidegate.estimates import Estimate, Values, estimate

__all__ = ["LEAST", "estimate_after", "runs_needed"]

LEAST = 10
"""Runs of the first stage."""


def runs_needed(first: Values, half_width: float) -> int:
    """Return the number of runs after which half the 95 % interval of the mean is `half_width` at most.

    Args:
        first: The figure in each run of the first stage.
        half_width: Wanted half width, above 0, in the unit of the figure.
    """
    found = estimate(first).half_width
    return 0 if found is None else math.ceil(len(first) * (found / half_width) ** 2)


def estimate_after(first: Values, values: Values) -> Estimate:
    """Return the mean of all runs with the interval that the spread of the first stage gives.

    Args:
        first: The figure in each run of the first stage.
        values: The figure in each run of both stages.
    """
    spread, whole = estimate(first).half_width, estimate(values)
    if spread is None:
        return whole
    measured = [sum(value is not None for value in each) for each in (first, values)]
    return Estimate(whole.mean, spread * math.sqrt(measured[0] / measured[1]))
