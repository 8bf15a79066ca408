"""A policy of the simulator and one of the kernel on the same packets, packet by packet.

A recorded arrival process goes through the port of a switch in the kernel. The times at which its
packets reach that port there are then the arrivals of the simulator's port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import backends, commands
from tidegate_lab.testbed import runs
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    import numpy as np

    from tidegate.backends import Source
    from tidegate_lab.uml.build import Kernel

RATE = 31_250_000
"""Rate of the link behind the port, in bit/s: a byte takes a step of the kernel's clock."""
ACCESS = 10_000_000_000
FLOWS = 4
"""Flows of the process; every second one is ECN-capable."""
ECN = ("on", "off")
SIZES = (100, 576, 1000, 1514)
MEAN_GAP = 167e-6
"""Mean time between packets outside of pauses, in s: somewhat more than the link carries."""
PAUSES = (0.0004, 16e-3)
"""Share of packets after a pause, and the pause's mean, in s."""
TURNS = (0.05, 2.0)
"""Mean time for which the load is steady, in s, and the greatest factor on it."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of the same packets in both.

    Attributes:
        packets: Packets that reached the port.
        dropped: Those that the kernel and the simulator dropped.
        marked: Those that they marked.
        dropped_by_one: Packets that only one of them dropped.
        marked_by_one: Packets that only one of them marked, of those that both sent.
        latest: The greatest difference between the times at which both began to send a packet, in s.
        queueing: Mean times in the queue, in s.
    """

    packets: int
    dropped: tuple[int, int]
    marked: tuple[int, int]
    dropped_by_one: int
    marked_by_one: int
    latest: float
    queueing: tuple[float, float]


def arrivals(count: int, seed: int) -> list[np.ndarray]:
    """Return an arrival process: for each flow, times in ns and sizes in bytes.

    Sizes are mixed, the load turns between a half and twice the link's, and there are pauses.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    gaps = rng.exponential(MEAN_GAP, count)
    lasts, factor = TURNS
    turn = np.cumsum(gaps) // lasts
    gaps *= rng.uniform(1 / factor, factor, int(turn[-1]) + 1)[turn.astype(int)]
    share, mean = PAUSES
    paused = rng.random(count) < share
    gaps[paused] += rng.exponential(mean, paused.sum())
    times = np.cumsum(np.rint(gaps * 1e9).astype(np.int64) + 1)
    sizes = rng.choice(SIZES, count)
    flows = rng.choice(FLOWS, count, p=(0.1, 0.2, 0.3, 0.4))
    return [np.column_stack((times[flows == flow], sizes[flows == flow])) for flow in range(FLOWS)]


def judge(
    kernel: Kernel,
    policy: str,
    buffer: str,
    packets: list[np.ndarray],
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Compare a policy on these packets.

    Args:
        kernel: The kernel.
        policy: The policy of the port, as in a scenario.
        buffer: The memory of the switch.
        packets: Times in ns and sizes in bytes, for each flow.
        seed: Seed of what the policies draw.
        progress: Called with the share of the kernel's run that is done.
    """
    import numpy as np

    end = duration(packets)
    with machine.workspace() as place:
        write(place / "sent.csv", packets)
        source = scenario(place, "sent.csv", policy, buffer, end, access=True)
        outcome = runs.run_once(kernel, source, seed, 0, progress)
        there = [outcome.flows[f"f{flow}"] for flow in range(FLOWS)]
        first = min(int(own.arrived[1].min()) for own in there)
        reached = [np.column_stack((own.arrived[1] - first, own.length)) for own in there]
        write(place / "reached.csv", reached)
        here = _simulated(scenario(place, "reached.csv", policy, buffer, end, access=False), seed, reached)
    verdicts = []
    for own, (started, marked) in zip(there, here, strict=True):
        kernel_started = np.where(own.started[1] >= 0, own.started[1] - first, -1)
        # Packets that still wait at the end of either run have no verdict.
        known = own.arrived[1] - first < (end - 0.9) * 1e9
        verdicts.append(
            (
                kernel_started[known],
                started[known],
                own.is_marked[known],
                marked[known],
                reached_at(own, first)[known],
            )
        )
    theirs, ours, theirs_marked, ours_marked, at = (
        np.concatenate(column) for column in zip(*verdicts, strict=True)
    )
    both = (theirs >= 0) & (ours >= 0)
    return Verdict(
        packets=len(theirs),
        dropped=(int((theirs < 0).sum()), int((ours < 0).sum())),
        marked=(int(theirs_marked.sum()), int(ours_marked.sum())),
        dropped_by_one=int(((theirs < 0) != (ours < 0)).sum()),
        marked_by_one=int((theirs_marked != ours_marked)[both].sum()),
        latest=float(np.abs(theirs - ours)[both].max(initial=0)) * 1e-9,
        queueing=tuple(float((side - at)[side >= 0].mean()) * 1e-9 for side in (theirs, ours)),  # type: ignore[arg-type]
    )


