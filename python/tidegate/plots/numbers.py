"""Numbers behind the figures: means over replications with intervals, and delay distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.results import Results
from tidegate.summary import estimate

Array = npt.NDArray[np.float64]


MAX_POINTS = 120
"""Points of a line over time; finer samples are averaged, so that what is seen is not packets and
gaps."""

MAX_LINKS = 4
"""Links whose queues are drawn, the longest."""


@dataclass(frozen=True)
class Line:
    """A quantity over time: means over replications.

    Attributes:
        spacing: From one point to the next, in s.
        time: Ends of the intervals, in s.
        mean: Mean over replications.
        half_width: Half its 95 % interval; None from a single replication.
    """

    spacing: float
    time: Array
    mean: Array
    half_width: Array | None


@dataclass(frozen=True)
class Tail:
    """Complementary distribution of the delay, replications pooled.

    Attributes:
        delay: Delays in s, ascending: edges of bins.
        above: Share of the packets with a longer delay, 0 to 1.
        packets: Packets in all.
    """

    delay: Array
    above: Array
    packets: int


def lines(results: Results, metric: str, subjects: Sequence[str]) -> dict[str, Line]:
    """Return one line for each subject of the table `series` that has the metric."""
    table = results.series.filter(pc.equal(pc.cast(results.series["metric"], pa.string()), metric))
    found = {}
    for subject in subjects:
        rows = table.filter(pc.equal(pc.cast(table["subject"], pa.string()), subject))
        if rows.num_rows == 0:
            continue
        # Every replication lists the same samples in the same order.
        samples = rows["value"].to_numpy().reshape(results.replications, -1)
        together = -(-samples.shape[1] // MAX_POINTS)
        points = samples.shape[1] // together
        values = samples[:, : points * together].reshape(results.replications, points, together).mean(axis=2)
        time = rows["time"].to_numpy()[together - 1 : points * together : together]
        estimates = [estimate(column) for column in values.T.tolist()]
        several = results.has_intervals
        found[subject] = Line(
            spacing=float(time[0]),
            time=time,
            mean=np.array([one.mean for one in estimates], dtype=float),
            half_width=np.array([one.half_width for one in estimates], dtype=float) if several else None,
        )
    return found


def tail(results: Results, group: str) -> Tail | None:
    """Return the tail of a group's delays; None when none of its packets arrived."""
    table: Any = results.histogram
    of_group = pc.equal(pc.cast(table["group"], pa.string()), group)
    of_delay = pc.equal(pc.cast(table["metric"], pa.string()), "delay")
    bins = (
        table.filter(pc.and_(of_group, of_delay)).group_by(["lower", "upper"]).aggregate([("count", "sum")])
    )
    if bins.num_rows == 0:
        return None
    bins = bins.sort_by("upper")
    counts = bins["count_sum"].to_numpy().astype(float)
    packets = int(counts.sum())
    delay = np.concatenate([bins["lower"].to_numpy()[:1], bins["upper"].to_numpy()])
    above = np.concatenate([[1.0], 1.0 - np.cumsum(counts) / packets])
    return Tail(delay, above, packets)


def busiest(results: Results) -> list[str]:
    """Return the links with the longest mean queues, in the order of the scenario."""
    links = [link for link in results.link_rows() if (link.queue_mean.mean or 0.0) > 0]
    longest = sorted(links, key=lambda link: -(link.queue_mean.mean or 0.0))[:MAX_LINKS]
    return [link.link for link in links if link in longest]
