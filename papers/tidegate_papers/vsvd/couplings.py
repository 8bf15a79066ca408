"""All 72 couplings of section 4 in each configuration: `tidegate paper vsvd --all`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import HeatMap
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd import configurations
from tidegate_papers.vsvd.common import SAMPLED, Figures, converged, coupled, held, longest
from tidegate_papers.vsvd.configurations import Configuration

VC_RATES = ("frm1", "frm2", "per-vc", "class")
INPUT_RATES = ("per-vc", "class")
ACTS_ON = ("previous", "next", "both")
UPDATED_AT = ("frm1", "brm2", "both")

ROWS = {
    f"{vc} / {rate}": f'vc_rate = "{vc}", input_rate = "{rate}"' for vc in VC_RATES for rate in INPUT_RATES
}
"""VC rate and input rate: the rows of Table 1."""

OPEN = ', er_bound = "none"'
"""With ER1 at most ACR2, next loop only is both loops, cell for cell: here it is the other
reading."""

COLUMNS = {
    f"{acts}, {at}": f'acts_on = "{acts}", updated_at = "{at}"{OPEN if acts == "next" else ""}'
    for acts in ACTS_ON
    for at in UPDATED_AT
}
"""On which loop congestion acts, and when allocations are calculated."""

CONVERGENCE, QUEUE, PER_VC = "convergence", "longest class queue", "per-VC queues"
"""The tables of each experiment."""

UNITS = {CONVERGENCE: "ms", QUEUE: "Kcells", PER_VC: "Kcells"}


def _setting(row: str, column: str) -> str:
    return f"{row}, {column}"


def _settings(more: Overrides) -> dict[str, Overrides]:
    return {
        _setting(row, column): [*coupled(f"{rates}, {loops}"), *more]
        for row, rates in ROWS.items()
        for column, loops in COLUMNS.items()
    }


@dataclass(frozen=True)
class Sweep:
    """All couplings of one configuration."""

    configuration: Configuration

    @property
    def _measured(self) -> Mapping[str, Callable[[Results], Values]]:
        one = self.configuration
        queues: dict[str, Callable[[Results], Values]] = {
            QUEUE: lambda results: longest(results, one.link),
            PER_VC: lambda results: held(results, one.link),
        }
        if not one.converging:
            return queues
        return {
            CONVERGENCE: lambda results: converged(results, one.converging, one.link, one.span),
            **queues,
        }

    def figures(self, runs: Runs, _: Mapping[str, Columns]) -> Columns:
        """Return the cells of the tables."""
        figures: Figures = {}
        for title, figure in self._measured.items():
            for row in ROWS:
                for column in COLUMNS:
                    figures[f"{title}, {column}, {row}"] = figure(runs[_setting(row, column)])
        return {MAIN: figures}

    def panels(self, runs: Runs) -> tuple[HeatMap, ...]:
        """Return a map for convergence, where it is measured, and one for the class queue."""
        shown = [title for title in self._measured if title != PER_VC]
        return tuple(
            HeatMap(
                f"{title} ({UNITS[title]}), {self.configuration.row}",
                tuple(COLUMNS),
                tuple(ROWS),
                [self._measured[title](runs[_setting(row, column)]) for row in ROWS for column in COLUMNS],
            )
            for title in shown
        )

    def measure(self, more: Overrides = ()) -> Measure:
        """Return how it is measured, with something more set under every coupling."""
        return Measure(self.figures, _settings(more), series=SAMPLED, panels=self.panels)


MEASURES = {
    "map-two-sources": Sweep(configurations.VBR).measure(),
    "map-parking-lot": Sweep(configurations.LOT).measure(),
    "map-upstream": Sweep(configurations.HELD_BACK).measure(),
    "map-transient": Sweep(configurations.COMES_ON).measure(configurations.STAYS),
}
