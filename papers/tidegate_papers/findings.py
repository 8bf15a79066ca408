"""Published figures and ours, drawn on axes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.plots import style
from tidegate_papers.claims import Finding
from tidegate_papers.phrases import figure as figure_of
from tidegate_papers.phrases import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOLDS, BROKEN, UNDECIDED = style.COLOURS[0], style.COLOURS[3], style.COLOURS[1]
LOOKS = {True: (HOLDS, "holds"), False: (BROKEN, "does not hold"), None: (UNDECIDED, "undecided")}

PERCENT = 100.0

ROW = 0.24
"""Height of a row in inches."""
AROUND = 1.3
"""Height of a figure with one axis, without its rows."""
AXIS = 0.8
"""Height of the axis of a panel, with its name."""


def comparable(finding: Finding) -> bool:
    """Return whether ours can be drawn as a share of a published or derived figure."""
    claim = finding.claim
    return bool(claim.reference and claim.tolerance) and finding.measured.mean is not None


def height(findings: Sequence[Finding]) -> float:
    """Height in inches of a figure: of those that can be compared, or of all where none can."""
    compared = [one for one in findings if comparable(one)]
    if compared:
        return AROUND + ROW * len(compared)
    return AROUND + ROW * len(findings) + AXIS * len({one.claim.unit for one in findings})


def beside_published(axes: Axes, findings: Sequence[Finding]) -> None:
    """Draw how far ours are from published or derived figures, with intervals, over bands of tolerances."""
    for place, one in enumerate(findings):
        claim, (mean, half) = one.claim, one.measured
        if mean is None or not claim.reference or claim.tolerance is None:
            continue
        scale = PERCENT / abs(claim.reference)
        band = claim.tolerance * scale
        axes.barh(place, 2 * band, left=-band, height=0.62, color="#e4e4e4", zorder=1)
        colour, verdict = LOOKS[one.holds]
        axes.errorbar(
            (mean - claim.reference) * scale,
            place,
            xerr=None if half is None else half * scale,
            fmt="o",
            markersize=4,
            capsize=2.5,
            elinewidth=1.2,
            color=colour,
            label=verdict,
            zorder=3,
        )
        _note(axes, place, f"{claim.reference:,.6g} → {figure_of(one.measured)}")
    axes.axvline(0.0, color="black", linewidth=0.8, zorder=2)
    # Bands end on the axes otherwise.
    axes.use_sticky_edges = False
    axes.autoscale_view(scaley=False)
    _name_rows(axes, findings)
    kinds = "published or derived" if any(one.claim.paper is None for one in findings) else "published"
    axes.set_xlabel(f"difference from the {kinds} figure (% of it)")


def alone(figure: Figure, findings: Sequence[Finding]) -> None:
    """Draw figures for which the paper gives no number, with intervals: a panel for each unit."""
    units: dict[str, list[Finding]] = {}
    for one in findings:
        units.setdefault(one.claim.unit, []).append(one)
    heights = [1 + len(of_unit) for of_unit in units.values()]
    places = figure.subplots(len(units), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (unit, of_unit) in zip(places, units.items(), strict=True):
        for place, one in enumerate(of_unit):
            mean, half = one.measured
            if mean is None:
                continue
            axes.errorbar(mean, place, xerr=half, fmt="o", markersize=4, capsize=2.5, color=HOLDS)
            _note(axes, place, figure_of(one.measured))
        _name_rows(axes, of_unit)
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.set_xlabel(unit or "share")


def _note(axes: Axes, place: int, words: str) -> None:
    """Write what a row shows to the right of it."""
    axes.annotate(words, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=7.5)


def _name_rows(axes: Axes, findings: Sequence[Finding]) -> None:
    axes.set_yticks(range(len(findings)), [label(one.claim) for one in findings], fontsize=8)
    axes.set_ylim(len(findings) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
