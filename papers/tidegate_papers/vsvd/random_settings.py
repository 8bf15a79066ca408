"""All couplings at random settings: which diverge and oscillate, and what beats option D on what.

With ER1 = min(ER1, VAL2, ACR2) "next loop only" is "both loops": of the 72 couplings the 48 that
differ are run. A figure is the share of the settings in which something is so, in per cent; its
interval is over settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidegate import Results
from tidegate.fairness import convergence_time
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import HeatMap
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import (
    MILLISECOND,
    NEAR,
    NONE,
    SAMPLED,
    Figures,
    acr,
    coupled,
    samples,
    spacing,
    waiting,
)
from tidegate_papers.vsvd.couplings import COLUMNS as ALL_COLUMNS
from tidegate_papers.vsvd.couplings import ROWS
from tidegate_papers.vsvd.draws import SETTINGS, Network

COLUMNS = {name: keys for name, keys in ALL_COLUMNS.items() if not name.startswith("next")}
"""On which loop congestion acts, and when allocations are calculated, where couplings differ."""

D = ("both, both", "class / class")
"""Column and row of option D."""

HERE = Path(__file__).parent

GROWS = 1.2
"""Queues diverge when the mean of all in the last quarter of a run is so many times that in the
third."""

LONG = 500.0
"""Cells in all queues below which nothing diverges."""

SWING = 0.2
"""An ACR oscillates when its 5 ms averages spread by more of their mean in the last quarter of a
run."""

BETTER = 0.9
"""A figure beats D's when it is below this share of it, and by more than `LEAST` of its unit."""

LEAST = {"convergence": 2.0, "class queue": 10.0, "all queues": 10.0}

PER_CENT = 100.0

KEPT = ("convergence", "class queue", "all queues", "grows", "swings")
"""Figures kept of a run: ms, -1 for never; cells, cells; 1 where queues grow, and where an ACR
oscillates."""


@dataclass(frozen=True)
class Kept:
    """Figures that are kept of a run, as a table of series.

    Attributes:
        network: The network.
        converges: Whether rates have an optimum that does not move.
    """

    network: Network
    converges: bool

    def __call__(self, results: Results) -> Results:
        """Return the results with one sample of each of `KEPT` in place of their tables."""
        values = self._measured(results)
        # The metadata of each table hold the whole scenario.
        nothing = {
            name: table.schema.remove_metadata().empty_table() for name, table in results.tables.items()
        }
        columns = {
            "metric": pa.array(KEPT),
            "value": pa.array([values[name] for name in KEPT]),
        }
        return replace(results, tables={**nothing, "series": pa.table(columns)})

    def _measured(self, results: Results) -> Mapping[str, float]:
        ports = [port.replace("-", "->") for port in self.network.ports]
        queues = [samples(results, port, "queue")[0] for port in ports]
        every, *_ = waiting(results, ports)
        rates, *_ = acr(results, tuple(self.network.ways))
        step = spacing(results)
        time = None
        if self.converges:
            time = convergence_time(
                step,
                [list(rate) for rate in rates],
                self.network.optima(_rates(results)),
                list(np.max(queues, axis=0)),
                NEAR,
            )
        longest = [measures.link(results, port, "queue_max")[0] for port in ports]
        quarter = len(every) // 4
        last, before = every[-quarter:].mean(), every[-2 * quarter : -quarter].mean()
        return {
            "convergence": -1.0 if time is None else time / MILLISECOND,
            "class queue": float(max(cells or 0.0 for cells in longest)),
            "all queues": float(every.max()),
            "grows": float(last > LONG and last > GROWS * before),
            "swings": float(self.converges and any(_swings(rate[-quarter:], step) for rate in rates)),
        }


def _rates(results: Results) -> dict[str, int]:
    """Return the rates of links in kbit/s that were set."""
    rates = {
        path: value
        for path, value in results.overrides
        if path.endswith(".rate") and path.startswith("link.")
    }
    return {path.split(".")[1]: int(value.removesuffix("kbit")) for path, value in rates.items()}


def _swings(rate: Any, step: float) -> bool:
    """Return whether the averages of a rate over 5 ms spread by more than `SWING`."""
    width = max(round(NEAR[0] / step), 1)
    averages = np.convolve(rate, np.ones(width) / width, mode="valid")
    return bool(averages.max() - averages.min() > SWING * averages.mean())


def _kept(results: Results) -> dict[str, float]:
    # Further replications stand behind the first.
    return dict(zip(KEPT, results.series["value"].to_pylist(), strict=False))


