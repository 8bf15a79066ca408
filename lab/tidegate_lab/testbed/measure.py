"""Measures flows and links of a run from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate_lab.testbed.records import Packets

if TYPE_CHECKING:
    import numpy as np

NANOSECOND = 1e-9


@dataclass(frozen=True)
class FlowPackets:
    """The packets of a flow over its route: a row for each that has left its source.

    Attributes:
        born: When they left the source, in ns; of a retransmission, when its data were first sent.
        sent: When they left the source themselves.
        length: Bytes.
        received: When their last bit was in at the destination; -1 for those that never were.
        queueing: Time from last bit in to first bit out, summed over hops, in ns.
        lost_at: Place in the route of the port where they were dropped; -1 for none.
        is_marked: True for those that arrived with a congestion mark.
    """

    born: np.ndarray
    sent: np.ndarray
    length: np.ndarray
    received: np.ndarray
    queueing: np.ndarray
    lost_at: np.ndarray
    is_marked: np.ndarray
    arrived: list[np.ndarray]
    started: list[np.ndarray]


def follow(
    index: int,
    flow: Mapping[str, Any],
    found: Mapping[tuple[str, int], Packets],
    datagrams: np.ndarray | None,
) -> FlowPackets:
    """Follow the packets of a flow from interface to interface.

    Those of TCP are known from the first link on: what its own host keeps or drops is not seen.
    """
    import numpy as np

    first = found["started", flow["route"][0]].of(index)
    if datagrams is not None:
        sent, length = datagrams[:, 0], datagrams[:, 1]
        numbers = np.arange(len(datagrams))
        born = sent
    else:
        numbers, sent, length = first.number, first.time, first.length
        born = _first_sent(first)
    count = len(numbers)
    order = np.argsort(numbers, kind="stable")
    place = {"sorted": numbers[order], "order": order}

    def times(packets: Packets) -> np.ndarray:
        at = np.full(count, -1, dtype=np.int64)
        spot = np.searchsorted(place["sorted"], packets.number)
        known = spot < count
        known[known] &= place["sorted"][spot[known]] == packets.number[known]
        at[place["order"][spot[known]]] = packets.time[known]
        return at

    queueing = np.zeros(count, dtype=np.int64)
    lost_at = np.full(count, -1, dtype=np.int64)
    there = np.ones(count, dtype=bool)
    arrived, arrivals, starts = sent, [], []
    for hop, at in enumerate(flow["route"]):
        started, received = times(found["started", at].of(index)), times(found["received", at].of(index))
        left = started >= 0
        gone = there & ~left
        # Those behind the last one that left may still wait.
        last = arrived[there & left].max(initial=-1)
        lost_at[gone & (arrived <= last)] = hop
        queueing[left] += started[left] - arrived[left]
        arrivals.append(arrived)
        starts.append(started)
        there = received >= 0
        arrived = received
    marked = found["received", flow["route"][-1]].of(index)
    is_marked = np.zeros(count, dtype=bool)
    at = times(Packets(*(getattr(marked, name)[marked.is_marked] for name in marked.__dataclass_fields__)))
    is_marked[at >= 0] = True
    return FlowPackets(born, sent, length, arrived, queueing, lost_at, is_marked, arrivals, starts)


def _first_sent(packets: Packets) -> np.ndarray:
    """Return when the first byte of each packet's data was first sent."""
    import numpy as np

    born = packets.time.copy()
    data = np.flatnonzero(packets.payload > 0)
    _, first, which = np.unique(packets.sequence[data], return_index=True, return_inverse=True)
    born[data] = packets.time[data[first]][which]
    return born


def joined(flows: Sequence[FlowPackets]) -> FlowPackets:
    """Return the packets of several flows as those of one, without their routes."""
    import numpy as np

    names = ("born", "sent", "length", "received", "queueing", "lost_at", "is_marked")
    columns = {name: np.concatenate([getattr(one, name) for one in flows]) for name in names}
    return FlowPackets(**columns, arrived=[], started=[])


