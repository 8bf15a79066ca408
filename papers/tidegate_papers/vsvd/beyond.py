"""Subjects that the paper leaves to further study (section 8).

Bursts, files, VCs in both directions, a satellite hop, an algorithm for each segment, and loop
lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.algorithms import KINDS
from tidegate_papers.vsvd.common import (
    COLUMNS,
    KCELLS,
    MILLISECOND,
    NONE,
    SAMPLED,
    SETTINGS,
    Figures,
    acr,
    converged,
    coupled,
    held,
    longest,
    received,
    samples,
    spacing,
    waiting,
)

PER_CENT = 100.0


@dataclass(frozen=True)
class Place:
    """A configuration under other traffic.

    Attributes:
        row: Its name.
        vcs: Its VCs.
        ports: The output ports of its switches that VCs share.
        bottleneck: The one whose class queue is shown.
    """

    row: str
    vcs: tuple[str, ...]
    ports: tuple[str, ...]
    bottleneck: str

    def both(self) -> Place:
        """Return the configuration with a VC in the other direction for each."""
        backwards = tuple(f"back-{vc}" for vc in self.vcs)
        return Place(self.row, self.vcs + backwards, self.ports, self.bottleneck)

    def figures(self, runs: Runs, _: Mapping[str, Columns]) -> Columns:
        """Return what each coupling carries and queues, and how D compares."""
        figures: Figures = {}
        for name, results in runs.items():
            shown: dict[str, Values] = {
                "Kcells received": [len(self.vcs) * (one or 0.0) for one in received(results, self.vcs)],
                "longest class queue": longest(results, self.bottleneck),
                "all queues": [float(np.max(cells)) / KCELLS for cells in waiting(results, self.ports)],
            }
            figures |= {f"{title}, {name}, {self.row}": values for title, values in shown.items()}
        cells, queues, everything = (
            [figures[f"{title}, {name}, {self.row}"] for name in COLUMNS]
            for title in ("Kcells received", "longest class queue", "all queues")
        )
        d, none = COLUMNS.index("D"), COLUMNS.index(NONE)
        figures["Kcells received, D over the most"] = _over(cells[d], _extreme(cells, max))
        figures["longest class queue, D over no VS/VD"] = _over(queues[d], queues[none])
        figures["longest class queue, D less the shortest"] = _less(queues[d], _extreme(queues, min))
        figures["all queues, D over no VS/VD"] = _over(everything[d], everything[none])
        return {MAIN: figures}

    def transfers(self, runs: Runs, earlier: Mapping[str, Columns]) -> Columns:
        """Return the same, and how long the files of TCP took."""
        figures = dict(self.figures(runs, earlier)[MAIN])
        for name, results in runs.items():
            figures[f"files, {name}, {self.row}"] = self._mean(results, "transfers", len(self.vcs))
            figures[f"95 % of files within, {name}, {self.row}"] = self._mean(
                results, "transfer_p95", 1 / MILLISECOND
            )
        within = {name: figures[f"95 % of files within, {name}, {self.row}"] for name in COLUMNS}
        figures["95 % of files, D over no VS/VD"] = _over(within["D"], within[NONE])
        return {MAIN: figures}

    def _mean(self, results: Results, key: str, times: float) -> Values:
        """Return the mean over the VCs of what a column holds, by replication, times a factor."""
        rows = [row for row in results.tables["groups"].to_pylist() if row["group"] in self.vcs]
        by_run = (
            [row[key] for row in rows if row["replication"] == run] for run in range(results.replications)
        )
        known = ([value for value in values if value is not None] for values in by_run)
        return [times * sum(values) / len(values) if values else None for values in known]

    def measure(
        self, sets: Mapping[str, str] | None = None, *, transfers: bool = False, run: Overrides = ()
    ) -> Measure:
        """Return how it is measured, with something set of each VC and of the run, and times of transfers."""
        of_vcs = [(f"connection.{vc}.{key}", value) for vc in self.vcs for key, value in (sets or {}).items()]
        more = [*run, *of_vcs]
        settings: dict[str, Overrides] = {name: [*coupled(keys), *more] for name, keys in SETTINGS.items()}
        figures = self.transfers if transfers else self.figures
        return Measure(figures, {**settings, NONE: more}, series=SAMPLED)


def _over(one: Values, other: Values) -> Values:
    return [(part or 0.0) / whole if whole else None for part, whole in zip(one, other, strict=True)]


def _less(one: Values, other: Values) -> Values:
    return [(part or 0.0) - (less or 0.0) for part, less in zip(one, other, strict=True)]


def _extreme(columns: Sequence[Values], which: Callable[[Iterable[float]], float]) -> Values:
    return [which(value or 0.0 for value in run) for run in zip(*columns, strict=True)]


VBR = Place("2 source + VBR", ("vc1", "vc2"), ("sw1->sw2",), "sw1->sw2")
LOT = Place("parking lot", ("vc1", "vc2", "vc3"), ("sw1->sw2", "sw2->sw3"), "sw2->sw3")
HELD_BACK = Place(
    "upstream bottleneck", tuple(f"vc{vc}" for vc in range(1, 7)), ("sw1->sw2", "sw2->sw3"), "sw2->sw3"
)
COMES_ON = Place("transient", ("vc1", "vc2"), ("sw1->sw2",), "sw1->sw2")

PLACES = {"two-sources": VBR, "parking-lot": LOT, "held-back": HELD_BACK, "transient": COMES_ON}
"""The four configurations, the upstream bottleneck with four VCs at its first link, by their
scenarios."""

ON_OFF = {"data": '{ kind = "on-off-data", rate = "120mbit", on = "20ms", off = "20ms" }'}
"""VCs that are on and off for exponential times of 20 ms."""

FILES = {"data": '{ kind = "transfers", size = "200kB", sizes = "exponential", think = "10ms" }'}
"""VCs that carry files of exponential sizes, with exponential pauses between them."""

TCP_FILES = {
    **FILES,
    "size": '"9180B"',
    "adaptation": '"aal5"',
    "vc": '{ icr = "10mbit", rif = 1 }',
    "transport": '{ kind = "tcp", stack = "rfc", receiver_window = "2MB" }',
}
"""Files by TCP, whose cells the VCs carry."""

LONGER: Overrides = [("duration", "1s")]
"""Long enough for files that take several round trips; the VBR source ends earlier."""

SATELLITE_EDGES = ("sw1-sw2", "sw2-sw3")
"""Where the satellite's loops end: VS/VD stands before the hop and behind it."""