Run = Mapping[str, float]
"""Return the figures that are kept of one run, by the names of `KEPT`."""


def _beats(run: Run, other: Run, name: str) -> bool:
    """Return whether a run is better in one of `LEAST` than another, by more than a tenth."""
    one, two = run[name], other[name]
    if name == "convergence":
        one, two = (time if time >= 0.0 else math.inf for time in (one, two))
    return one < BETTER * two and one < two - LEAST[name]


@dataclass(frozen=True)
class Everywhere:
    """All couplings of one configuration at random settings.

    Attributes:
        network: The configuration.
        row: Its name.
        converges: Whether rates have an optimum that does not move.
    """

    network: Network
    row: str
    converges: bool

    def _settings(self) -> dict[str, Overrides]:
        couplings: dict[str, Overrides] = {
            _cell(column, row): coupled(f"{rates}, {loops}")
            for row, rates in ROWS.items()
            for column, loops in COLUMNS.items()
        }
        couplings[NONE] = []
        return {
            f"{name}, setting {number}": [*draw.sets, *sets]
            for name, sets in couplings.items()
            for number, draw in enumerate(self.network.draws())
        }

    def _is_so(self, run: Run, d: Run) -> dict[str, bool]:
        """Return what is so at one setting, of a coupling beside D, by the title of its table."""
        steady = {
            "oscillates": bool(run["swings"]) and not run["grows"],
            "converges": run["convergence"] >= 0.0,
        }
        compared = [name for name in LEAST if self.converges or name != "convergence"]
        beats = {name: _beats(run, d, name) for name in compared}
        loses = any(_beats(d, run, name) for name in compared)
        return {
            "diverges": bool(run["grows"]),
            **(steady if self.converges else {}),
            **{f"beats D on {name}": beaten for name, beaten in beats.items()},
            "beats D on one of these, loses on none": any(beats.values()) and not loses,
        }

    def _shares(self, runs: Runs, name: str) -> dict[str, Values]:
        """Return the share of settings in which something is so of a coupling, by the title of its table."""
        found = [
            self._is_so(
                _kept(runs[f"{name}, setting {number}"]), _kept(runs[f"{_cell(*D)}, setting {number}"])
            )
            for number in range(SETTINGS)
        ]
        return {title: [PER_CENT * one[title] for one in found] for title in found[0]}

    def figures(self, runs: Runs, _: Mapping[str, Columns]) -> Columns:
        """Return the cells of the tables, and what is so without VS/VD."""
        figures: Figures = {}
        for row in ROWS:
            for column in COLUMNS:
                shares = self._shares(runs, _cell(column, row))
                figures |= {f"{title}, {column}, {row}": values for title, values in shares.items()}
        figures |= {f"{title}, {NONE}": values for title, values in self._shares(runs, NONE).items()}
        return {MAIN: figures}

    def panels(self, runs: Runs) -> tuple[HeatMap, ...]:
        """Return a map of the couplings that diverge, that converge, and that beat D."""
        shares = {(row, column): self._shares(runs, _cell(column, row)) for row in ROWS for column in COLUMNS}
        titles = [title for title in shares["class / class", "both, both"] if title in SHOWN]
        return tuple(
            HeatMap(
                f"{title} (% of settings), {self.row}",
                tuple(COLUMNS),
                tuple(ROWS),
                [shares[row, column][title] for row in ROWS for column in COLUMNS],
            )
            for title in titles
        )

    def measure(self) -> Measure:
        """Return how it is measured."""
        return Measure(
            self.figures,
            self._settings(),
            series=SAMPLED,
            panels=self.panels,
            keep=Kept(self.network, self.converges),
        )


SHOWN = ("diverges", "converges", "beats D on convergence", "beats D on one of these, loses on none")
"""The tables of which there is a map."""


def _cell(column: str, row: str) -> str:
    return f"{column}, {row}"


MEASURES = {
    "random-two-sources": Everywhere(
        Network(HERE / "two-sources.toml", "sw1-sw2"), "2 source + VBR", converges=False
    ).measure(),
    "random-parking-lot": Everywhere(
        Network(HERE / "parking-lot.toml", "sw2-sw3"), "parking lot", converges=True
    ).measure(),
    "random-upstream": Everywhere(
        Network(HERE / "held-back.toml", "sw1-sw2"), "upstream bottleneck", converges=True
    ).measure(),
}
"""Three configurations at random settings: `tidegate paper vsvd --all`."""
