"""What `make demo` shows: a real office behind three congested hops, under FIFO and VirtualClock.

Both schedulers get the same packets: the capture's, and in each replication other cross traffic.
"""

import argparse
import dataclasses
import time
from pathlib import Path

import pyarrow as pa

import tidegate
from tidegate import plots
from tidegate.comparison import Difference
from tidegate.show import with_interval
from tidegate.summary import estimate, group_figures

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
hold it to its word, give it a ceiling; `tidegate compare examples/office.toml --scheduler
fifo,virtual-clock --set flow.liar.ceiling=500kbit` shows it.
"""


def kind(group: str) -> str:
    """`web-12` is of the kind `web`."""
    return group.rstrip("-0123456789")


def by_kind(results: tidegate.Results) -> tidegate.Results:
    """Take all flows of a kind as one group: their delays go into one histogram."""
    tables = dict(results.tables)
    for name in ("flows", "histogram"):
        groups = tables[name]["group"].combine_chunks()
        kinds = pa.array([kind(group) for group in groups.dictionary.to_pylist()]).take(groups.indices)
        place = tables[name].schema.get_field_index("group")
        tables[name] = tables[name].set_column(place, "group", kinds)
    bins = ["replication", "seed", "group", "metric", "lower", "upper"]
    counted = tables["histogram"].group_by(bins).aggregate([("count", "sum")])
    tables["histogram"] = counted.rename_columns([*bins, "count"]).sort_by("lower")
    return dataclasses.replace(results, tables=tables)


def verdict(p99: Difference, lost: Difference) -> str:
    """Say what VirtualClock did to a kind: what its intervals leave no doubt about."""
    worse = [change.mean > 0 for change in (p99, lost) if change.excludes_zero and change.mean is not None]
    if not worse:
        return "no difference"
    return "protected" if not any(worse) else "pays" if all(worse) else "mixed"


def print_table(results: dict[str, tidegate.Results]) -> None:
    """One row for each kind: both schedulers, and what the change means."""
    fifo, clock = (group_figures(one.flows, one.histogram, one.replications) for one in results.values())
    print(f"{'':8}  {'99 % of the packets within':^33}  {'lost':^31}  VirtualClock")
    print(f"{'':8}  {'FIFO':>15}  {'VirtualClock':>16}  {'FIFO':>15} {'VirtualClock':>15}")
    under = {kind: (before, clock[kind, flows]) for (kind, flows), before in fifo.items()}
    for name, what in KINDS.items():
        before, after = under[name]
        cells, changes = [], []
        for metric, unit in (("delay_p99", "s"), ("lost", "share")):
            cells += [with_interval(estimate(one[metric]), unit) for one in (before, after)]
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