def flow_row(packets: FlowPackets, warmup: int, duration: int) -> dict[str, Any]:
    """Return the figures of a flow over the measured time, as the table `flows` names them."""
    measured = packets.sent >= warmup
    done = measured & (packets.received >= 0) & (packets.received <= duration)
    span = (duration - warmup) * NANOSECOND
    delay = (packets.received - packets.born)[done] * NANOSECOND
    queueing = packets.queueing[done] * NANOSECOND
    return {
        "sent_packets": int(measured.sum()),
        "sent_bytes": int(packets.length[measured].sum()),
        "received_packets": int(done.sum()),
        "received_bytes": int(packets.length[done].sum()),
        "marked_packets": int((packets.is_marked & done).sum()),
        "dropped_packets": (dropped := int((measured & (packets.lost_at >= 0)).sum())),
        "due_copies": int(done.sum()) + dropped,
        "missed_copies": dropped,
        "throughput": float(packets.length[done].sum()) * 8 / span,
        **_figures("delay", delay, ("mean", "sd", "max", "p50", "p99", "p999")),
        **_figures("queueing", queueing, ("mean", "sd", "p99", "max")),
    }


def _figures(name: str, values: np.ndarray, wanted: Sequence[str]) -> dict[str, float | None]:
    import numpy as np

    if not len(values):
        return {f"{name}_{one}": None for one in wanted}
    figures = {
        "mean": values.mean(),
        "sd": values.std(),
        "max": values.max(),
        "p50": np.quantile(values, 0.5, method="inverted_cdf"),
        "p99": np.quantile(values, 0.99, method="inverted_cdf"),
        "p999": np.quantile(values, 0.999, method="inverted_cdf"),
    }
    return {f"{name}_{one}": float(figures[one]) for one in wanted}


def link_row(
    link: Mapping[str, Any], flows: Sequence[tuple[int, FlowPackets]], warmup: int, duration: int
) -> dict[str, Any]:
    """Return the figures of a link over the measured time, as the table `links` names them.

    Args:
        link: The link, with its `rate` in bit/s.
        flows: The flows that pass it, with its place in the route of each.
        warmup: Start of the measured time, in ns.
        duration: Its end.
    """
    import numpy as np

    arrived = np.concatenate([one.arrived[hop] for hop, one in flows])
    started = np.concatenate([one.started[hop] for hop, one in flows])
    length = np.concatenate([one.length for _, one in flows])
    lost = np.concatenate([one.lost_at == hop for hop, one in flows])
    departed = started + length * (8e9 / link["rate"])
    sent = (started >= 0) & (departed >= warmup) & (departed <= duration)
    span = duration - warmup
    # The queue with the packet in service; a dropped one is not counted.
    inside = np.clip(np.where(started >= 0, departed, duration), warmup, duration)
    waited = np.where(
        (arrived >= 0) & ~lost, np.clip(inside - np.clip(arrived, warmup, duration), 0, None), 0
    )
    return {
        "packets": int(sent.sum()),
        "bytes": int(length[sent].sum()),
        "dropped_packets": int((lost & (arrived >= warmup)).sum()),
        "utilisation": float(length[sent].sum() * 8e9 / link["rate"] / span),
        "queue_mean": float(waited.sum() / span),
        "queue_max": _longest(arrived, departed, started, lost, warmup, duration),
        "wait_mean": float((started - arrived)[sent].mean()) * NANOSECOND if sent.any() else None,
    }


def _longest(
    arrived: np.ndarray,
    departed: np.ndarray,
    started: np.ndarray,
    lost: np.ndarray,
    warmup: int,
    duration: int,
) -> int:
    """Return the longest queue, the packet in service included and dropped packets not."""
    import numpy as np

    stored = (arrived >= 0) & ~lost
    gone = stored & (started >= 0)
    times = np.concatenate((arrived[stored], departed[gone]))
    steps = np.concatenate((np.ones(stored.sum(), dtype=np.int64), -np.ones(gone.sum(), dtype=np.int64)))
    # At one instant packets leave first.
    order = np.lexsort((steps, times))
    lengths = np.cumsum(steps[order])
    during = (times[order] >= warmup) & (times[order] <= duration)
    return int(lengths[during].max(initial=0))
