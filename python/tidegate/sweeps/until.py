"""The end of the runs of a point: when an interval is as narrow as wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate._tidegate import TidegateError, parse_rate, parse_time
from tidegate.estimates import Values, estimate
from tidegate.stopping import LEAST, estimate_after, runs_needed
from tidegate.sweeps.batch import Outcome
from tidegate.sweeps.rows import UNITS

EXAMPLE = "delay_p99:5%, voice.delay_p99:5% or throughput:10kbit"


@dataclass(frozen=True)
class Until:
    """A wanted half width of an interval.

    Attributes:
        text: As it was asked.
        figure: The figure, one of `UNITS`.
        group: The group of flows; None for every group that has the figure.
        half_width: Half the 95 % interval, at most: in the unit of the figure or as a share of the mean.
        relative: Whether it is a share of the mean.
    """

    text: str
    figure: str
    group: str | None
    half_width: float
    relative: bool

    def needed(self, values: Values) -> int:
        """Return the number of runs that a figure needs, judged by those that there are.

        The spread is that of the first runs alone, as `tidegate.stopping` has it.
        """
        first = values[:LEAST]
        spread, mean = estimate(first).half_width, estimate_after(first, values).mean
        if not spread or mean is None:
            return len(values)
        wanted = abs(mean) * self.half_width if self.relative else self.half_width
        return max(LEAST, runs_needed(first, wanted)) if wanted else _UNREACHABLE


_UNREACHABLE = 2**62


def parse(text: str, groups: Sequence[str]) -> Until:
    """Return what `--until` asks for, in a scenario with these groups.

    Raises:
        TidegateError: It is written in another way, or names no figure or group.
    """
    subject, colon, width = (part.strip() for part in text.rpartition(":"))
    group, _, figure = subject.rpartition(".")
    if not colon or not width:
        raise TidegateError(f"--until {text}: write it as in {EXAMPLE}")
    if figure not in UNITS:
        raise TidegateError(f"--until {text}: `{figure}` is not a figure: there are {', '.join(UNITS)}")
    if group and group not in groups:
        raise TidegateError(f"--until {text}: `{group}` is not a group: there are {', '.join(groups)}")
    relative = width.endswith("%")
    try:
        half_width = float(width[:-1]) / 100 if relative else _quantity(width, UNITS[figure])
    except ValueError as error:
        raise TidegateError(f"--until {text}: {error}\n  help: write it as in {EXAMPLE}") from None
    if not 0 < half_width < math.inf:
        raise TidegateError(f"--until {text}: the half width must be above 0")
    return Until(text, figure, group or None, half_width, relative)


def _quantity(text: str, unit: str) -> float:
    match unit:
        case "s":
            return parse_time(text)
        case "bit/s":
            return float(parse_rate(text))
        case _:
            return float(text)


@dataclass
class Followed:
    """The values of a figure in the runs of one point, by group."""

    until: Until
    values: dict[str, dict[int, float | None]] = field(default_factory=dict)

    def add(self, replication: int, outcome: Outcome) -> None:
        """Take up the figure of a run."""
        figures = outcome.figures[self.until.figure]
        for group, value in zip(outcome.groups, figures, strict=True):
            self.note(replication, group, value)

    def note(self, replication: int, group: str, value: float | None) -> None:
        """Take up the figure of a group in a run."""
        if self.until.group in (None, group):
            self.values.setdefault(group, {})[replication] = value

    def needed(self, runs: int) -> int:
        """Return the number of runs that the point needs, of which there are the first `runs`."""
        of_groups = ([values[one] for one in range(runs)] for values in self.values.values())
        return max((self.until.needed(values) for values in of_groups), default=runs)
