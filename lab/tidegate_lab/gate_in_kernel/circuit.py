"""A household's call beside its own ten downloads and ten uploads, unmarked, with the kernel's TCP.

The circuit has 10 Mbit/s up and 50 Mbit/s down. A gate with a list of circuits keeps these rates, then HTB
with FQ-CoDel, then CAKE, each with its defaults, and last HTB with a plain FIFO.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import commands
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.names import NAMES
from tidegate_lab.testbed import gated, runs
from tidegate_lab.uml import build

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "circuit"
SEED = 1
WARMUP = 3.0
"""Time before the measured one, in s."""
COUNT = 10
"""Transfers in each direction."""
LINE, GIGABIT = 100, 1000
"""Rates of the line in both directions, and of all other links, in Mbit/s."""
RATES = {"up": 10, "down": 50}
"""Rates of the circuit, in Mbit/s."""
LINKS = {"up": "home->isp", "down": "isp->home"}
FRAME = 1514
"""Bytes of a full packet."""
ROOM = 1000
"""Packets of the plain FIFO: `txqueuelen` of an interface."""
CALL = 214
"""Bytes of a packet of the call, which come every 20 ms."""
ACCESS, FIRST, TRUNK = 0.1, 5, 1
"""Delays in ms of the house's link, of the first server's and of the line."""
BITS, MEGA = 8, 1e6
ALONE = (ACCESS + FIRST + TRUNK) / 1e3 + CALL * BITS / MEGA * (2 / GIGABIT + 1 / LINE)
"""Delay of a packet of the call that waits for nothing, in s."""
MORE = 5e-3
"""Time in s for which a packet of the call may wait, beyond that of a full packet at the circuit's rate."""
QDISCS = {
    "HTB, FQ-CoDel": ("htb", "fq_codel"),
    "CAKE": ("cake", ""),
    "HTB, FIFO": ("htb", f"pfifo limit {ROOM}"),
}
"""Shaper of the circuit, and the queue below it."""
GATE = "gate"
WAYS = (GATE, *QDISCS)
RECORDED = Path(__file__).with_name("circuit.json")
"""The figures of a run, as `--out` writes them."""

COLUMNS = tuple(
    Column(f"{direction}_{name}", f"{direction}: {heading}", unit)
    for direction in RATES
    for name, heading, unit in (
        ("p99", "the call waits, 99 %", "s"),
        ("most", "at most", "s"),
        ("lost", "lost", "count"),
        ("goodput", "transfers", "bit/s"),
        ("least", "least of a transfer", "bit/s"),
    )
)


def scenario(seconds: float) -> str:
    """Return the scenario: the call, and transfers whose servers are 14 to 32 ms away, there and back."""
    end = WARMUP + seconds
    gigabit = f'rate = "{GIGABIT}mbit"'
    nodes = ['{ name = "home" }', '{ name = "isp" }', '{ name = "house", kind = "host" }']
    links = [
        f'{{ from = "home", to = "isp", rate = "{LINE}mbit", delay = "{TRUNK}ms" }}',
        f'{{ from = "house", to = "home", {gigabit}, delay = "{ACCESS}ms" }}',
    ]
    flows = ""
    for number in range(COUNT + 1):
        server = f"server{number}"
        nodes.append(f'{{ name = "{server}", kind = "host" }}')
        links.append(f'{{ from = "isp", to = "{server}", {gigabit}, delay = "{FIRST + number}ms" }}')
        for direction in RATES:
            ends = ("house", server) if direction == "up" else (server, "house")
            way = f'from = "{ends[0]}"\nto = "{ends[1]}"\n'
            if number:
                flows += (
                    f'[[connection]]\nname = "{direction}-{number}"\n{way}size = "1500B"\n'
                    f'start = "{50 * number}ms"\ntransport = {{ kind = "tcp", header = "66B" }}\n'
                )
            else:
                # It stops before the end: what is on its way then is not lost.
                flows += (
                    f'[[flow]]\nname = "call-{direction}"\n{way}size = "{CALL}B"\nstop = "{end - 1:g}s"\n'
                    f'source = {{ kind = "cbr", rate = "{CALL * BITS / 20:g}kbit" }}\n'
                )
    return (
        f'version = 1\nname = "{NAME}"\nduration = "{end:g}s"\nwarmup = "{WARMUP:g}s"\n'
        f"node = [{', '.join(nodes)}]\nlink = [{', '.join(links)}]\n{flows}"
    )


