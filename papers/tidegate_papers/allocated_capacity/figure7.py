"""Figure 7: the congestion window of connection 9 over time, under Reno and under SACK."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.allocated_capacity.common import RIO_TSW, SAMPLED, Figures, counted, samples
from tidegate_papers.allocated_capacity.tables import RENO, SACK
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs

WATCHED = "c9"

MINUTE = 60.0


def _variation(results: Results) -> Values:
    """Return the standard deviation of the window over its mean, in per cent, of the measured time."""
    return [100.0 * float(run.std() / run.mean()) for run in measures.samples(results, WATCHED, "cwnd")]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        minutes = (results.duration - results.warmup) / MINUTE
        for count in ("timeouts", "retransmissions"):
            figures[f"{count}, {name}"] = [number / minutes for number in counted(results, WATCHED, count)]
        figures[f"variation of cwnd, {name}"] = _variation(results)
        figures[f"mean cwnd, {name}"] = [
            float(run.mean()) for run in measures.samples(results, WATCHED, "cwnd")
        ]
    for what in ("timeouts", "variation of cwnd"):
        figures[f"{what}, SACK beyond Reno"] = minus(
            *(figures[f"{what}, {name}"] for name in ("SACK", "Reno"))
        )
    return {MAIN: figures}


def _panels(runs: Runs) -> tuple[Panel, ...]:
    """Return a panel for each TCP, as in the figure: of the first run."""
    panels = []
    for name, results in runs.items():
        window, *_ = samples(results, WATCHED, "cwnd")
        spacing = results.duration / len(window)
        curve = Curve(
            name,
            [spacing * (1 + at) for at in range(len(window))],
            [[float(one)] for one in window],
            points=False,
        )
        panels.append(Panel(f"connection 9, {name}, one run", "time (s)", "cwnd (segments)", (curve,)))
    return tuple(panels)


FIGURE_7 = Measure(_figures, {"Reno": RENO[RIO_TSW], "SACK": SACK[RIO_TSW]}, series=SAMPLED, panels=_panels)