WORKGROUP, EDGE = "sw3->sw4", "sw2->sw3"

SATELLITE_ON = 2.0
"""When VC 2 comes on, in seconds."""


def _at_edges(keys: str) -> Overrides:
    return [(f"link.{link}.vsvd", f"{{ {keys} }}") for link in SATELLITE_EDGES]


def _satellite(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"longest queue of the workgroup switch, {name}, satellite"] = longest(results, WORKGROUP)
        figures[f"per-VC queues behind the satellite, {name}, satellite"] = held(results, EDGE)
        figures[f"Kcells received, {name}, satellite"] = [
            2 * (one or 0.0) for one in received(results, ("vc1", "vc2"))
        ]
        figures[f"convergence, {name}, satellite"] = converged(
            results, ("vc1", "vc2"), WORKGROUP, (SATELLITE_ON, results.duration)
        )
    queues = {name: figures[f"longest queue of the workgroup switch, {name}, satellite"] for name in COLUMNS}
    figures["workgroup switch, D over no VS/VD"] = _over(queues["D"], queues[NONE])
    return {MAIN: figures}


def _satellite_panels(runs: Runs) -> tuple[Panel, ...]:
    """Return the queues of the workgroup switch, and of the edge behind the satellite, over time."""

    def curve(name: str, results: Results, cells: Iterable[float]) -> Curve:
        step = spacing(results)
        values: list[Values] = [[float(one)] for one in cells]
        return Curve(name, [step * (1 + at) for at in range(len(values))], values, points=False)

    shown = {name: runs[name] for name in ("D", NONE)}
    return (
        Panel(
            "Class queue of the workgroup switch",
            "time (s)",
            "queue (cells)",
            tuple(curve(name, one, samples(one, WORKGROUP, "queue")[0]) for name, one in shown.items()),
        ),
        Panel(
            "All queues behind the satellite hop",
            "time (s)",
            "queue (cells)",
            tuple(curve(name, one, waiting(one, (EDGE, WORKGROUP))[0]) for name, one in shown.items()),
        ),
    )


SEGMENTS = ("sw1-sw2", "sw2-sw3")

SLOWLY = [
    (f"connection.{vc}.transport.{key}", value)
    for vc in LOT.vcs
    for key, value in (("rif", "0.015625"), ("rdf", "0.0625"))
]
"""Steps for bits and for shares of a mean, under every pair of algorithms."""

SETTLED = 0.3
"""From when on mixed algorithms are looked at, in seconds."""


