"""Figures in a sentence: as many digits as it takes."""

from tidegate.show import quantity

_SHARE_DIGITS = 2


def brief(value: float | None, unit: str) -> str:
    """Return a quantity without zeros at its end, and a share with two digits: `20 ms`, `3.2 %`."""
    if unit == "share" and value:
        value = float(f"{value:.{_SHARE_DIGITS}g}")
    number, space, name = quantity(value, unit).partition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number}{space}{name}"
