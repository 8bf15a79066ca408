"""Runs the benchmarks and prints them beside the peers' figures and the bars.

Instruction counts (cachegrind) and ratios taken within one run are what to compare: machines are
noisy. Times are taken one after the other, counts on every processor at once: nothing else changes
a count. With `--readme` (`make bench-readme`), the tables also go into
docs/benchmarks.md and docs/performance.md, and five rows into README.md.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import bars
from circuits import circuit_rows
from counting import ROOT, cpu_seconds, differences, executables, misses, per, run, usage
from null_device import gate_rows
from rich.console import Console
from rich.table import Table

README = ROOT / "README.md"
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
WIDTH = 200
"""Columns when the output is no terminal: nothing is cut off."""
TITLES = {"fifo": "FIFO", "virtual-clock": "VirtualClock"}


def speed(binary: str, scheduler: str, delay: int) -> float:
    """Millions of packet-hops per CPU second: the median of five runs."""
    samples = []
    for _ in range(5):
        seconds, printed = cpu_seconds(binary, scheduler, 20, delay)
        samples.append(int(printed.split()[2]) / seconds / 1e6)
    return statistics.median(samples)


def chain(binary: str, counts: bool) -> list[list[str]]:
    """Rows of the five-server chain, ours first: without delay, and with the links of the peers."""
    kinds = [(scheduler, delay) for delay in (0, bars.PEERS_CHAIN) for scheduler in TITLES]
    pairs = [tuple((binary, scheduler, seconds, delay) for seconds in (1, 4)) for scheduler, delay in kinds]
    counted: Sequence[float | None] = per(pairs, 2) if counts else [None] * len(pairs)
    rows = [
        of_chain(f"**tidegate, {TITLES[kind[0]]}**", kind, speed(binary, *kind), count, bars.today())
        for kind, count in zip(kinds, counted, strict=True)
    ]
    return rows + [
        of_chain(name, ("", bars.PEERS_CHAIN), rate, count, when) for name, rate, count, when in bars.PEERS
    ]


def of_chain(name: str, kind: tuple[str, int], rate: float, count: float | None, when: str) -> list[str]:
    """Return a row of the five-server chain; a count is None without valgrind."""
    bar = bars.CHAIN.get(kind)
    shown = "no valgrind" if count is None else f"{count:,.0f}"
    delay = f"{kind[1]} ms" if kind[1] else "none"
    # Two digits: the second decimal of millions is noise.
    fast = f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"
    return [name, delay, fast, shown, "" if bar is None or count is None else bar.cell(count), when]


BACKLOGGED = (16, 1_000, 16_000, 100_000, 1_000_000)


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
        rows.append([f"{what} a packet-hop", f"{cost:,.0f} instructions", bars.TCP_HOP.cell(cost)])
    return rows


def fabrics(found: dict[str, str], counts: bool) -> list[list[str]]:
    """Rows of networks of a thousand nodes, beside the chain with the links of the peers in the same run."""
    networks = (
        ("fat tree, k = 16 (1,344 nodes)", ("fat-tree", 16), (200, 500), 2_000),
        ("leaf and spine, 1,000 switches", ("leaf-spine", 1_000), (1_000, 2_500), 10_000),
    )
    binary, rows = found["fabric"], []
    for name, kind, lengths, long in networks:
        ratios = []
        for _ in range(3):
            (set_up, first), (taken, printed) = (cpu_seconds(binary, *kind, micros) for micros in (1, long))
            hops = int(printed.split()[2]) - int(first.split()[2])
            seconds, chained = cpu_seconds(found["chain"], "fifo", 20, bars.PEERS_CHAIN)
            ratios.append(hops / (taken - set_up) / (int(chained.split()[2]) / seconds))
        ratio = statistics.median(ratios)
        what = f"{name}: packet-hops per CPU s"
        rows.append([what, f"{ratio:.2f} of the chain's with links of 1 ms", bars.FABRIC_SPEED.cell(ratio)])
        if counts:
            pair = tuple((binary, *kind, micros) for micros in lengths)
            (cost,), (missed,) = per([pair], 2), per([pair], 2, misses)
            rows.append([f"{name}: a packet-hop", f"{cost:,.0f} instructions", bars.FABRIC_HOP.cell(cost)])
            rows.append(
                [f"{name}: a packet-hop", f"{missed:.0f} first-level misses", bars.FABRIC_MISSES.cell(missed)]
            )
    return rows


def memory(binary: str) -> list[list[str]]:
    """Rows of what flows and links hold."""
    names = {
        "port": ("an idle reserved flow at a port, of {}", bars.FLOW),
        "named": ("a flow with a name over six links and its results, of {}", bars.NAMED_FLOW),
        "member": ("a member of a flow with `count` over six links, of {}", bars.MEMBER),
        "link": ("an idle one-way link with its nodes, of {}", bars.IDLE_LINK),
    }
    rows = []
    for line in run(binary).splitlines():
        kind, number, size = line.split()
        what, bar = names[kind]
        rows.append([what.format(f"{int(number):,}"), f"{float(size):,.0f} bytes", bar.cell(float(size))])
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
    limits = [bars.RATE_HOPS[network, how] for network, _, _ in networks for how, _ in hows]
    return [
        [name, f"{cost:,.0f} instructions", bar.cell(cost)]
        for name, bar, cost in zip(names, limits, per(pairs, 1), strict=True)
    ]


def credit(binary: str, counts: bool) -> list[list[str]]:
    """Row of a thousand VCs with credit over ten switches."""
    if not counts:
        return []
    (cost,) = per([((binary, 10), (binary, 30))], 1)
    what = "1,000 VCs with credit over ten switches: a cell-hop, its credit cells included"
    return [[what, f"{cost:,.0f} instructions", bars.CREDIT_HOP.cell(cost)]]


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
        bar, (first, *_) = bars.DECISIONS.get(name), of_states
        known = counts and bar is not None
        rows.append([*row, bar.cell(costs[name, first] - costs["nothing", first]) if known else ""])
    return rows


def schedulers(binary: str) -> list[list[str]]:
    """Rows of a packet at VirtualClock and in the whole switch beside a heap, taken in one run each."""
    rows = []
    for flows, limits in bars.SHARES.items():
        lines = [json.loads(line) for line in run(binary, "--json", "--barred", flows).splitlines()]
        for entry, bar, what in zip(
            lines, limits, ("VirtualClock with its queues", "the whole switch"), strict=True
        ):
            taken, heap, longest = entry["ns"], entry["heap_ns"], entry["longest_ns"]
            share = f"{entry['ratio']:.2f} of a heap"
            figure = f"{share} ({taken:.0f} of {heap:.0f} ns; longest {longest / 1000:,.0f} µs)"
            rows.append([f"a packet at {what}, {flows:,} flows", figure, bar.cell(entry["ratio"])])
    return rows


def disciplines(binary: str, counts: bool) -> list[list[str]]:
    """Rows of a packet at every discipline with its queues, by backlogged flows.

    A cell has nanoseconds, also as a share of a heap in the same run, the longest operation,
    instructions.
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
    names = [f"a packet under sustained push-out, {flows:,} flows" for flows in sizes]
    return bars.against_the_first(
        names, [one[0] / 100_000 for one in found if one is not None], bars.PUSH_OUT
    )


