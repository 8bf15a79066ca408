"""Measurements of the laboratory, as a distribution of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate import __version__
from tidegate.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tidegate_lab.measures import Outcome


def distributions(outcome: Outcome) -> Figure:
    """Draw which share of packets took longer, a line for each row, and mark the 99 % quantile."""
    import matplotlib as mpl
    import numpy as np

    with mpl.rc_context(style.RC):
        figure = style.new_figure(7.0, 4.2)
        axes = figure.subplots()
        for index, (name, values) in enumerate(outcome.samples.items()):
            ordered = np.sort(values).clip(min=1e-6)
            above = 1.0 - np.arange(len(ordered)) / len(ordered)
            axes.step(ordered, above, where="post", label=name, **style.look(index))
        axes.set_yscale("log")
        style.log_time_axis(axes)
        axes.axhline(0.01, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_title(f"{outcome.name}: {outcome.axis}")
        axes.set_xlabel(outcome.axis)
        axes.set_ylabel("share of packets above")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.supxlabel(
            f"{outcome.about} · tidegate {__version__}", fontsize=6, color=style.MUTED, x=0.995, ha="right"
        )
    return figure
