"""Figures of a paper's experiments, from their claims or their curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tidegate_papers.report import Outcome, Report


def claims(outcome: Outcome, report: Report) -> Figure:
    """Draw how far an experiment's figures are from those that its paper publishes.

    Figures that are published as zero or as a limit are left out; they are in the table of claims.
    """
    import matplotlib as mpl

    from tidegate_papers import findings

    drawn = [one for one in outcome.findings if findings.comparable(one)]
    with mpl.rc_context(style.RC):
        figure = style.new_figure(9.5, findings.height(outcome.findings))
        if drawn:
            axes = figure.subplots()
            findings.beside_published(axes, drawn)
            entries = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
            figure.legend(entries.values(), entries.keys(), loc="outside upper right", ncols=len(entries))
        else:
            findings.alone(figure, outcome.findings)
        shown = "published and measured" if drawn else "measured"
        meanings = "grey: tolerance · * required · " if drawn else ""
        if drawn and len(drawn) < len(outcome.findings):
            meanings += f"{len(drawn)} of {len(outcome.findings)} figures · "
        _frame(figure, outcome, report, f"{outcome.experiment.title}: {shown}", meanings)
    return figure


def curves(outcome: Outcome, report: Report) -> Figure:
    """Draw the curves that tell an experiment's story."""
    import matplotlib as mpl

    from tidegate_papers import sweeps

    with mpl.rc_context(style.RC):
        figure = style.new_figure(max(8.0, 5.4 * len(outcome.panels)), 4.2)
        sweeps.draw(figure.subplots(1, len(outcome.panels), squeeze=False)[0], outcome.panels)
        _frame(figure, outcome, report, f"{outcome.experiment.title}: {outcome.experiment.about}", "")
    return figure


def _frame(figure: Figure, outcome: Outcome, report: Report, title: str, meanings: str) -> None:
    """Write what a figure of an experiment shows above it, and where it comes from below."""
    runs = len(outcome.seeds)
    figure.suptitle(f"{title} (n = {runs})", x=0.01, ha="left", fontsize=10, fontweight="bold")
    intervals = "95 % intervals · " if runs > 1 else ""
    figure.supxlabel(
        f"{report.paper.reference}, {outcome.experiment.where} · {meanings}{intervals}"
        f"tidegate {report.version}",
        fontsize=7,
        color=style.MUTED,
        x=0.995,
        ha="right",
    )