def reached_at(packets: Any, first: int) -> np.ndarray:
    """Return when the packets of a flow reached the port, counted from the first of all."""
    times: np.ndarray = packets.arrived[1] - first
    return times


def duration(packets: list[np.ndarray]) -> float:
    """Return the duration of a run in which these packets leave the port, in s."""
    return max(int(own[-1, 0]) for own in packets) * 1e-9 + 1.0


def write(file: Path, packets: list[np.ndarray]) -> None:
    """Write packets as the source `trace` reads them."""
    import numpy as np

    rows = np.concatenate(
        [np.column_stack((own, np.full(len(own), flow))) for flow, own in enumerate(packets)]
    )
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    with file.open("w", encoding="utf-8") as text:
        text.write("time,size,flow\n")
        text.writelines(
            f"{time // 10**9}.{time % 10**9:09d},{size},{flow}\n" for time, size, flow in rows.tolist()
        )


def scenario(place: Path, file: str, policy: str, buffer: str, duration: float, *, access: bool) -> Source:
    """Return the scenario of one port, with a fast link in front of it or without."""
    links = f'link = [{{ from = "r", to = "d", rate = "{RATE}bit", duplex = false }}'
    if access:
        links += f', {{ from = "h", to = "r", rate = "{ACCESS}bit", duplex = false, policy = "fifo" }}'
    names = [*(["h"] if access else []), "r", "d"]
    kinds = {"r": "switch"}
    nodes = "".join(f'[[node]]\nname = "{name}"\nkind = "{kinds.get(name, "host")}"\n' for name in names)
    flows = "".join(
        f'[[flow]]\nname = "f{flow}"\nfrom = "{names[0]}"\nto = "d"\necn = "{ECN[flow % 2]}"\n'
        f"priority = {flow}\n"
        f'source = {{ kind = "trace", file = "{file}", flow = "{flow}" }}\n'
        for flow in range(FLOWS)
    )
    head = f'version = 1\nduration = "{duration:.6f}s"\nport = {policy}\nswitch = {{ buffer = "{buffer}" }}\n'
    text = f"{head}{links}]\n{nodes}{flows}"
    described = place / "one-port.toml"
    described.write_text(text, encoding="utf-8")
    return commands.resolved(described)


def _simulated(source: Source, seed: int, reached: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return when the simulator began to send each packet (-1 for never), and whether it marked it."""
    import numpy as np

    log, _ = backends.logged_run(source.scenario, seed)
    sequence = np.asarray(log.sequence)
    begun = np.asarray(log.event) == log.names.index("started")
    is_marked = np.asarray(log.is_marked) == 1
    found = []
    for flow, own in enumerate(reached):
        started = np.full(len(own), -1, dtype=np.int64)
        chosen = begun & (np.asarray(log.flow) == flow)
        started[sequence[chosen]] = np.asarray(log.time)[chosen]
        marked = np.zeros(len(own), dtype=bool)
        marked[sequence[chosen & is_marked]] = True
        found.append((started, marked))
    return found
