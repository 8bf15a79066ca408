"""Figures of a trial's runs, and the points for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.maxmin import max_min
from tidegate.results import Results

Figures = Mapping[str, float]

EACH = "goodput/"
"""Beginning of the names of figures of each connection, which are not shown."""

PROBE = "probe"
"""The flow of small packets that trials of queues have beside the others."""

RESERVED = "reserved"
"""The flows of a guarantee that keep to their reservation."""

PACKET, LARGEST = 8 * 200, 8 * 1500
"""Bits of a packet of these flows, and of the largest packet of others, in a guarantee's trials."""

SHORT = 100_000
"""Bytes up to which a transfer is short."""


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)


def of_queues(results: Results) -> dict[str, float]:
    """Return the data that connections delivered, and the queueing delay of them and of the probe.

    `goodput/NAME` is that of one connection.
    """
    waits = [group.queueing_p99.mean or 0.0 for group in results.groups if group.goodput.mean is not None]
    flows = {
        f"{EACH}{row['flow']}": row["goodput"]
        for row in results.flows.to_pylist()
        if row["goodput"] is not None
    }
    probe = results.groups[PROBE]
    return {
        "goodput": sum(flows.values()),
        "queueing_p99": max(waits),
        "probe_queueing_p99": probe.queueing_p99.mean or 0.0,
        "probe_lost": probe.lost.mean or 0.0,
        **flows,
    }


def queues(own: Figures, fifo: Figures) -> float:
    """Return the goodput that is kept, times the share of FIFO's queueing delays that is saved.

    Each connection is to keep what it had under FIFO, or an equal share where that is less: who takes
    from one to give to another gains nothing. The delays are the 99 % quantiles of the slowest group of
    connections and of the probe, with the mean of both; the probe's packets count as far as they arrive.
    """
    flows = [name for name in fifo if name.startswith(EACH)]
    equal = fifo["goodput"] / len(flows)
    wanted = {name: min(fifo[name], equal) for name in flows}
    kept = mean([min(1.0, own[name] / goal) for name, goal in wanted.items() if goal])
    saved = [max(0.0, 1.0 - own[name] / fifo[name]) for name in ("queueing_p99", "probe_queueing_p99")]
    return kept * (saved[0] + saved[1] * (1.0 - own["probe_lost"])) / 2


def of_shares(results: Results) -> dict[str, float]:
    """Return the smallest share that a flow got of its max-min fair rate, and Jain's index of these."""
    rates = {row["flow"]: row["throughput"] or 0.0 for row in results.flows.to_pylist()}
    shares = [rates[one.flow] / one.rate for one in max_min(results.scenario()).shares]
    return {
        "smallest_share": min(shares),
        "jain": sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares) or 1.0),
    }


def shares(own: Figures, _: Figures) -> float:
    """Return the smallest share, at most 1."""
    return own["smallest_share"]


def of_transfers(results: Results) -> dict[str, float]:
    """Return the speed of short and of long transfers, and the share of them that ended.

    The speed of a transfer is 1 over its slowdown, and 0 for one that has not ended; a class has the
    speed that 95 % of its transfers reach.
    """
    rows = results.transfers.to_pylist()
    speeds = {
        is_short: sorted(
            1.0 / row["slowdown"] if row["slowdown"] else 0.0
            for row in rows
            if (row["size"] <= SHORT) == is_short and row["start"] >= results.warmup
        )
        for is_short in (True, False)
    }
    ended = [speed for one in speeds.values() for speed in one if speed]
    return {
        "short_speed": _reached(speeds[True]),
        "long_speed": _reached(speeds[False]),
        "ended": len(ended) / len([*speeds[True], *speeds[False]]),
    }


def _reached(speeds: Sequence[float]) -> float:
    """Return the speed that 95 % reach, of speeds in rising order."""
    return min(1.0, speeds[len(speeds) // 20])


def transfers(own: Figures, _: Figures) -> float:
    """Return the mean of both speeds."""
    return (own["short_speed"] + own["long_speed"]) / 2


def of_promises(results: Results) -> dict[str, float]:
    """Return the largest delay of the reserved flows, its bound, and the share of them that was lost.

    The bound is that of a flow with a burst of one packet at its reserved rate r over h links of rate C
    (Parekh and Gallager 1994): h L/r and, at each link, a largest packet's time.
    """
    network = results.scenario()
    (demand, *_) = (one for one in network.demands() if one["group"] == RESERVED)
    rates = [network.capacities()[index][1] for index in demand["capacities"][1:-1]]
    edges = [network.capacities()[index][1] for index in (demand["capacities"][0], demand["capacities"][-1])]
    bound = len(rates) * PACKET / demand["rate"] + sum(LARGEST / rate for rate in [*rates, *edges])
    group = results.groups[RESERVED]
    return {
        "delay_max": group.delay_max.mean or bound,
        "bound": bound,
        "lost": group.lost.mean or 0.0,
        "throughput": sum(group.throughput.mean or 0.0 for group in results.groups),
    }


def promises(own: Figures, fifo: Figures) -> float:
    """Return the share of packets that arrived, times bound over largest delay where that is longer.

    What all flows together get is to be FIFO's throughput: a link that waits for the reserved flows
    is no guarantee.
    """
    kept = min(1.0, own["throughput"] / fifo["throughput"])
    return kept * (1.0 - own["lost"]) * min(1.0, own["bound"] / own["delay_max"])
