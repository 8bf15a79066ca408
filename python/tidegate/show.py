"""Quantities as people read them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NOTHING", "plural", "quantity", "signed", "with_interval"]

Figure = tuple[float | None, float | None]
"""A mean and half of its 95 % interval, as `tidegate.summary.Estimate`."""

NOTHING = "-"
"""Shown where nothing was measured."""

_SCALES: dict[str, Sequence[tuple[float, str]]] = {
    "bit/s": [(1, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")],
    "s": [(1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1, "s")],
    "share": [(1e-2, "%")],
    "points": [(1e-2, "pp")],
    "B": [(1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")],
    "count": [(1, "")],
}

DIGITS = 4
"""Significant digits of a shown figure, at most."""


def quantity(value: float | None, unit: str) -> str:
    """Return `value` in the multiple of `unit` that suits it.

    A unit is `bit/s`, `B`, `s`, `share` (as %) or `count`.
    """
    return with_interval((value, None), unit)


def with_interval(figure: Figure, unit: str, separator: str = " ") -> str:
    """Return a mean and, behind `separator`, its half interval, both in the same multiple of `unit`."""
    mean, half_width = figure
    if mean is None:
        return NOTHING
    # The larger of the two decides the multiple: 0.1 ± 5 ms, never 0.1 ± 5000 µs.
    factor, name = _scale(max(abs(mean), half_width or 0.0), unit)
    scaled = mean / factor
    decimals = _decimals(max(abs(scaled), (half_width or 0.0) / factor), unit)
    shown = f"{scaled:.{decimals}f}{' ' if name else ''}{name}"
    if half_width is None:
        return shown
    return f"{shown}{separator}± {_half_width(half_width / factor, decimals)}"


def signed(figure: Figure, unit: str) -> str:
    """Return a difference with its sign, and its half interval; of shares in percentage points (pp)."""
    shown = with_interval(figure, "points" if unit == "share" else unit)
    return f"{'+' if (figure[0] or 0.0) > 0 else ''}{shown}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return `count` and the noun that fits it."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _half_width(value: float, decimals: int) -> str:
    smallest = 10.0**-decimals
    if 0 < value < smallest / 2:
        return f"<{smallest:.{decimals}f}"
    return f"{value:.{decimals}f}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    scales = _SCALES[unit]
    if value == 0:
        return next((scale for scale in scales if scale[0] == 1), scales[0])
    fitting = [scale for scale in scales if value >= scale[0] * 0.99995]
    return fitting[-1] if fitting else scales[0]


def _decimals(value: float, unit: str) -> int:
    if value == 0 or (unit in ("count", "B") and value == int(value)):
        return 0
    # Rounding first: 0.99999 is shown as 1.000.
    exponent = int(f"{value:.{DIGITS - 1}e}".partition("e")[2])
    return max(0, min(DIGITS, DIGITS - 1 - exponent))
