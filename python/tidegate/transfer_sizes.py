"""Completion times and slowdowns of transfers by their size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tidegate.arrow_arrays import numbers

if TYPE_CHECKING:
    from tidegate.measurements import Measurements

__all__ = ["TransferSummary"]

FEW = 5
"""Different sizes of a group up to which each has a row of its own; more are summed up by decades."""

QUANTILES = (0.5, 0.95, 0.99)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TransferSummary:
    """Transfers of one group and of similar sizes, all replications together.

    A quantile is the least value that its share of the ended transfers does not exceed.

    Attributes:
        group: Name of the connection of the scenario.
        smallest: Smallest size in the row in bytes.
        largest: Largest size in the row in bytes.
        transfers: Transfers that began in the measured time and ended.
        unfinished: Those that began and had not ended at the end of the run.
        completion_p50: Median of the completion time in s; None if none ended.
        completion_p95: Its 95 % quantile.
        completion_p99: Its 99 % quantile.
        slowdown_mean: Mean of the completion time over that on the empty network; None where that is
            not known.
        slowdown_p50: Its median.
        slowdown_p95: Its 95 % quantile.
        slowdown_p99: Its 99 % quantile.
        sent_again: Bytes that were sent again, over the bytes of these transfers.
    """

    group: str
    smallest: int
    largest: int
    transfers: int
    unfinished: int
    completion_p50: float | None
    completion_p95: float | None
    completion_p99: float | None
    slowdown_mean: float | None
    slowdown_p50: float | None
    slowdown_p95: float | None
    slowdown_p99: float | None
    sent_again: float


def by_size(results: Measurements) -> list[TransferSummary]:
    """Return the transfers of each group by size: by decades, or each size where there are few."""
    rows = []
    for group, columns in of_groups(results):
        size = columns["size"]
        # Sizes above 1 kB and up to 10 kB are of one decade.
        decade = np.ceil(np.log10(size) - 1e-12)
        bins = size if len(np.unique(size)) <= FEW else decade
        for one in np.unique(bins):
            chosen = {name: values[bins == one] for name, values in columns.items()}
            rows.append(_summary(group, chosen))
    return rows


def of_groups(results: Measurements) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield the sizes, completion times, slowdowns and repeated bytes of each group with transfers.

    What is missing in the table is NaN. Of identical replications there is one.
    """
    table: Any = results.transfers.arrow
    if results.identical:
        table = table.slice(0, table.num_rows // results.replications)
    if not table.num_rows:
        return
    names = np.array(table["group"].to_pylist(), dtype=object)
    columns = {
        name: numbers(table[name]).astype(float) for name in ("size", "completion", "slowdown", "sent_again")
    }
    for group in dict.fromkeys(names):
        chosen = names == group
        yield group, {name: values[chosen] for name, values in columns.items()}


def _summary(group: str, of: dict[str, Array]) -> TransferSummary:
    completion, slowdown = (of[name][~np.isnan(of[name])] for name in ("completion", "slowdown"))
    return TransferSummary(
        group,
        int(of["size"].min()),
        int(of["size"].max()),
        len(completion),
        len(of["size"]) - len(completion),
        *_quantiles(completion),
        float(slowdown.mean()) if len(slowdown) else None,
        *_quantiles(slowdown),
        float(of["sent_again"].sum() / of["size"].sum()),
    )


def _quantiles(values: Array) -> tuple[float | None, float | None, float | None]:
    if len(values) == 0:
        return None, None, None
    p50, p95, p99 = np.quantile(values, QUANTILES, method="inverted_cdf").tolist()
    return p50, p95, p99
