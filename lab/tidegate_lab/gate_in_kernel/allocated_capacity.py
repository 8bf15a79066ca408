"""Tables I, III and IV of Clark and Fang 1998 with the kernel's TCP, and a gate that has their RED or RIO.

Ten connections, and in Table IV a source that does not slow down, share 33 Mbit/s. The gate tags their
packets and drops; the simulator runs the same scenario with the same policies at its bottleneck.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import commands
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.names import NAMES
from tidegate_lab.testbed import runs
from tidegate_lab.testbed.gated import FILE, Ends, Gated
from tidegate_lab.uml import build

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "allocated-capacity"
SEED = 1
WARMUP = 10.0
"""Time before the measured one, in s."""
NEAR = 0.1
"""Share by which a total may be off the paper's."""
SIZE, PAYLOAD = 1500, {"simulator": 1460, "kernel": 1434}
"""Bytes of a packet, and of the data in it: headers have 40 bytes in the simulator, and those of
Ethernet, IPv4 and TCP with time stamps in the kernel."""
BOTTLENECK, TRUNK = "left->right", 2.0
"""The link that is shared, and its delay in ms."""
RTTS = (20, 20, 40, 40, 50, 50, 70, 70, 100, 100)
WIDE = (16, 16, 50, 60, 90, 100, 120, 130, 150, 160)
"""Round trips of the connections in ms, in the right half of Table III too."""
CBR_RTT = 50
OPEN = 'weight = 0.002, limit = "200p", signal = "drop", mean_packet = "1500B"'
RED = f'{{ kind = "red", min_th = "10p", max_th = "30p", max_p = 0.02, {OPEN} }}'
TAGGER = '{ kind = "tsw-tagger", window = "200ms" }'
RECORDED = Path(__file__).with_name("allocated-capacity.json")
"""The figures of a run, as `--out` writes them."""

COLUMNS = (
    Column("paper", "paper", "bit/s"),
    Column("simulator", "simulator", "bit/s"),
    Column("kernel", "kernel", "bit/s"),
    Column("off", "kernel off the paper's", "share"),
    Column("small", "most of 1 Mbit/s", "bit/s"),
    Column("large", "least of 5 Mbit/s", "bit/s"),
    Column("cbr", "CBR", "bit/s"),
)


@dataclass(frozen=True)
class Experiment:
    """A column of a table.

    Attributes:
        name: Its name.
        total: The paper's total, in bit/s.
        recovery: The loss recovery of TCP.
        max_p_out: RIO's probability for packets that are out; None for RED, without a tagger.
        rtts: Round trips of the connections, in ms.
        cbr: True with the source that does not slow down.
    """

    name: str
    total: float
    recovery: str
    max_p_out: float | None = None
    rtts: tuple[int, ...] = RTTS
    cbr: bool = False

    def policies(self) -> tuple[str, str]:
        """Return the dropper at the bottleneck, and the key of the meter before it."""
        if self.max_p_out is None:
            return RED, ""
        within = 'min_in = "40p", max_in = "70p", max_p_in = 0.02'
        beyond = f'min_out = "10p", max_out = "30p", max_p_out = {self.max_p_out}'
        return f'{{ kind = "rio", {within}, {beyond}, {OPEN} }}', f", meter = {TAGGER}"

    def scenario(self, seconds: float, *, in_kernel: bool) -> str:
        """Return the scenario, without the policies for which a gate stands in the kernel."""
        dropper, meter = self.policies()
        policies = ', policy = "fifo"' if in_kernel else f", dropper = {dropper}{meter}"
        ends = [*self.rtts, *([CBR_RTT] if self.cbr else [])]
        nodes = ["left", "right"]
        hosts = [f"{side}{number}" for number in range(len(ends)) for side in "lr"]
        trunk = f'from = "left", to = "right", rate = "33mbit", delay = "{TRUNK:g}ms"'
        links = [f"{{ {trunk}{policies} }}"]
        for number, rtt in enumerate(ends):
            delay = f'rate = "100mbit", delay = "{(rtt / 2 - TRUNK) / 2:g}ms"'
            links.append(f'{{ from = "l{number}", to = "left", {delay} }}')
            links.append(f'{{ from = "right", to = "r{number}", {delay} }}')
        transport = (
            f'{{ kind = "tcp", stack = "rfc", congestion = "reno", recovery = "{self.recovery}", '
            'minimum_rto = "200ms", initial_window = 1, receiver_window = "128000B", header = "40B" }'
        )
        flows = [
            f'[[connection]]\nname = "c{number}"\nfrom = "l{number}"\nto = "r{number}"\nsize = "{SIZE}B"\n'
            f'reserve = "{target(number)}"\nevery = "500ms"\ntransport = {transport}\n'
            for number in range(len(self.rtts))
        ]
        if self.cbr:
            place = len(self.rtts)
            flows.append(
                f'[[flow]]\nname = "cbr"\nfrom = "l{place}"\nto = "r{place}"\nsize = "{SIZE}B"\n'
                'every = "500ms"\nsource = { kind = "cbr", rate = "6mbit" }\n'
            )
        return (
            f'version = 1\nname = "{self.name}"\nduration = "{WARMUP + seconds:g}s"\nwarmup = "{WARMUP:g}s"\n'
            "node = ["
            + ", ".join(
                [f'{{ name = "{name}" }}' for name in nodes]
                + [f'{{ name = "{name}", kind = "host" }}' for name in hosts]
            )
            + f"]\nlink = [{', '.join(links)}]\n"
            + "".join(flows)
        )

    def files(self, ends: Mapping[str, Ends]) -> dict[str, str]:
        """Return the file of the gate, for the ends of each flow."""
        dropper, meter = self.policies()
        made = (
            'version = 1\nname = "bottleneck"\n'
            'gate = { inside = "inside", outside = "outside", up = "33mbit", down = "33mbit", '
            'fail = "closed" }\n'
            f'port = {{ scheduler = "fifo", dropper = {dropper}{meter} }}\n'
        )
        for number in range(len(self.rtts)):
            made += (
                f'[[flow]]\nname = "c{number}"\nmatch = {{ inside = "{ends[f"c{number}"].sender}" }}\n'
                f'reserve = "{target(number)}"\n'
            )
        return {FILE: made}


