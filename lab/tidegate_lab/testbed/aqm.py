"""Queue managements that draw random numbers, in the kernel and in the simulator.

One arrival process passes a port in both, with one seed after another; what is compared are means
over the seeds.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.backends import jobs_for
from tidegate_lab.testbed import backend, one_port
from tidegate_lab.testbed.one_port import Port
from tidegate_lab.uml import machine

if TYPE_CHECKING:
    import numpy as np

    from tidegate.backends import Source
    from tidegate.results import Results

SIZE = 1000
"""Bytes of every packet: RED in bytes scales its probability by a packet's length, and the kernel does
not."""
RED = f'min_th = "10p", max_th = "40p", max_p = 0.1, weight = {2.0**-7}, mean_packet = "{SIZE}B"'
PIE = f'mean_packet = "{SIZE}B"'
QUEUES = {
    "red": Port(f'{{ dropper = {{ kind = "red", form = "linux", {RED}, signal = "drop" }} }}'),
    "red ecn harddrop": Port(
        f'{{ dropper = {{ kind = "red", form = "linux", {RED}, signal = "mark-then-drop" }} }}'
    ),
    "red ecn": Port(f'{{ dropper = {{ kind = "red", form = "linux", {RED}, signal = "mark" }} }}'),
    "pie": Port(f'{{ dropper = {{ kind = "pie", delay = "timestamps", form = "linux", {PIE} }} }}'),
    "fq_pie": Port(f'{{ policy = {{ kind = "fq-pie", form = "linux", {PIE} }} }}'),
    "pie dq_rate_estimator": Port(f'{{ dropper = {{ kind = "pie", form = "linux", {PIE} }} }}'),
}
"""Ports by the kernel's names of their queue managements."""
SLOWER = 1.25
"""The factor on times of arrivals: packets of this size are somewhat less than the link carries."""
UPDATE = 15_000_000
"""Time from one update of PIE's probability to the next, in ns."""
RECORDED = Path(__file__).with_name("aqm_recorded.json")
"""The figures of a run of 20,000 packets with ten seeds."""
ERRORS = 2.0
"""Standard errors by which two means may be apart."""


@dataclass(frozen=True)
class Means:
    """Means over seeds, each with its standard error.

    Attributes:
        lost: Share of packets that were dropped.
        marked: Share of packets that were marked.
        queue: Mean queue in packets, the packet in service included.
    """

    lost: tuple[float, float]
    marked: tuple[float, float]
    queue: tuple[float, float]


FIGURES = ("lost", "marked", "queue")
"""The figures that are compared."""


def compare(
    count: int, runs: tuple[int, int, int | None], chosen: Mapping[str, Port], tell: Callable[[str], None]
) -> Iterator[tuple[str, Means, Means]]:
    """Yield each queue's name, and its means in the simulator and in the kernel.

    Args:
        count: Packets of the arrival process.
        runs: The seed of the arrival process, which is also the first one of the random numbers, the
            number of seeds, and the number of kernels at a time; None for one on each processor.
        chosen: Ports by name.
        tell: Gets a line for each queue.

    Raises:
        TidegateError: The kernel is not built, or failed.
    """
    seed, replications, jobs = runs
    packets = arrivals(count, seed)
    for name, port in chosen.items():
        tell(name)
        with ThreadPoolExecutor(jobs_for(replications, jobs)) as pool:
            kernels = means(
                pool.map(
                    lambda run, port=port: _conduct(port, packets, (run, replications), seed, _in_kernel),
                    range(replications),
                )
            )
        yield name, in_simulator(port, packets, seed, replications), kernels


def recorded() -> dict[str, Means]:
    """Return the recorded means of the kernel, by the queue's name: what `--json` writes."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {
        row["queue"]: Means(**{name: tuple(pair) for name, pair in row["kernel"].items()})
        for row in document["queues"]
    }


def in_simulator(port: Port, packets: list[np.ndarray], seed: int, replications: int) -> Means:
    """Return the means of a port in the simulator."""
    return means(
        _conduct(port, packets, (run, replications), seed, _in_simulator) for run in range(replications)
    )


def _in_simulator(source: Source, seed: int) -> Results:
    import tidegate

    return tidegate.simulate(source.scenario, seed=seed)


def _in_kernel(source: Source, seed: int) -> Results:
    return backend.run(source, seed=seed)


def _conduct(
    port: Port,
    packets: list[np.ndarray],
    run: tuple[int, int],
    seed: int,
    carry_out: Callable[[Source, int], Results],
) -> Results:
    """Return the results of a run, given with the number of runs."""
    number, _ = run
    with machine.workspace() as place:
        source = one_port.scenario(place, port, _of_run(packets, *run), in_kernel=True)
        return carry_out(source, seed + number)


def _of_run(packets: list[np.ndarray], number: int, runs: int) -> list[np.ndarray]:
    """Return the arrival process of a run: a packet of each flow at the start, and the others behind it.

    PIE updates its probability at times of its own, from when its queue was made. The runs divide the time
    between two updates evenly among them, so that their means do not depend on it.
    """
    import numpy as np

    behind = UPDATE + UPDATE * number // runs
    return [
        np.concatenate(([[1 + flow, SIZE]], own + np.array([behind, 0]))) for flow, own in enumerate(packets)
    ]


def arrivals(count: int, seed: int) -> list[np.ndarray]:
    """Return the arrival process: packets of one size."""
    packets = Port(slower=SLOWER).sent(one_port.arrivals(count, seed))
    for own in packets:
        own[:, 1] = SIZE
    return packets


def means(runs: Iterable[Results]) -> Means:
    """Return the means of runs of a port."""
    lost: list[float] = []
    marked: list[float] = []
    queue: list[float] = []
    for results in runs:
        flows = results.flows.to_pylist()
        sent = sum(row["sent_packets"] for row in flows)
        lost.append(sum(row["dropped_packets"] for row in flows) / sent)
        marked.append(sum(row["marked_packets"] for row in flows) / sent)
        queue.extend(row["queue_mean"] for row in results.links.to_pylist() if row["link"] == one_port.LINK)
    return Means(*(_mean(values) for values in (lost, marked, queue)))


def _mean(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def misses(ours: Means, kernel: Means) -> list[str]:
    """Return the figures whose means are more than two standard errors of their difference apart."""
    found = []
    for name in FIGURES:
        (mean, error), (other, other_error) = getattr(ours, name), getattr(kernel, name)
        if not abs(mean - other) <= ERRORS * math.hypot(error, other_error):
            found.append(name)
    return found
