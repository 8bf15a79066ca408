"""Runs the benchmarks and prints them beside the peers' figures and the bars.

Instruction counts (cachegrind) and ratios taken within one run are what to compare: machines are noisy.
Times are taken one after the other, counts on every processor at once: nothing else changes a count.
With `--readme` (`make bench-readme`), the tables also go into README.md and docs/performance.md.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
BUILD = ["cargo", "build", "--release", "--benches", "--package", "tidegate-sim", "--message-format=json"]
# Five FIFO servers in a row, measured once on a machine of the same kind: packet-hops per CPU second
# in millions, instructions per packet-hop.
PEERS = [
    ("csg-htsim", "3.5", "1,450"),
    ("ns-2 2.35, unused headers removed", "2.9", "1,730"),
    ("ns-3 3.37, bare devices", "0.62", "10,200"),
    ("ns-3 3.37, UDP over IP", "0.17", "37,300"),
    ("ns.py 0.4.3", "0.10", "72,900"),
]
BARS = {"fifo": 700, "virtual-clock": 900}
REFUSED = 1
"""Exit code of a benchmark that refuses its arguments."""
WIDTH = 200
"""Columns when the output is no terminal: nothing is cut off."""
TITLES = {"fifo": "FIFO", "virtual-clock": "VirtualClock"}


def executables() -> dict[str, str]:
    """Build the benchmarks and say where they are, by name."""
    built = subprocess.run(BUILD, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    messages = map(json.loads, built.splitlines())
    return {
        message["target"]["name"]: message["executable"]
        for message in messages
        if message.get("executable") and "bench" in message["target"]["kind"]
    }


def run(*command: object) -> str:
    """Run a command and return what it prints."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def cpu_seconds(*command: object) -> tuple[float, str]:
    """User and system seconds of a command, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, printed


def instructions(*command: object) -> tuple[int, str]:
    """Instructions that cachegrind counts, and what the command prints."""
    with tempfile.NamedTemporaryFile() as out:
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out.name}"]
        done = subprocess.run([*tool, *map(str, command)], check=True, capture_output=True, text=True)
        lines = Path(out.name).read_text().splitlines()
    summary = next(line for line in lines if line.startswith("summary:"))
    return int(summary.split()[1]), done.stdout


Command = tuple[object, ...]
Pair = Sequence[Command]
"""The same command for a short and for a long run."""
Difference = tuple[int, str, str]
"""Instructions of a longer run less those of a shorter one, and what each prints."""


def differences(pairs: Iterable[Pair]) -> list[Difference | None]:
    """Count pairs, so that setting up does not count; None for one that is refused."""

    def count(pair: Pair) -> Difference | None:
        try:
            (short, first), (long, second) = (instructions(*command) for command in pair)
        except subprocess.CalledProcessError as error:
            # A frame of slots has no room for so many flows.
            if error.returncode != REFUSED:
                raise
            return None
        return long - short, first, second

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(count, pairs))


def per(pairs: Iterable[Pair], column: int) -> list[float]:
    """Instructions for each unit that runs print in a column."""
    found = [one for one in differences(pairs) if one is not None]
    return [
        more / (int(second.split()[column]) - int(first.split()[column])) for more, first, second in found
    ]


def speed(binary: str, scheduler: str) -> float:
    """Millions of packet-hops per CPU second: the median of five runs."""
    samples = []
    for _ in range(5):
        seconds, printed = cpu_seconds(binary, scheduler, 20)
        samples.append(int(printed.split()[2]) / seconds / 1e6)
    return statistics.median(samples)


def chain(binary: str, counts: bool) -> list[list[str]]:
    """Rows of the five-server chain, ours first."""
    pairs = [tuple((binary, scheduler, seconds) for seconds in (1, 4)) for scheduler in TITLES]
    counted = [f"{cost:,.0f}" for cost in per(pairs, 2)] if counts else ["no valgrind"] * len(pairs)
    rows = []
    for (scheduler, title), count in zip(TITLES.items(), counted, strict=True):
        name, rate = f"**tidegate, {title}**", f"{speed(binary, scheduler):.1f}"
        rows.append([name, rate, count, str(BARS[scheduler])])
    return rows + [[*peer, ""] for peer in PEERS]


BACKLOGGED = (16, 1_000, 16_000, 100_000, 1_000_000)
# Shares of what a heap with an entry for every packet takes, by backlogged flows: VirtualClock with its
# queues, and the whole switch.
SHARES = {1_000: (0.6, 0.9), 100_000: (0.3, 0.45), 1_000_000: (0.2, 0.3)}


def dumbbell(binary: str, counts: bool) -> list[list[str]]:
    """Rows of ten TCP connections over RIO with taggers, 200 s."""
    seconds, printed = cpu_seconds(binary, 200)
    _, hops, carried, _ = printed.split()
    peers = "ns-2 2.1 to 2.4, ns-3 57 to 65"
    what = "ten TCP connections, RIO and taggers, 200 s:"
    rows = [
        [f"{what} M packet-hops per CPU s", f"{int(hops) / seconds / 1e6:.1f}", ""],
        [
            f"{what} CPU s per M packets of the bottleneck",
            f"{seconds / int(carried) * 1e6:.2f} ({peers})",
            "",
        ],
    ]
    if counts:
        (cost,) = per([((binary, 5), (binary, 20))], 1)
        rows.append([f"{what} a packet-hop", f"{cost:,.0f} instructions", "1,500"])
    return rows


def abr(binary: str) -> list[list[str]]:
    """Rows of ABR connections in a parking lot and over ten switches, without VS/VD and with it."""
    networks = (
        ("lot", "in the parking lot", (60, 120)),
        ("path", "of 1,000 VCs over ten switches", (15, 25)),
    )
    hows = (("plain", "ERICA"), ("vsvd", "ERICA and VS/VD"))
    pairs = [
        tuple((binary, network, how, run) for run in lengths)
        for network, _, lengths in networks
        for how, _ in hows
    ]
    names = [f"a cell-hop {where}, {name}" for _, where, _ in networks for _, name in hows]
    return [
        [name, f"{cost:,.0f} instructions", "900"] for name, cost in zip(names, per(pairs, 1), strict=True)
    ]


def credit(binary: str, counts: bool) -> list[list[str]]:
    """Row of a thousand VCs with credit over ten switches."""
    if not counts:
        return []
    (cost,) = per([((binary, 10), (binary, 30))], 1)
    what = "1,000 VCs with credit over ten switches: a cell-hop, its credit cells included"
    return [[what, f"{cost:,.0f} instructions", "1,000"]]


DECISION_BARS = {"srtcm": 120, "trtcm": 120}


def decisions(binary: str, counts: bool) -> list[list[str]]:
    """Rows of one decision of each dropper and meter, with one state and with a million.

    What the benchmark itself takes is subtracted.
    """
    taken: dict[str, dict[int, float]] = {}
    for line in run(binary, "--json").splitlines():
        entry = json.loads(line)
        taken.setdefault(entry["name"], {})[entry["states"]] = entry["ns"]

    keys = [(name, states) for name, of_states in taken.items() for states in of_states] if counts else []
    pairs = [tuple((binary, "count", *key, decided) for decided in (0, 100_000)) for key in keys]
    found = zip(keys, differences(pairs), strict=True)
    costs = {key: one[0] / 100_000 for key, one in found if one is not None}
    rows = []
    own = taken.pop("nothing")
    for name, of_states in taken.items():
        row = [f"`{name}`", *(f"{ns - own[states]:.0f}" for states, ns in of_states.items())]
        row += [f"{costs[name, states] - costs['nothing', states]:,.0f}" for states in of_states if counts]
        row += ["no valgrind"] * (5 - len(row))
        rows.append([*row, str(DECISION_BARS.get(name, ""))])
    return rows


def schedulers(binary: str) -> list[list[str]]:
    """Rows of a packet at VirtualClock and in the whole switch beside a heap, taken in one run each."""
    rows = []
    for flows, bars in SHARES.items():
        lines = [json.loads(line) for line in run(binary, "--json", "--barred", flows).splitlines()]
        for entry, bar, what in zip(
            lines, bars, ("VirtualClock with its queues", "the whole switch"), strict=True
        ):
            taken, heap, longest = entry["ns"], entry["heap_ns"], entry["longest_ns"]
            share = f"{entry['ratio']:.2f} of a heap"
            figure = f"{share} ({taken:.0f} of {heap:.0f} ns; longest {longest / 1000:,.0f} µs)"
            rows.append([f"a packet at {what}, {flows:,} flows", figure, f"{bar}"])
    return rows


def disciplines(binary: str, counts: bool) -> list[list[str]]:
    """Rows of a packet at every discipline with its queues, by backlogged flows.

    A cell has nanoseconds, also as a share of a heap in the same run, the longest operation, instructions.
    """
    cells: dict[str, dict[int, str]] = {name: {} for name in run(binary, "names").split()}
    for line in run(binary, "--json", *BACKLOGGED).splitlines():
        entry = json.loads(line)
        longest = f"longest {entry['longest_ns'] / 1000:,.1f} µs"
        cells[entry["name"]][entry["flows"]] = f"{entry['ns']:,.0f} ns, {entry['ratio']:.2f}, {longest}"
    keys = [(name, flows) for name in cells for flows in BACKLOGGED] if counts else []
    pairs = [
        tuple((binary, "count", name, flows, flows + more) for more in (0, 50_000)) for name, flows in keys
    ]
    for (name, flows), one in zip(keys, differences(pairs), strict=True):
        cost = "refused" if one is None else f"{one[0] / 50_000:,.0f} instructions"
        cells[name][flows] = f"{cells[name][flows]}, {cost}" if flows in cells[name] else cost
    return [[f"`{name}`", *(row.get(flows, "") for flows in BACKLOGGED)] for name, row in cells.items()]


def push_out(binary: str) -> list[list[str]]:
    """Rows of an arriving packet under sustained push-out."""
    sizes = (1_000, 65_536)
    found = differences(((binary, flows, 20_000), (binary, flows, 120_000)) for flows in sizes)
    return [
        [
            f"a packet under sustained push-out, {flows:,} flows",
            f"{one[0] / 100_000:,.0f} instructions",
            "not linear in flows",
        ]
        for flows, one in zip(sizes, found, strict=True)
        if one is not None
    ]


def of_subscribers(binary: str) -> list[list[str]]:
    """Rows of a packet of subscribers with ceilings in sites with ceilings."""
    sizes = ((100, 2), (20_000, 400))
    pairs = [tuple((binary, *size, packets) for packets in (20_000, 120_000)) for size in sizes]
    return [
        [
            f"a packet of one of {subscribers:,} subscribers in {sites} sites",
            f"{cost:,.0f} instructions",
            "flat",
        ]
        for (subscribers, sites), cost in zip(sizes, per(pairs, 0), strict=True)
    ]


def others(found: dict[str, str], counts: bool) -> list[list[str]]:
    """Rows of everything else: what, measured, bar."""
    rows = []
    for line in run(found["hold"], "--json", 1_000, 10_000).splitlines():
        entry = json.loads(line)
        pending, ratio = entry["pending"], entry["ratio"]
        rows.append(
            [f"event queue against BinaryHeap, {pending:,} pending", f"{ratio:.1f} times as fast", "2"]
        )
    for line in run(found["memory"]).splitlines():
        flows, size = line.split()
        rows.append(
            [f"an idle reserved flow at a port, of {int(flows):,}", f"{float(size):.0f} bytes", "256"]
        )
    rows += schedulers(found["schedulers"])
    rows += dumbbell(found["dumbbell"], counts)
    rows += credit(found["credit"], counts)
    measured = json.loads(run(found["subscribers"], "--json"))
    for key, state in (("idle_bytes", "idle"), ("active_bytes", "with a flow")):
        rows.append([f"a subscriber of 20,000, {state}, in a direction", f"{measured[key]} bytes", ""])
    rows.append(["reading a list of 20,000 circuits", f"{measured['load_ms']} ms", "100"])
    rows.append(["following a list with one line changed, in a direction", f"{measured['change_ms']} ms", ""])
    simulated = json.loads(run(sys.executable, ROOT / "benches" / "subscribers.py", "--json"))
    ratio = f"{simulated['ratio']:.2f} of an ordinary scenario with the same classes"
    rows.append(["the simulator with a gate file of 20,000 circuits, packet-hops per CPU s", ratio, "1"])
    check = [str(ROOT / ".venv" / "bin" / "tidegate"), "check", str(ROOT / "examples" / "ten-lines.toml")]
    seconds = statistics.median(cpu_seconds(*check)[0] for _ in range(5))
    rows.append(["`tidegate check` of the ten lines", f"{seconds:.2f} CPU s", "well under 1"])
    if counts:
        rows += abr(found["abr"])
        rows += push_out(found["push_out"])
        rows += of_subscribers(found["subscribers"])
    return rows


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table to the terminal."""
    table = Table(*header, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(cell.replace("**", "") for cell in row))
    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def main() -> None:
    """Run, print, and on request write into the README."""
    found = executables()
    counts = shutil.which("valgrind") is not None
    first = ["five servers in a row", "M packet-hops per CPU s", "instructions per packet-hop", "bar"]
    second = ["what", "measured", "bar"]
    third = [
        "a decision",
        "ns, one state",
        "ns, a million",
        "instructions, one",
        "instructions, a million",
        "bar",
    ]
    fourth = ["a packet, by backlogged flows", *(f"{flows:,}" for flows in BACKLOGGED)]
    parts: list[tuple[Path, list[str], Callable[[], list[list[str]]]]] = [
        (README, first, lambda: chain(found["chain"], counts)),
        (README, second, lambda: others(found, counts)),
        (PERFORMANCE, third, lambda: decisions(found["decisions"], counts)),
        (PERFORMANCE, fourth, lambda: disciplines(found["schedulers"], counts)),
    ]
    # Each table is shown as soon as it is known, and a page is written when all of its tables are. The last
    # table takes most of the time.
    for page, of_page in groupby(parts, key=lambda part: part[0]):
        tables = []
        for _, header, measure in of_page:
            rows = measure()
            show("", header, rows)
            tables.append((header, rows))
        if "--readme" in sys.argv[1:]:
            fill(page, tables)


def fill(page: Path, tables: list[tuple[list[str], list[list[str]]]]) -> None:
    """Write tables into a page, between its markers."""
    before, rest = page.read_text().split("<!-- bench -->\n")
    _, after = rest.split("<!-- /bench -->")
    text = "\n\n".join(markdown(*table) for table in tables)
    page.write_text(f"{before}<!-- bench -->\n{text}\n<!-- /bench -->{after}")


if __name__ == "__main__":
    main()
