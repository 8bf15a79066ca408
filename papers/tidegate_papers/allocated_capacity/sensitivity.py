"""Sensitivity to what the paper leaves open: Table I with other taggers, buffers, TCPs and hosts."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.allocated_capacity.common import (
    CONNECTIONS,
    PACKETS,
    RED,
    RIO_TSW,
    SAMPLED,
    Figures,
    at_bottleneck,
    counted,
    rio,
    tagged,
    tcp,
)
from tidegate_papers.allocated_capacity.tables import RENO, column, in_host
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs

Both = dict[str, Overrides]
"""Settings beside Table I: over RED, and over RIO with taggers."""

SHOWN = {
    RED: ("total", "shortest round-trip time over longest"),
    RIO_TSW: ("total", "least of the 5 Mbit/s connections", "most of the 1 Mbit/s connections"),
}
"""Figures of Table I that stand for its columns."""

MINUTE = 60.0


def timeouts(results: Results) -> Values:
    """Return the timeouts of a connection in a minute, on average over all of them."""
    minutes = (results.duration - results.warmup) / MINUTE
    runs = zip(*(counted(results, name, "timeouts") for name in CONNECTIONS), strict=True)
    return [sum(run) / len(CONNECTIONS) / minutes for run in runs]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    """Return what stands for Table I, as it is and under each of the other settings."""
    columns: dict[str, Figures] = {}
    for setting, results in runs.items():
        other, name = (setting.rpartition(", ")[part] for part in (0, 2))
        figures = column(results, name)
        shown = columns.setdefault(other, {})
        shown |= {f"{what}, {name}": figures[f"{what}, {name}"] for what in SHOWN[name]}
        shown[f"timeouts of a connection, {name}"] = timeouts(results)
    return columns


def _extremes(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    """Return what stands for the right half of Table III under each setting."""
    columns: dict[str, Figures] = {}
    for name, results in runs.items():
        figures = column(results, "")
        shown = (
            "total",
            *(f"{which} of the {rate} Mbit/s connections" for rate in (1, 5) for which in ("least", "most")),
        )
        columns[name] = {what: figures[f"{what}, "] for what in shown}
        columns[name]["timeouts of a connection"] = timeouts(results)
    return columns


def droppers(others: str) -> Both:
    """Change what is open of both droppers."""
    red = at_bottleneck(f'{{ kind = "red", min_th = "10p", max_th = "30p", max_p = 0.02, {others} }}')
    return {RED: red, RIO_TSW: rio(0.2, others)}


def alike(sets: Overrides) -> Both:
    """Set the same over both columns."""
    return {RED: sets, RIO_TSW: sets}


def access(key: str, value: str) -> Overrides:
    """Set a key of all access links."""
    ends = (ends for name in CONNECTIONS for ends in (f"l{name[1:]}-left", f"right-r{name[1:]}"))
    return [(f"link.{end}.{key}", value) for end in ends]


def connections(key: str, value: str) -> Overrides:
    """Set a key of all connections."""
    return [(f"connection.{name}.{key}", value) for name in CONNECTIONS]


def _beside_table_1(others: Mapping[str, Both]) -> Measure:
    every = {MAIN: alike(()), **others}
    settings = {
        f"{other}, {name}" if other else name: [*RENO[name], *sets[name]]
        for other, sets in every.items()
        for name in RENO
    }
    return Measure(_figures, settings, series=SAMPLED)


def transport(delayed_acks: str = "") -> Both:
    """Set the TCP of Table I with other delayed acknowledgements, or without."""
    tcp = (
        'kind = "tcp", stack = "rfc", congestion = "reno", recovery = "reno-1990", granularity = "100ms", '
        'minimum_rto = "200ms", initial_window = 1, '
        f'receiver_window = "128000B", header = "40B"{delayed_acks}'
    )
    return alike(connections("transport", f"{{ {tcp} }}"))


TAGGER = _beside_table_1(
    {
        f"{window} window": {RED: (), RIO_TSW: tagged(f'window = "{window}"')}
        for window in ("20ms", "50ms", "100ms", "1s")
    }
)
DROPPER = _beside_table_1(
    {
        "weight 0.001": droppers(PACKETS.replace("0.002", "0.001")),
        "weight 0.01": droppers(PACKETS.replace("0.002", "0.01")),
        "buffer of 100": droppers(PACKETS.replace("200p", "100p")),
        "buffer of 1000": droppers(PACKETS.replace("200p", "1000p")),
    }
)
SEGMENTS = _beside_table_1(
    {
        "500 bytes": alike(connections("size", "500B")),
        "1000 bytes": alike(connections("size", "1000B")),
        "64 kB window": alike(tcp(receiver_window="65535B")),
        "256 kB window": alike(tcp(receiver_window="256000B")),
        "10 initially": alike(tcp(initial_window="10")),
    }
)
TIMERS = _beside_table_1(
    {
        "no delayed ACKs": transport(),
        "ACKs 200 ms late": transport(', delayed_acks = "200ms"'),
        "500 ms ticks, 1 s": alike(tcp(granularity="500ms", minimum_rto="1s")),
        "1 ms ticks, 200 ms": alike(tcp(granularity="1ms")),
    }
)
HOSTS = _beside_table_1(
    {
        "10 Mbit/s access": alike(access("rate", "10mbit")),
        "1 Gbit/s access": alike(access("rate", "1gbit")),
        "starts at once": alike(connections("every", "1ms")),
        "no transient": alike([("warmup", "0s"), ("duration", "20s")]),
    }
)

PAIRS = (16, 16, 50, 60, 90, 100, 120, 130, 150, 160)
"""Round-trip times of connections 0 to 9 in ms (Table III, right half)."""

IN_HOST = Measure(
    _extremes,
    {
        name: [*rio(0.5), *sets]
        for name, sets in {
            MAIN: in_host(),
            "1 round trip": in_host(1),
            "3 round trips": in_host(3),
            "4 round trips": in_host(4),
            "1 ms ticks": [*in_host(), *tcp(granularity="1ms")],
            "above R_T": in_host(others=', approach = "long"'),
            "the pair's propagation": [
                setting for host, rtt in enumerate(PAIRS) for setting in tagged(f'window = "{rtt}ms"', [host])
            ],
        }.items()
    },
    series=SAMPLED,
)

MEASURES = {
    "open-in-host": IN_HOST,
    "open-tagger": TAGGER,
    "open-dropper": DROPPER,
    "open-segments": SEGMENTS,
    "open-timers": TIMERS,
    "open-hosts": HOSTS,
}
