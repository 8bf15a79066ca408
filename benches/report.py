"""Runs the benchmarks and prints them beside the peers' figures and the bars.

Instruction counts (callgrind) and ratios taken within one run are what to compare: machines are noisy.
With `--readme`, the tables also go into README.md and docs/performance.md between their `bench` markers.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
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
    """Instructions that callgrind counts, and what the command prints."""
    with tempfile.NamedTemporaryFile() as out:
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *map(str, command)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        lines = Path(out.name).read_text().splitlines()
    summary = next(line for line in lines if line.startswith("summary:"))
    return int(summary.split()[1]), done.stdout


def per_hop(binary: str, scheduler: str) -> float:
    """Instructions per packet-hop: two runs of different length, so that setting up does not count."""
    (short, first), (long, second) = (instructions(binary, scheduler, seconds) for seconds in (1, 4))
    return (long - short) / (int(second.split()[2]) - int(first.split()[2]))


def speed(binary: str, scheduler: str) -> float:
    """Millions of packet-hops per CPU second: the median of five runs."""
    samples = []
    for _ in range(5):
        seconds, printed = cpu_seconds(binary, scheduler, 20)
        samples.append(int(printed.split()[2]) / seconds / 1e6)
    return statistics.median(samples)


def chain(binary: str, counts: bool) -> list[list[str]]:
    """Rows of the five-server chain, ours first."""
    rows = []
    for scheduler, title in TITLES.items():
        count = f"{per_hop(binary, scheduler):,.0f}" if counts else "no valgrind"
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
        (short, first), (long, second) = (instructions(binary, run) for run in (5, 20))
        cost = (long - short) / (int(second.split()[1]) - int(first.split()[1]))
        rows.append([f"{what} a packet-hop", f"{cost:,.0f} instructions", "1,500"])
    return rows


def abr(binary: str) -> list[list[str]]:
    """Rows of ABR connections in a parking lot and over ten switches, without VS/VD and with it."""
    rows = []
    for network, where, lengths in (
        ("lot", "in the parking lot", (60, 120)),
        ("path", "of 1,000 VCs over ten switches", (15, 25)),
    ):
        for how, name in (("plain", "ERICA"), ("vsvd", "ERICA and VS/VD")):
            (short, first), (long, second) = (instructions(binary, network, how, run) for run in lengths)
            cost = (long - short) / (int(second.split()[1]) - int(first.split()[1]))
            rows.append([f"a cell-hop {where}, {name}", f"{cost:,.0f} instructions", "900"])
    return rows


def credit(binary: str, counts: bool) -> list[list[str]]:
    """Row of a thousand VCs with credit over ten switches."""
    if not counts:
        return []
    (short, first), (long, second) = (instructions(binary, milliseconds) for milliseconds in (10, 30))
    cost = (long - short) / (int(second.split()[1]) - int(first.split()[1]))
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

    def cost(name: str, states: int) -> float:
        (short, _), (long, _) = (
            instructions(binary, "count", name, states, decided) for decided in (0, 100_000)
        )
        return (long - short) / 100_000

    rows = []
    own = taken.pop("nothing")
    own_counts = {states: cost("nothing", states) for states in own if counts}
    for name, states in taken.items():
        row = [f"`{name}`", *(f"{ns - own[count]:.0f}" for count, ns in states.items())]
        row += [f"{cost(name, count) - taken_by_loop:,.0f}" for count, taken_by_loop in own_counts.items()]
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
    for name, row in cells.items():
        for flows in BACKLOGGED if counts else ():
            try:
                (short, _), (long, _) = (
                    instructions(binary, "count", name, flows, flows + more) for more in (0, 50_000)
                )
            except subprocess.CalledProcessError:
                # A frame of slots has no room for so many.
                row[flows] = "refused"
                continue
            cost = f"{(long - short) / 50_000:,.0f} instructions"
            row[flows] = f"{row[flows]}, {cost}" if flows in row else cost
    return [[f"`{name}`", *(row.get(flows, "") for flows in BACKLOGGED)] for name, row in cells.items()]


def push_out(binary: str, flows: int) -> float:
    """Instructions per arriving packet under sustained push-out."""
    (short, _), (long, _) = (instructions(binary, flows, packets) for packets in (20_000, 120_000))
    return (long - short) / 100_000


def per_packet(binary: str, subscribers: int, sites: int) -> float:
    """Instructions per packet of subscribers with ceilings in sites with ceilings."""
    (short, first), (long, second) = (
        instructions(binary, subscribers, sites, packets) for packets in (20_000, 120_000)
    )
    return (long - short) / (int(second) - int(first))


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
        for flows in (1_000, 65_536):
            cost = f"{push_out(found['push_out'], flows):,.0f} instructions"
            rows.append([f"a packet under sustained push-out, {flows:,} flows", cost, "not linear in flows"])
        for subscribers, sites in ((100, 2), (20_000, 400)):
            cost = f"{per_packet(found['subscribers'], subscribers, sites):,.0f} instructions"
            rows.append([f"a packet of one of {subscribers:,} subscribers in {sites} sites", cost, "flat"])
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
    parts: list[tuple[list[str], Callable[[], list[list[str]]]]] = [
        (first, lambda: chain(found["chain"], counts)),
        (second, lambda: others(found, counts)),
        (third, lambda: decisions(found["decisions"], counts)),
        (fourth, lambda: disciplines(found["schedulers"], counts)),
    ]
    tables = []
    # Each is shown as soon as it is known: the last one takes most of an hour.
    for header, measure in parts:
        rows = measure()
        show("", header, rows)
        tables.append((header, rows))
    if "--readme" in sys.argv[1:]:
        fill(ROOT / "README.md", tables[:2])
        fill(ROOT / "docs" / "performance.md", tables[2:])


def fill(page: Path, tables: list[tuple[list[str], list[list[str]]]]) -> None:
    """Write tables into a page, between its markers."""
    before, rest = page.read_text().split("<!-- bench -->\n")
    _, after = rest.split("<!-- /bench -->")
    text = "\n\n".join(markdown(*table) for table in tables)
    page.write_text(f"{before}<!-- bench -->\n{text}\n<!-- /bench -->{after}")


if __name__ == "__main__":
    main()
