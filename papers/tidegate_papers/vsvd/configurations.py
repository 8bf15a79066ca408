"""Tables 3 to 5: cells received, convergence time and longest queue in each configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate import Results
from tidegate.maxmin import Span
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import (
    COLUMNS,
    NONE,
    PRINTED_B,
    SETTINGS,
    Figures,
    converged,
    couplings,
    held,
    longest,
    received,
)


@dataclass(frozen=True)
class Configuration:
    """One of the paper's configurations.

    Attributes:
        row: Its row in the tables.
        link: The bottleneck.
        vcs: The VCs whose cells Table 3 counts.
        converging: The VCs whose rates Table 4 looks at; empty where it has no row.
        span: The seconds in which Table 4 looks at them; None for the whole run.
    """

    row: str
    link: str
    vcs: tuple[str, ...] = ()
    converging: tuple[str, ...] = ()
    span: Span | None = None

    def figures(self, runs: Runs, _: Mapping[str, Columns]) -> Columns:
        """Return what the tables hold of this configuration, and how their columns compare."""
        figures: Figures = {}
        if self.vcs:
            self._add(figures, runs, "Kcells received", lambda results: received(results, self.vcs))
            figures["Kcells received, greatest over least"] = _spread(figures, "Kcells received", self.row)
        if self.converging:
            figures |= self._convergence(runs)
        self._add(figures, runs, "longest queue", lambda results: longest(results, self.link))
        figures["longest queue, D over no VS/VD"] = _over(
            figures[f"longest queue, D, {self.row}"], figures[f"longest queue, {NONE}, {self.row}"]
        )
        self._add(figures, runs, "per-VC queues", lambda results: held(results, self.link))
        return {MAIN: figures}

    def _convergence(self, runs: Runs) -> Figures:
        figures: Figures = {}
        self._add(
            figures,
            runs,
            "convergence",
            lambda results: converged(results, self.converging, self.link, self.span),
        )
        fastest = [figures[f"convergence, {name}, {self.row}"] for name in COLUMNS if name != "D"]
        figures["convergence, D behind the fastest"] = [
            None if own is None else own - min((one for one in others if one is not None), default=own)
            for own, others in zip(
                figures[f"convergence, D, {self.row}"], zip(*fastest, strict=False), strict=False
            )
        ]
        return figures

    def _add(self, figures: Figures, runs: Runs, title: str, figure: Callable[[Results], Values]) -> None:
        for name, results in runs.items():
            figures[f"{title}, {name}, {self.row}"] = figure(results)

    def measure(self, more: Overrides = ()) -> Measure:
        """Return how it is measured, with something more set under every coupling."""
        settings = {name: [*sets, *more] for name, sets in couplings().items()}
        series = ("vc_queue", *(("acr", "queue") if self.converging else ()))
        return Measure(self.figures, settings, drawn=(PRINTED_B,), reads=_read_by, series=series)


def _read_by(claim: str) -> tuple[str, ...]:
    """Return the settings that a claim's figure reads: that of its column, or all."""
    named = tuple(name for name in COLUMNS if f", {name}, " in claim)
    return named or COLUMNS


def _spread(figures: Figures, title: str, row: str) -> Values:
    """Return how many times the least of a row's figures the greatest is, replication by replication."""
    columns = [figures[f"{title}, {name}, {row}"] for name in (*SETTINGS, NONE)]
    return [
        max(value or 0.0 for value in run) / min(value or 0.0 for value in run)
        for run in zip(*columns, strict=False)
    ]


def _over(one: Values, other: Values) -> Values:
    return [(part or 0.0) / whole if whole else None for part, whole in zip(one, other, strict=False)]


VBR = Configuration("2 source + VBR", "sw1->sw2", vcs=("vc1", "vc2"))

LOT = Configuration(
    "parking lot",
    "sw2->sw3",
    vcs=("vc1", "vc2", "vc3"),
    converging=("vc1", "vc2", "vc3"),
)

HELD_BACK = Configuration(
    "upstream bottleneck",
    "sw2->sw3",
    vcs=("vc16", "vc17"),
    converging=("vc15", "vc16", "vc17"),
)

COMES_ON = Configuration(
    "transient",
    "sw1->sw2",
    converging=("vc1", "vc2"),
    span=(0.1, 0.24),
)

STAYS = [("connection.vc2.stop", "240ms")]
"""The second VC of the transient stays."""

TWO_SOURCES = VBR.measure()
PARKING_LOT = LOT.measure()
UPSTREAM = HELD_BACK.measure()
TRANSIENT = COMES_ON.measure(STAYS)
TRANSIENT_140 = Configuration("transient", "sw1->sw2").measure([("connection.vc2.transport.icr", "140mbit")])