def target(number: int) -> str:
    """Return the target rate of a connection."""
    return f"{1 + 4 * (number % 2)}mbit"


EXPERIMENTS = (
    Experiment("Table I, RED", 30.51458e6, "newreno"),
    Experiment("Table I, RIO-TSW", 31.588476e6, "newreno", 0.2),
    Experiment("Table III, RED", 30.0791e6, "sack"),
    Experiment("Table III, RIO-TSW", 31.9114e6, "sack", 0.5),
    Experiment("Table III, tagger outside host", 30.83581e6, "sack", 0.5, WIDE),
    Experiment("Table IV, RED", 31.59858e6, "sack", cbr=True),
    Experiment("Table IV, RIO-TSW", 31.9857e6, "sack", 0.5, cbr=True),
)


def throughputs(tables: Mapping[str, pa.Table], where: str) -> dict[str, float]:
    """Return what each flow delivered in bit/s, counted in packets with their headers."""
    found = {}
    for row in tables["flows"].to_pylist():
        if row["flow"] == "cbr":
            found["cbr"] = row["throughput"]
        elif row["goodput"] is not None:
            found[row["flow"]] = row["goodput"] * SIZE / PAYLOAD[where]
    return found


def in_simulator(experiment: Experiment, seconds: float) -> dict[str, float]:
    """Return what each flow delivers in the simulator."""
    import tidegate

    source = commands.resolved(experiment.scenario(seconds, in_kernel=False))
    results = tidegate.simulate(source.scenario, replications=1, seed=SEED)
    return throughputs({"flows": results.flows}, "simulator")


def in_kernel(
    experiment: Experiment, seconds: float, progress: Callable[[float], None] | None = None
) -> dict[str, float]:
    """Return what each flow delivers in the kernel.

    Raises:
        TidegateError: The kernel is not built, or failed.
    """
    source = commands.resolved(experiment.scenario(seconds, in_kernel=True))
    gated = Gated(BOTTLENECK, experiment.files)
    outcome = runs.run_once(build.find(), source, SEED, 0, progress, gated=gated)
    return throughputs(outcome.tables, "kernel")


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment."""
    build.find()
    rows = []
    for experiment in EXPERIMENTS:
        progress(experiment.name)
        rows.append(row(experiment, in_simulator(experiment, seconds), in_kernel(experiment, seconds)))
    bars = tuple(
        Bar(f"{one.name}: kernel's total off the paper's", "share", abs(one.figures["off"]), NEAR)
        for one in rows
    )
    return Outcome(NAME, NAMES[NAME], COLUMNS, tuple(rows), bars, "", {})


def row(experiment: Experiment, simulator: Mapping[str, float], kernel: Mapping[str, float]) -> Row:
    """Return the figures of a column of a table, of what each flow has delivered."""
    total = sum(kernel.values())
    figures = {
        "paper": experiment.total,
        "simulator": sum(simulator.values()),
        "kernel": total,
        "off": total / experiment.total - 1,
        "small": max(kernel[f"c{number}"] for number in range(0, len(experiment.rtts), 2)),
        "large": min(kernel[f"c{number}"] for number in range(1, len(experiment.rtts), 2)),
    }
    return Row(experiment.name, figures | ({"cbr": kernel["cbr"]} if experiment.cbr else {}))


def recorded() -> dict[str, dict[str, float]]:
    """Return the rows of a recorded run of 20 s, by their names."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {one["name"]: one for one in document["rows"]}
