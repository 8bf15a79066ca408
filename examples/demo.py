"""What `make demo` shows: a real office behind three congested hops, under FIFO and VirtualClock.

Both schedulers get the same packets: the capture's, and in each replication other cross traffic.
"""

import argparse
import dataclasses
import math
import time
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import tidegate
from tidegate import plots
from tidegate.comparison import Difference
from tidegate.show import with_interval
from tidegate.summary import estimate, group_estimates, group_figures

HERE = Path(__file__).resolve().parent

# In the order of the table: what each kind of flow is, and whether it has a reservation.
KINDS = {
    "voice": "telephone call, reserved",
    "video": "video stream, reserved",
    "ssh": "remote shell, reserved",
    "ping": "ping, reserved",
    "steady": "cross traffic that keeps to its reservation",
    "web": "42 web connections",
    "dns": "70 name lookups",
    "download": "3 downloads",
    "bursts": "cross traffic in bursts of 60 packets",
    "liar": "cross traffic, 4 times what it reserved",
}

DRAWN = ["voice", "video", "ssh", "steady", "web", "download", "bursts", "liar"]

NOTES = """
± is half the 95 % interval over replications; `protected` and `pays` say only what the intervals of
the paired differences leave no doubt about. A replay is open loop: real downloads would slow down.
The liar is protected too: VirtualClock serves whoever has reserved anything before who has not. To
hold it to its word, give it a ceiling: it then loses what it sends beyond that, downloads and web
lose less, and who keeps a reservation still loses nothing. `tidegate compare examples/office.toml
--scheduler fifo,virtual-clock --set flow.liar.ceiling=500kbit` shows it.
"""


def kind(group: str) -> str:
    """`web-12` is of the kind `web`."""
    return group.rstrip("-0123456789")


def by_kind(results: tidegate.Results) -> tidegate.Results:
    """Take all groups of a kind as one."""
    tables = dict(results.tables)
    for name in ("flows", "groups", "histogram"):
        groups = tables[name]["group"].combine_chunks()
        kinds = pa.array([kind(group) for group in groups.dictionary.to_pylist()]).take(groups.indices)
        place = tables[name].schema.get_field_index("group")
        tables[name] = tables[name].set_column(place, "group", kinds)
    bins = ["replication", "seed", "group", "metric", "lower", "upper"]
    counted = tables["histogram"].group_by(bins).aggregate([("count", "sum")])
    tables["histogram"] = counted.rename_columns([*bins, "count"]).sort_by("lower")
    tables["groups"] = added_up(tables["groups"], tables["histogram"])
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


def replaced(table: pa.Table, column: str, values: object) -> pa.Table:
    """The table with other values in a column."""
    return table.set_column(table.schema.get_field_index(column), column, values)


def quantiles(histogram: pa.Table, keys: list[str]) -> dict[tuple[object, ...], float]:
    """Read the 99 % quantile of each replication and kind off bins in ascending order."""
    bins = defaultdict(list)
    for *key, upper, count in zip(
        *(histogram[name].to_pylist() for name in (*keys, "upper", "count")), strict=True
    ):
        bins[tuple(key)].append((upper, count))
    found = {}
    for key, ascending in bins.items():
        rank = math.ceil(0.99 * sum(count for _, count in ascending))
        reached = accumulate(count for _, count in ascending)
        found[key] = next(
            upper for (upper, _), count in zip(ascending, reached, strict=True) if count >= rank
        )
    return found


def verdict(p99: Difference, lost: Difference) -> str:
    """Say what VirtualClock did to a kind: what its intervals leave no doubt about."""
    worse = [change.mean > 0 for change in (p99, lost) if change.excludes_zero and change.mean is not None]
    if not worse:
        return "no difference"
    return "protected" if not any(worse) else "pays" if all(worse) else "mixed"


def print_table(results: dict[str, tidegate.Results]) -> None:
    """One row for each kind: both schedulers, and what the change means."""
    fifo, clock = (group_figures(one.tables["groups"], one.replications) for one in results.values())
    print(f"{'':8}  {'99 % of the packets within':^33}  {'lost':^31}  VirtualClock")
    print(f"{'':8}  {'FIFO':>15}  {'VirtualClock':>16}  {'FIFO':>15} {'VirtualClock':>15}")
    under = {kind: (before, clock[kind, flows]) for (kind, flows), before in fifo.items()}
    for name, what in KINDS.items():
        before, after = under[name]
        cells, changes = [], []
        for metric, unit in (("delay_p99", "s"), ("lost", "share")):
            cells += [with_interval(group_estimates(one)[metric], unit) for one in (before, after)]
            pairs = zip(before[metric], after[metric], strict=True)
            changes.append(Difference(*estimate([new - old for old, new in pairs])))
        row = f"{name:8}  {cells[0]:>15}  {cells[1]:>16}  {cells[2]:>15} {cells[3]:>15}"
        print(f"{row}  {verdict(*changes):9}  {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    options = parser.parse_args()

    began = time.perf_counter()
    results = {}
    for scheduler in ("fifo", "virtual-clock"):
        scenario = tidegate.load(HERE / "office.toml", [("port.scheduler", scheduler)])
        results[scheduler] = by_kind(tidegate.simulate(scenario, replications=options.replications))
    took = time.perf_counter() - began
    hops = sum(one.packet_hops for one in results.values())
    print(f"A real office behind three congested hops of 10 Mbit/s: {options.replications} replications")
    print(f"under each of two schedulers, {hops / 1e6:.1f} million packet-hops in {took:.1f} s.\n")
    print_table(results)
    print(NOTES)
    title = "A real office behind three congested hops: who waits, and who loses packets"
    figure = plots.comparison(results, DRAWN, title=title)
    print(f"The figure is in {plots.save(figure, options.out / 'office.png')}.")


if __name__ == "__main__":
    main()
