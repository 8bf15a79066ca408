"""Published figures and ours, drawn on axes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.papers.claims import Finding
from tidegate.papers.words import figure, label, published
from tidegate.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOLDS, BROKEN, UNDECIDED = style.COLOURS[0], style.COLOURS[3], style.COLOURS[1]
LOOKS = {True: (HOLDS, "holds"), False: (BROKEN, "does not hold"), None: (UNDECIDED, "undecided")}

PERCENT = 100.0


def comparable(finding: Finding) -> bool:
    """Whether ours can be drawn as a share of a published figure."""
    claim = finding.claim
    return bool(claim.paper and claim.tolerance) and finding.measured.mean is not None


def beside_published(axes: Axes, findings: Sequence[Finding]) -> None:
    """Draw how far ours are from the published figures, with intervals, over bands of the tolerances."""
    for place, one in enumerate(findings):
        claim, (mean, half) = one.claim, one.measured
        if mean is None or not claim.paper or claim.tolerance is None:
            continue
        scale = PERCENT / abs(claim.paper)
        band = claim.tolerance * scale
        axes.barh(place, 2 * band, left=-band, height=0.62, color="#e4e4e4", zorder=1)
        colour, verdict = LOOKS[one.holds]
        axes.errorbar(
            (mean - claim.paper) * scale,
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
        axes.annotate(
            f"{published(claim)} → {figure(one.measured)}",
            (1.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7.5,
        )
    axes.axvline(0.0, color="black", linewidth=0.8, zorder=2)
    # Bands end on the axes otherwise.
    axes.use_sticky_edges = False
    axes.autoscale_view(scaley=False)
    axes.set_yticks(range(len(findings)), [label(one.claim) for one in findings], fontsize=8)
    axes.set_ylim(len(findings) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("difference from the published figure (% of it)")


def alone(axes: Axes, findings: Sequence[Finding]) -> None:
    """Draw figures for which the paper gives no number, with intervals."""
    for place, one in enumerate(findings):
        mean, half = one.measured
        if mean is not None:
            axes.errorbar(place, mean, yerr=half, fmt="o", markersize=5, capsize=3, color=HOLDS)
    axes.set_xticks(range(len(findings)), [label(one.claim) for one in findings])
    axes.set_xlim(-0.5, len(findings) - 0.5)
    axes.grid(visible=False, axis="x")