def papers() -> list[list[str]]:
    """Rows of a default run of each paper: CPU seconds and memory."""
    command = ROOT / ".venv" / "bin" / "tidegate"
    names = [one["paper"] for one in json.loads(run(command, "paper", "--json"))["papers"]]
    used = {name: usage(command, "paper", name) for name in names}
    rows = [
        [f"`tidegate paper {name}`", f"{seconds:,.0f} CPU s, {memory:,.0f} MB", ""]
        for name, (seconds, memory) in used.items()
    ]
    seconds, memory = sum(one for one, _ in used.values()), max(one for _, one in used.values())
    rows.append(["all five papers", f"{seconds:,.0f} CPU s", bars.PAPERS.cell(seconds)])
    rows.append(["all five papers", f"{memory:,.0f} MB at most", bars.PAPERS_MEMORY.cell(memory)])
    return rows


def others(found: dict[str, str], counts: bool) -> list[list[str]]:
    """Rows of everything else: what, measured, bar."""
    rows = []
    for line in run(found["hold"], "--json", 1_000, 10_000).splitlines():
        entry = json.loads(line)
        pending, ratio = entry["pending"], entry["ratio"]
        rows.append(
            [
                f"event queue against BinaryHeap, {pending:,} pending",
                f"{ratio:.1f} times as fast",
                bars.QUEUE.cell(ratio),
            ]
        )
    rows += memory(found["memory"])
    rows += fabrics(found, counts)
    rows += schedulers(found["schedulers"])
    rows += dumbbell(found["dumbbell"], counts)
    rows += credit(found["credit"], counts)
    measured = json.loads(run(found["subscribers"], "--json"))
    for key, state in (("idle_bytes", "idle"), ("active_bytes", "with a flow")):
        rows.append([f"a subscriber of 20,000, {state}, in a direction", f"{measured[key]} bytes", ""])
    held, idle = measured["households_bytes"] / 1e6, measured["idle_household_bytes"]
    households = "20,000 circuits, of which 2,000 have ten conversations each, both directions"
    rows.append([households, f"{held:.0f} MB", bars.HOUSEHOLDS_MEMORY.cell(held)])
    rows.append(
        ["an idle circuit of these, both directions", f"{idle} bytes", bars.IDLE_HOUSEHOLD.cell(idle)]
    )
    load = measured["load_ms"]
    rows.append(["reading a list of 20,000 circuits", f"{load} ms", bars.LIST.cell(load)])
    rows.append(["following a list with one line changed, in a direction", f"{measured['change_ms']} ms", ""])
    simulated = json.loads(run(sys.executable, ROOT / "benches" / "subscribers.py", "--json"))
    ratio = simulated["ratio"]
    rows.append(
        [
            "the simulator with a gate file of 20,000 circuits, packet-hops per CPU s",
            f"{ratio:.2f} of an ordinary scenario with the same classes",
            bars.GATE_FILE.cell(ratio),
        ]
    )
    check = [str(ROOT / ".venv" / "bin" / "tidegate"), "check", str(ROOT / "examples" / "ten-lines.toml")]
    seconds = statistics.median(cpu_seconds(*check)[0] for _ in range(5))
    rows.append(["`tidegate check` of the ten lines", f"{seconds:.2f} CPU s", bars.CHECK.cell(seconds)])
    rows += papers()
    if counts:
        rows += abr(found["abr"])
        rows += push_out(found["push_out"])
        rows += circuit_rows(found["subscribers"])
        rows += gate_rows(found)
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
    first = [
        "five servers in a row",
        "delay of a link",
        "M packet-hops per CPU s",
        "instructions per packet-hop",
        "bar",
        "measured",
    ]
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
        (BENCHMARKS, first, lambda: chain(found["chain"], counts)),
        (BENCHMARKS, second, lambda: others(found, counts)),
        (PERFORMANCE, third, lambda: decisions(found["decisions"], counts)),
        (PERFORMANCE, fourth, lambda: disciplines(found["schedulers"], counts)),
    ]
    # Each table is shown as soon as it is known, and a page is written when all of its tables are.
    # The last table takes most of the time.
    for page, of_page in groupby(parts, key=lambda part: part[0]):
        tables = []
        for _, header, measure in of_page:
            rows = measure()
            show("", header, rows)
            tables.append((header, rows))
        if "--readme" in sys.argv[1:]:
            fill(page, tables)
            if page == BENCHMARKS:
                fill(README, [in_short(tables[0][1])])


def in_short(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the table of the README, of the rows of chains."""
    header = [
        "a chain of five servers, links of 1 ms",
        "M packet-hops per CPU s",
        "instructions per packet-hop",
    ]
    shown = ("**tidegate, FIFO**", "csg-htsim", "ns-2", "ns-3 3.37, UDP over IP", "ns.py")
    with_delay = [row for row in rows if row[1] == "1 ms" and row[0].startswith(shown)]
    return header, [[row[0], row[2], row[3]] for row in with_delay]


def fill(page: Path, tables: list[tuple[list[str], list[list[str]]]]) -> None:
    """Write tables into a page, between its markers."""
    before, rest = page.read_text().split("<!-- bench -->\n")
    _, after = rest.split("<!-- /bench -->")
    text = "\n\n".join(markdown(*table) for table in tables)
    page.write_text(f"{before}<!-- bench -->\n{text}\n<!-- /bench -->{after}")


if __name__ == "__main__":
    main()
