"""Figures from time stamps, and the limits that they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tidegate_lab.capture import Packets

if TYPE_CHECKING:
    import numpy.typing as npt

Run = TypeVar("Run")

ATTEMPTS = 3
"""A run that is inconclusive, because the gate itself was too late, is repeated at most twice."""

BITS = 8
NANOSECONDS = 1e9


@dataclass(frozen=True)
class Column:
    """One figure of every row.

    Attributes:
        name: Its name in documents.
        heading: Its heading.
        unit: `s`, `bit/s`, `share` or `count`.
    """

    name: str
    heading: str
    unit: str


@dataclass(frozen=True)
class Row:
    """One arrangement and its figures.

    Attributes:
        name: Its subject.
        figures: By the column's name; what was not measured is missing.
    """

    name: str
    figures: dict[str, float]


@dataclass(frozen=True)
class Bar:
    """The requirement for one figure.

    Attributes:
        name: Name of the figure.
        unit: Its unit, as of a column.
        measured: The figure.
        limit: The value that it is compared with.
        at_least: Whether the figure has to be at least the limit, and not at most.
        conclusive: Whether the gate was in time; if not, a figure beyond the limit is inconclusive.
    """

    name: str
    unit: str
    measured: float
    limit: float
    at_least: bool = False
    conclusive: bool = True

    @property
    def holds(self) -> bool | None:
        """True if the requirement holds; None when this run is inconclusive."""
        if not self.conclusive:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass(frozen=True, eq=False)
class Outcome:
    """Figures and requirements of an experiment.

    Attributes:
        name: The experiment's.
        about: Description of the experiment, in a sentence.
        columns: The figures of every row.
        rows: Every arrangement.
        bars: The requirements.
        axis: Name of the samples.
        samples: Samples to draw, in s, by the name of their row; may be empty.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    axis: str
    samples: dict[str, npt.NDArray[np.float64]]

    def document(self) -> dict[str, Any]:
        """Return all figures for a program: SI units, null where nothing was measured."""
        return {
            "experiment": self.name,
            "about": self.about,
            "rows": [
                {"name": row.name, **{one.name: row.figures.get(one.name) for one in self.columns}}
                for row in self.rows
            ],
            "bars": [
                {
                    "name": bar.name,
                    "unit": bar.unit,
                    "measured": bar.measured,
                    "at_least" if bar.at_least else "at_most": bar.limit,
                    "holds": bar.holds,
                }
                for bar in self.bars
            ],
        }


def repeated(run: Callable[[], Run], is_conclusive: Callable[[Run], bool]) -> Run:
    """Return the first run that is conclusive, or the last that is allowed."""
    for _ in range(ATTEMPTS - 1):
        done = run()
        if is_conclusive(done):
            return done
    return run()


def rate(packets: Packets) -> float:
    """Return the rate of evenly sized packets in bit/s: the slope of the line through their departures.

    The line is one of least squares, so neither a late first packet nor an end of the time within a
    burst matters.
    """
    numbers = np.arange(len(packets), dtype=np.float64)
    seconds = (packets.time - packets.time[0]) / NANOSECONDS
    slope = float(np.polyfit(seconds - seconds.mean(), numbers, 1)[0])
    return slope * float(packets.length.mean()) * BITS


def gaps(packets: Packets) -> npt.NDArray[np.float64]:
    """Return the times between neighbours, in s."""
    return np.diff(packets.time) / NANOSECONDS


def delays(before: Packets, after: Packets) -> tuple[npt.NDArray[np.float64], int]:
    """Return how long each numbered packet took, in s, and how many did not come."""
    times = dict(zip(after.number.tolist(), after.time.tolist(), strict=True))
    both = zip(before.number.tolist(), before.time.tolist(), strict=True)
    spans = [times[number] - time for number, time in both if number in times]
    return np.array(spans, dtype=np.float64) / NANOSECONDS, len(before) - len(spans)


def least_passed(before: Packets, after: Packets, window: int) -> float:
    """Return the least share of the packets sent in a window, in ns, that came within as much time.

    Windows begin with the first packet and follow each other; the last one is left out.
    """
    if not len(before):
        return 0.0
    came = dict(zip(after.number.tolist(), after.time.tolist(), strict=True))
    first = int(before.time[0])
    sent: dict[int, int] = {}
    passed: dict[int, int] = {}
    for number, time in zip(before.number.tolist(), before.time.tolist(), strict=True):
        at = (time - first) // window
        sent[at] = sent.get(at, 0) + 1
        passed[at] = passed.get(at, 0) + int(came.get(number, 1 << 62) - time <= window)
    sent.pop(max(sent))
    return min((passed[at] / count for at, count in sent.items()), default=0.0)


def behind_line(packets: Packets, bits_per_second: float) -> Packets:
    """Return the packets at the times at which a line behind would begin to send them, one by one."""
    free = np.iinfo(np.int64).min
    starts = np.empty(len(packets), dtype=np.int64)
    spans = (packets.length * (BITS * NANOSECONDS / bits_per_second)).astype(np.int64)
    for ix, (time, span) in enumerate(zip(packets.time.tolist(), spans.tolist(), strict=True)):
        free = max(free, time)
        starts[ix] = free
        free += span
    return replace(packets, time=starts)


def spread(shares: Sequence[float]) -> float:
    """Return by how much the largest of some numbers exceeds the least, as a share of their mean."""
    mean = sum(shares) / len(shares)
    return (max(shares) - min(shares)) / mean if mean else 0.0


def quantile(values: npt.NDArray[np.float64], share: float) -> float:
    """Return the least value that at least this share of them do not exceed."""
    return float(np.quantile(values, share, method="inverted_cdf")) if len(values) else float("nan")