def files(ends: Mapping[str, gated.Ends]) -> dict[str, str]:
    """Return the file of the gate and its list, for the ends of each flow."""
    inside = [
        one.sender if name in ("call-up", *_names("up")) else one.receiver
        for name, one in ends.items()
        if "/" not in name
    ]
    up, down = RATES["up"], RATES["down"]
    return {
        gated.FILE: (
            'version = 1\nname = "household"\n'
            f'gate = {{ inside = "inside", outside = "outside", up = "{LINE}mbit", down = "{LINE}mbit", '
            'fail = "closed" }\n'
            '[[flow]]\nname = "subscribers"\ncircuits = "circuits.csv"\n'
            '[[flow]]\nname = "others"\nreserve = "100kbit"\n'
        ),
        "circuits.csv": (
            "name,addresses,up_reserve,up_ceiling,down_reserve,down_ceiling\n"
            f"household,{' '.join(inside)},{up}mbit,{up}mbit,{down}mbit,{down}mbit\n"
        ),
    }


def commands_of(way: str) -> dict[str, list[str]]:
    """Return the commands for both links, where the kernel keeps the rates."""
    shaper, queue = QDISCS[way]
    made = {}
    for direction, rate in RATES.items():
        root = "qdisc add dev @ parent 1:1 handle 10:"
        made[LINKS[direction]] = (
            [
                f"{root} htb default 1",
                f"class add dev @ parent 10: classid 10:1 htb rate {rate}mbit ceil {rate}mbit",
                f"qdisc add dev @ parent 10:1 {queue}",
            ]
            if shaper == "htb"
            else [f"{root} {shaper} bandwidth {rate}mbit"]
        )
    return made


def run(way: str, seconds: float, progress: Callable[[float], None] | None = None) -> Row:
    """Return the figures of the call and of the transfers.

    Raises:
        TidegateError: The kernel is not built, or failed.
    """
    source = commands.resolved(scenario(seconds))
    if way == GATE:
        outcome = runs.run_once(
            build.find(), source, SEED, 0, progress, gated=gated.Gated(LINKS["up"], files)
        )
    else:
        outcome = runs.run_once(build.find(), source, SEED, 0, progress, qdiscs=commands_of(way))
    return Row(way, figures(outcome.tables))


def carry_out(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment."""
    build.find()
    rows = []
    for way in WAYS:
        progress(way)
        rows.append(run(way, seconds))
    gate = rows[0].figures
    bars = []
    for direction, rate in RATES.items():
        limit = FRAME * BITS / (rate * MEGA) + MORE
        bars.append(Bar(f"{direction}: the call waits, 99 %", "s", gate[f"{direction}_p99"], limit))
        bars.append(Bar(f"{direction}: packets of the call lost", "count", gate[f"{direction}_lost"], 0))
    return Outcome(NAME, NAMES[NAME], COLUMNS, tuple(rows), tuple(bars), "", {})


def figures(tables: Mapping[str, pa.Table]) -> dict[str, float]:
    """Return the figures of a run, of its tables."""
    rows = {row["flow"]: row for row in tables["flows"].to_pylist()}
    found: dict[str, float] = {}
    for direction in RATES:
        call = rows[f"call-{direction}"]
        goodputs = [rows[name]["goodput"] for name in _names(direction)]
        found |= {
            f"{direction}_p99": call["delay_p99"] - ALONE,
            f"{direction}_most": call["delay_max"] - ALONE,
            f"{direction}_lost": call["sent_packets"] - call["received_packets"],
            f"{direction}_goodput": sum(goodputs),
            f"{direction}_least": min(goodputs),
        }
    return found


def recorded() -> dict[str, dict[str, float]]:
    """Return the rows of a recorded run of 20 s, by their names."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {one["name"]: one for one in document["rows"]}


def _names(direction: str) -> list[str]:
    return [f"{direction}-{number}" for number in range(1, COUNT + 1)]
