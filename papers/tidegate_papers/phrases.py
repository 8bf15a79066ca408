"""Claims as people read them: on a terminal, in a document, in a figure."""

from __future__ import annotations

import math

from tidegate.show import NOTHING
from tidegate.summary import Estimate
from tidegate_papers.claims import Claim, Finding

DIGITS = 3
"""Significant digits of a tolerance."""

MAX_DECIMALS = 4

REQUIRED = " *"
"""Stands behind what a required claim is of."""


def label(claim: Claim) -> str:
    """Return what a claim is of, with its unit and whether it is required."""
    name = f"{claim.name} ({claim.unit})" if claim.unit else claim.name
    return f"{name}{REQUIRED}" if claim.required else name


def published(claim: Claim) -> str:
    """Return the published figure as the paper gives it."""
    return _number(claim.paper)


def derived(claim: Claim) -> str:
    """Return the figure that follows from the paper where it gives none."""
    return _number(claim.derived)


def allowed(claim: Claim) -> str:
    """Return what a claim allows: a tolerance, a factor, or a limit."""
    each = " in each run" if claim.every else ""
    if claim.at_most is not None:
        return f"≤ {claim.at_most:g}{each}"
    if claim.at_least is not None:
        return f"≥ {claim.at_least:g}{each}"
    if claim.factor is not None:
        return f"factor {claim.factor:g}"
    if claim.tolerance is None:
        return ""
    return "exact" if claim.tolerance == 0 else f"± {float(f'{claim.tolerance:.{DIGITS}g}'):,g}"


def measured(finding: Finding) -> str:
    """Return what was measured for a claim; for a limit on every replication, with the worst of them."""
    if finding.worst is None:
        return figure(finding.measured)
    return f"{figure(finding.measured)}, worst {finding.worst:,.3g}"


def expected(claim: Claim) -> str:
    """Return what a figure is compared with, in words."""
    if claim.paper is not None:
        return f"published {published(claim)}"
    return allowed(claim) if claim.derived is None else f"derived {derived(claim)}"


def figure(one: Estimate) -> str:
    """Return a measured figure with its interval, to two digits of the interval."""
    if one.mean is None:
        return NOTHING
    smallest = 10.0**-MAX_DECIMALS
    if one.half_width is None or one.half_width < smallest:
        shown = f"{one.mean:,.4g}" if abs(one.mean) < 1e4 else f"{one.mean:,.0f}"
        return shown if one.half_width is None else f"{shown} ± {f'<{smallest:g}' if one.half_width else 0}"
    decimals = min(MAX_DECIMALS, max(0, 1 - math.floor(math.log10(one.half_width))))
    return f"{one.mean:,.{decimals}f} ± {one.half_width:,.{decimals}f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.6g}"