def _mixed(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        part = round(SETTLED / spacing(results))
        rates = [[rate[part:] for rate in run] for run in acr(results, LOT.vcs)]
        means = [[float(rate.mean()) for rate in run] for run in rates]
        figures[f"least over greatest rate, {name}"] = [PER_CENT * min(run) / max(run) for run in means]
        figures[f"oscillation, {name}"] = [
            max(PER_CENT * float(rate.std() / rate.mean()) for rate in run) for run in rates
        ]
        for title, link in (("queue of the first segment", "sw1->sw2"), ("queue of the second", "sw2->sw3")):
            figures[f"{title}, {name}"] = [float(run[part:].max()) for run in samples(results, link, "queue")]
        figures[f"utilisation, {name}"] = [
            PER_CENT * float(run[part:].mean()) for run in samples(results, "sw2->sw3", "utilisation")
        ]
    return {MAIN: figures}


KILOMETRES = (1, 10, 100, 1_000, 10_000, 36_000)
"""Length of every link."""

MICROSECONDS_PER_KILOMETRE = 5

SLOW = 25.0
"""Rate of every link in Mbit/s, at which the longest runs are not long."""


def _long(kilometres: int) -> Overrides:
    """Return links of such a length, and a run of eight round trips and 100 ms."""
    delay = kilometres * MICROSECONDS_PER_KILOMETRE
    links = ("s1-sw1", "s2-sw1", "s3-sw2", "sw1-sw2", "sw2-sw3", "sw3-d1", "sw3-d2", "sw3-d3")
    return [
        ("duration", f"{100 + 64 * delay // 1000}ms"),
        *((f"link.{link}.delay", f"{delay}us") for link in links),
        *((f"link.{link}.rate", f"{SLOW:g}mbit") for link in links),
        *((f"connection.{vc}.transport.icr", "1600kbit") for vc in LOT.vcs),
    ]


def _row(kilometres: int) -> str:
    return f"{kilometres} km"


def _lengths(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for kilometres in KILOMETRES:
        row = _row(kilometres)
        for name in COLUMNS:
            results = runs[f"{name}, {row}"]
            figures[f"convergence, {name}, {row}"] = converged(results, LOT.vcs, LOT.bottleneck)
            figures[f"longest class queue, {name}, {row}"] = longest(results, LOT.bottleneck)
            figures[f"all queues, {name}, {row}"] = [
                float(np.max(cells)) / KCELLS for cells in waiting(results, LOT.ports)
            ]
        for name in ("D", NONE):
            figures[f"convergence in round trips, {name}, {row}"] = [
                None
                if time is None
                else time * MILLISECOND / (8e-6 * MICROSECONDS_PER_KILOMETRE * kilometres)
                for time in figures[f"convergence, {name}, {row}"]
            ]
    return {MAIN: figures}


def _lengths_panels(runs: Runs) -> tuple[Panel, ...]:
    figures = _lengths(runs, {})[MAIN]

    def curves(title: str) -> tuple[Curve, ...]:
        return tuple(
            Curve(name, KILOMETRES, [figures[f"{title}, {name}, {_row(one)}"] for one in KILOMETRES])
            for name in COLUMNS
        )

    x = "length of each link (km)"
    return (
        Panel("Convergence", x, "convergence (ms)", curves("convergence"), log_x=True, log_y=True),
        Panel("Longest class queue", x, "queue (Kcells)", curves("longest class queue"), log_x=True),
    )


MEASURES = {
    **{f"on-off-{name}": place.measure(ON_OFF) for name, place in PLACES.items()},
    **{f"files-{name}": place.measure(FILES) for name, place in PLACES.items()},
    **{
        f"tcp-{name}": place.measure(TCP_FILES, transfers=True, run=LONGER if name != "two-sources" else ())
        for name, place in PLACES.items()
    },
    **{f"both-{name}": place.both().measure() for name, place in PLACES.items()},
    "satellite": Measure(
        _satellite,
        {name: _at_edges(keys) for name, keys in SETTINGS.items()} | {NONE: []},
        series=SAMPLED,
        panels=_satellite_panels,
    ),
    "segments": Measure(
        _mixed,
        {
            f"{second}, {first}": [
                ("duration", "600ms"),
                *coupled(SETTINGS["D"]),
                (f"link.{SEGMENTS[0]}.rate_control", KINDS[first]),
                (f"link.{SEGMENTS[1]}.rate_control", KINDS[second]),
                *SLOWLY,
            ]
            for first in KINDS
            for second in KINDS
        },
        series=SAMPLED,
    ),
    "lengths": Measure(
        _lengths,
        {
            f"{name}, {_row(kilometres)}": [*sets, *_long(kilometres)]
            for kilometres in KILOMETRES
            for name, sets in ({one: coupled(keys) for one, keys in SETTINGS.items()} | {NONE: []}).items()
        },
        series=SAMPLED,
        panels=_lengths_panels,
    ),
}
"""Measures of this file, by their names."""
