"""Quantities in scenarios that are built in Python, from numbers in base units.

    tidegate.Flow(name="call", from_="a", to="b", size=tidegate.Size(250), source=...)

Each is the text that a file would hold, and may stand wherever that text may. The builders of a scenario
also take bare numbers in base units, `size=250`.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Integral, Real
from typing import Self

from tidegate._tidegate import TidegateError, parse_rate, parse_time

__all__ = ["Rate", "Size", "Time"]


class _Quantity(str):
    """A number with its unit."""

    __slots__ = ()
    _unit = ""
    _name = ""

    def __new__(cls, number: float | Real) -> Self:
        if isinstance(number, bool) or not isinstance(number, Real) or not 0 <= float(number) < float("inf"):
            raise TidegateError(f"{cls._name} is a number of at least 0, not {number!r}")
        # numpy's numbers have other texts.
        number = int(number) if isinstance(number, Integral) else float(number)
        # No exponent: files do not have them.
        text = super().__new__(cls, f"{Decimal(repr(number)).normalize():f}{cls._unit}")
        text._check()
        return text

    def _check(self) -> None:
        """Raise the error of a file that holds it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.removesuffix(self._unit)})"


class Size(_Quantity):
    """A number of whole bytes: `Size(250)` is `250B`."""

    __slots__ = ()
    _unit, _name = "B", "a size in bytes"

    def _check(self) -> None:
        if "." in self:
            raise TidegateError(f"a size is a whole number of bytes, not {self.removesuffix('B')}")


class Rate(_Quantity):
    """A number of whole bits per second: `Rate(64_000)` is `64000bit`."""

    __slots__ = ()
    _unit, _name = "bit", "a rate in bit/s"

    def _check(self) -> None:
        parse_rate(self)


class Time(_Quantity):
    """A number of seconds: `Time(0.005)` is `0.005s`."""

    __slots__ = ()
    _unit, _name = "s", "a time in seconds"

    def _check(self) -> None:
        parse_time(self)
