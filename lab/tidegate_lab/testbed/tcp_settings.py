"""Settings in which the simulator's TCP is held against the kernel's, and how far apart both may be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tidegate
from tidegate import commands
from tidegate.backends import jobs_for
from tidegate_lab.testbed import backend

if TYPE_CHECKING:
    from tidegate.results import Results

PACKET, HEADER = 1514, 66
"""Bytes of a packet of data in Ethernet, and of its headers: IPv4, and TCP with time stamps."""
ACCESS = 1
"""Delay of each access link, in ms."""
DISTANCES = (10, 9.2, 9.4, 9.6, 9.8, 10.2, 10.4, 10.6, 10.8, 11)
"""Time between the starts of two connections in each run, in ms."""
RECORDED = Path(__file__).with_name("tcp_recorded.json")
"""The kernel's figures, by the name of the setting."""


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        connections: Their number.
        congestion: Congestion control.
        queue: The queue of the bottleneck: `fifo`, `codel`, or `red` with ECN.
        rate: The bottleneck's rate, in Mbit/s.
        rtt: Round trip without queueing, in ms.
        buffer: Room of the queue, in products of rate and round trip.
    """

    connections: int
    congestion: str
    queue: str
    rate: int
    rtt: int
    buffer: float

    @property
    def name(self) -> str:
        """A name in one word: the properties in their order."""
        return f"{self.connections}-{self.congestion}-{self.queue}-{self.rate}-{self.rtt}-{self.buffer:g}"

    @property
    def packets(self) -> int:
        """Packets for which the queue has room, the one in service included."""
        return max(round(self.buffer * self.rate * self.rtt * 1000 / 8 / PACKET), 2)

    @property
    def duration(self) -> int:
        """Length of a run, in s."""
        return 20 if self.rate == 10 else 10

    @property
    def runs(self) -> int:
        """Number of runs, of which figures are the means.

        Each has another seed, by which RED draws, and another distance between the starts of connections.
        Where several connections lose packets, a small change decides which of them does, and a single run
        says little.
        """
        return len(DISTANCES) if self.queue == "red" or self.connections > 1 else 1

    @property
    def uses_ecn(self) -> bool:
        """True if the ends of connections are ECN-capable."""
        return self.queue == "red" or self.congestion == "dctcp"

    def text(self, run: int = 0) -> str:
        """Return the scenario of a run; the first one has number 0."""
        ecn = ', ecn = "on"' if self.uses_ecn else ""
        lines = [
            f'version = 1\nname = "{self.name}"\nduration = "{self.duration}s"',
            f'topology = {{ kind = "dumbbell", pairs = {self.connections}, rate = "{self.rate}mbit", '
            f'delay = "{self.rtt / 2 - 2 * ACCESS:g}ms", '
            f'access = {{ rate = "1gbit", delay = "{ACCESS}ms" }} }}',
            self._port(),
        ]
        for number in range(1, self.connections + 1):
            lines.append(
                f'[[connection]]\nname = "bulk{number}"\nfrom = "l{number}"\nto = "r{number}"\n'
                f'start = "{(number - 1) * DISTANCES[run]:g}ms"\nsize = "{PACKET}B"\n'
                f'transport = {{ kind = "tcp", header = "{HEADER}B", congestion = "{self.congestion}"{ecn} }}'
            )
        return "\n".join(lines) + "\n"

    def _port(self) -> str:
        """Return the queue: a limit of the port, where a pool would be shared with acknowledgements."""
        if self.queue == "fifo":
            return f'port = {{ dropper = {{ kind = "drop-tail", limit = "{self.packets}p" }} }}'
        pool = f'switch = {{ buffer = "{self.packets}p" }}\n'
        if self.queue == "codel":
            return pool + 'port = { dropper = { kind = "codel", form = "linux" } }'
        least = max(self.packets // 6, 3)
        return pool + (
            f'port = {{ dropper = {{ kind = "red", form = "linux", min_th = "{least}p", '
            f'max_th = "{3 * least}p", '
            f'signal = "mark", mean_packet = "{PACKET}B", max_p = 0.1, weight = {_weight(least)} }} }}'
        )


def _weight(least: int) -> float:
    """Return the weight of RED that `tc` derives from its `burst`, (2 min + max) / 3 packets."""
    burst = round(5 * least / 3)
    exponent = next(
        one for one in range(1, 32) if burst + 1 - least <= (1 - (1 - 2.0**-one) ** burst) * 2.0**one
    )
    return 2.0**-exponent


_ROWS = """
1 cubic codel 10 200 0.5
1 cubic codel 100 40 2
1 cubic fifo 10 10 0.5
1 dctcp codel 100 10 2
1 dctcp red 10 40 2
1 dctcp red 100 40 0.5
1 reno codel 100 40 0.5
1 reno red 10 200 0.5
2 cubic codel 10 10 2
2 cubic fifo 100 10 2
2 cubic red 10 200 2
2 dctcp codel 100 10 0.5
2 dctcp fifo 100 200 2
2 reno codel 10 40 0.5
2 reno fifo 10 200 2
2 reno red 100 40 0.5
10 cubic red 100 10 2
10 cubic red 100 40 0.5
10 dctcp codel 10 200 2
10 dctcp fifo 10 40 0.5
10 dctcp red 10 200 2
10 reno fifo 10 10 0.5
10 reno fifo 100 10 2
10 reno fifo 100 200 0.5
"""


def _read(row: str) -> Setting:
    connections, congestion, queue, rate, rtt, buffer = row.split()
    return Setting(int(connections), congestion, queue, int(rate), int(rtt), float(buffer))


SETTINGS = tuple(_read(row) for row in _ROWS.strip().splitlines())
"""24 settings: every pair of two values of different properties is in one of them."""


@dataclass(frozen=True)
class Figures:
    """Figures of runs: goodput in bit/s, packets lost, mean queueing in s, and timeouts."""

    goodput: float
    drops: float
    queueing: float
    timeouts: float


def mean(found: Sequence[Figures]) -> Figures:
    """Return the means of figures."""
    rows = [asdict(one) for one in found]
    return Figures(**{name: sum(row[name] for row in rows) / len(rows) for name in rows[0]})


def in_simulator(setting: Setting) -> Figures:
    """Return the figures of the simulator: means over the runs of a setting."""
    sources = [commands.resolved(setting.text(run)) for run in range(setting.runs)]
    return mean([figures(tidegate.simulate(one.scenario, seed=run)) for run, one in enumerate(sources)])


def in_kernel(setting: Setting, tell: Callable[[int], None]) -> Figures:
    """Return the figures of the kernel: means over the runs of a setting.

    Args:
        setting: The setting.
        tell: Called with the number of runs that are done, after each.
    """

    def carry_out(run: int) -> Figures:
        return figures(backend.run(commands.resolved(setting.text(run)), jobs=1, seed=run))

    with ThreadPoolExecutor(jobs_for(setting.runs, None)) as pool:
        try:
            pending = [pool.submit(carry_out, run) for run in range(setting.runs)]
            for done, one in enumerate(as_completed(pending), 1):
                one.result()
                tell(done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return mean([one.result() for one in pending])


def figures(results: Results) -> Figures:
    """Return the figures of a run."""
    rows = [row for row in results.flow_rows() if row["flow"].startswith("bulk")]
    flows = [row for row in rows if row["goodput"] is not None]
    packets = sum(row["received_packets"] for row in flows)
    return Figures(
        goodput=sum(row["goodput"] for row in flows),
        drops=sum(row["dropped_packets"] for row in flows),
        queueing=sum(
            row["queueing_mean"] * row["received_packets"] for row in flows if row["received_packets"]
        )
        / packets,
        timeouts=sum(row["timeouts"] for row in flows),
    )


def misses(ours: Figures, kernel: Figures) -> list[str]:
    """Return the figures that are further from the kernel's than the bar.

    It is 3 % for goodput, 15 % or 10 packets for drops, 10 % or 1 ms for queueing, 2 for timeouts.
    """
    bars = {
        "goodput": 0.03 * kernel.goodput,
        "drops": max(0.15 * kernel.drops, 10),
        "queueing": max(0.1 * kernel.queueing, 1e-3),
        "timeouts": 2.0,
    }
    theirs = asdict(kernel)
    return [name for name, own in asdict(ours).items() if not math.fabs(own - theirs[name]) <= bars[name]]


def recorded() -> dict[str, Figures]:
    """Return the recorded figures of the kernel, by the name of the setting."""
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {name: Figures(**row) for name, row in rows.items()}


def record(found: Mapping[str, Figures]) -> str:
    """Return the text of the file of recorded figures."""
    rows = {name: {key: round(value, 7) for key, value in asdict(one).items()} for name, one in found.items()}
    return json.dumps(rows, indent=1) + "\n"
