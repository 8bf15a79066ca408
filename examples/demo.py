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


def kind(group: str) -> str:
    """`web-12` is of the kind `web`."""
    return group.rstrip("-0123456789")


def by_kind(results: tidegate.Results) -> tidegate.Results:
    """Take all flows of a kind as one group."""
    tables = dict(results.tables)
    for name in ("flows", "histogram"):
        table = tables[name]
        kinds = pa.array([kind(group) for group in table["group"].to_pylist()])
        tables[name] = table.set_column(table.schema.get_field_index("group"), "group", kinds)
    # Delays of a group are listed in ascending order.
    tables["histogram"] = tables["histogram"].sort_by("lower")
    return dataclasses.replace(results, tables=tables)


def verdict(p99: Difference, lost: Difference) -> str:
    """Say what VirtualClock did to a kind: what its intervals leave no doubt about."""
    worse = [change.mean > 0 for change in (p99, lost) if change.excludes_zero and change.mean is not None]
    if not worse:
        return "no difference"
    return "protected" if not any(worse) else "pays" if all(worse) else "mixed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    options = parser.parse_args()

    began = time.perf_counter()
    comparison = tidegate.compare(
        HERE / "office.toml", ["fifo", "virtual-clock"], replications=options.replications
    )
    results = {name: by_kind(one) for name, one in comparison.results.items()}
    took = time.perf_counter() - began

    hops = sum(one.packet_hops for one in results.values())
    print(
        f"A real office behind three congested hops of 10 Mbit/s: {options.replications} replications under"
    )
    print(f"each of 2 schedulers, {hops / 1e6:.1f} million packet-hops in {took:.1f} s.\n")
    print(f"{'':8}  {'99 % of the packets within':^35}  {'lost':^31}")
    heads = ("FIFO", "VirtualClock") * 2
    print(f"{'':8}  {heads[0]:>17} {heads[1]:>17}  {heads[2]:>15} {heads[3]:>15}  VirtualClock")

    figures = [
        {
            group: values
            for (group, _), values in group_figures(one.flows, one.histogram, one.replications).items()
        }
        for one in results.values()
    ]
    for group, what in KINDS.items():
        fifo, clock = (one[group] for one in figures)
        cells, changes = [], []
        for metric, unit in (("delay_p99", "s"), ("lost", "share")):
            pairs = list(zip(fifo[metric], clock[metric], strict=True))
            cells += [with_interval(estimate(under[metric]), unit) for under in (fifo, clock)]
            changes.append(
                Difference(*estimate([b - a for a, b in pairs if a is not None and b is not None]))
            )
        print(
            f"{group:8}  {cells[0]:>17} {cells[1]:>17}  {cells[2]:>15} {cells[3]:>15}  {verdict(*changes):13}  {what}"
        )

    print(
        "\n± is half the 95 % interval over replications. `protected` and `pays` say only what the intervals of"
    )
    print(
        "the paired differences leave no doubt about. A replay is open loop: real downloads would slow down."
    )
    figure = plots.comparison(
        results,
        list(KINDS),
        title="A real office behind three congested hops: who waits, and who loses packets",
    )
    print(f"\nThe figure is in {plots.save(figure, options.out / 'office.png')}.")


if __name__ == "__main__":
    main()
