"""The flows of a kind as one group: `web-1` to `web-42` are of the kind `web`."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.members import jain
from tidegate.results import Results
from tidegate.tables import Table


def kind(group: str) -> str:
    """Return the kind of a group: `web` for `web-12`."""
    return group.rstrip("-0123456789")


def by_kind(results: Results) -> Results:
    """Take all groups of a kind as one."""
    tables = dict(results.tables)
    for name in ("flows", "groups", "histogram"):
        kinds = pa.array([kind(group) for group in tables[name]["group"].to_pylist()], pa.string())
        tables[name] = Table(replaced(tables[name].arrow, "group", kinds))
    bins = ["replication", "seed", "group", "metric", "lower", "upper"]
    counted = tables["histogram"].group_by(bins).aggregate([("count", "sum")])
    tables["histogram"] = Table(counted.rename_columns([*bins, "count"]).sort_by("lower"))
    added = added_up(tables["groups"].arrow, tables["histogram"].arrow)
    tables["groups"] = Table(replaced(added, "jain", equality(tables["flows"].arrow, added)))
    return dataclasses.replace(results, tables=tables)


def added_up(groups: pa.Table, histogram: pa.Table) -> pa.Table:
    """One row for each kind and replication: means over all packets, and quantiles of all delays."""
    keys = ["replication", "group"]
    names = [name for name in groups.column_names if name not in (*keys, "seed")]
    means = ("delay_mean", "queueing_mean")
    for name in means:
        groups = replaced(groups, name, pc.multiply(groups[name], groups["received_packets"].cast("double")))
    ways = [(name, "max" if name == "delay_max" else "sum") for name in names]
    kinds = groups.group_by(keys, use_threads=False).aggregate(ways).rename_columns([*keys, *names])
    for name in means:
        kinds = replaced(kinds, name, pc.divide(kinds[name], kinds["received_packets"].cast("double")))
    rows = list(zip(*(kinds[key].to_pylist() for key in keys), strict=True))
    for metric in ("delay", "queueing"):
        p99 = quantiles(histogram.filter(pc.equal(histogram["metric"], metric)), keys)
        kinds = replaced(kinds, f"{metric}_p99", pa.array([p99.get(row) for row in rows]))
    # A bin ends above what is in it.
    return replaced(kinds, "delay_p99", pc.min_element_wise(kinds["delay_p99"], kinds["delay_max"]))


def equality(flows: pa.Table, kinds: pa.Table) -> pa.Array:
    """Return Jain's index of the flows of each kind and replication."""
    received: dict[tuple[int, str], list[float]] = defaultdict(list)
    names = ("replication", "group", "received_bytes")
    for replication, group, count in zip(*(flows[name].to_pylist() for name in names), strict=True):
        received[replication, group].append(count)
    rows = zip(*(kinds[name].to_pylist() for name in names[:2]), strict=True)
    return pa.array([jain(received[row]) for row in rows], pa.float64())


def replaced(table: pa.Table, column: str, values: object) -> pa.Table:
    """Return the table with other values in a column."""
    return table.set_column(table.schema.get_field_index(column), column, values)


def quantiles(histogram: pa.Table, keys: list[str]) -> dict[tuple[object, ...], float]:
    """Read the 99 % quantile of each replication and kind off bins in ascending order."""
    bins: dict[tuple[object, ...], list[tuple[float, int]]] = defaultdict(list)
    columns = (histogram[name].to_pylist() for name in (*keys, "upper", "count"))
    for row in zip(*columns, strict=True):
        bins[row[:-2]].append((row[-2], row[-1]))
    found = {}
    for key, ascending in bins.items():
        rank = math.ceil(0.99 * sum(count for _, count in ascending))
        reached = accumulate(count for _, count in ascending)
        found[key] = next(
            upper for (upper, _), count in zip(ascending, reached, strict=True) if count >= rank
        )
    return found
