"""The points of a sweep: which values are set together, and in which order."""

from __future__ import annotations

import csv
import itertools
import math
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate._tidegate import TidegateError

DESIGNS = ("product", "zip", "random", "latin-hypercube")

MOST = 1_000_000
"""Points of one sweep."""

Point = tuple[tuple[str, str], ...]
"""The settings of one point, as pairs of a key and its value, in the order of the parameters."""

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)([A-Za-z]*)\.\.(-?\d+(?:\.\d+)?)([A-Za-z]*)")


@dataclass(frozen=True)
class Design:
    """The parameters of a sweep and their values.

    Attributes:
        values: The values of each parameter, by its key.
        kind: One of `DESIGNS`: every combination; the first values together, then the second; or
            values that are drawn.
        points: Number of points of a design that is drawn.
        seed: Seed of the values that are drawn.
        csv: A file whose heading names more parameters, and each of whose lines is a point;
            combined with every point of `values`.
    """

    values: Mapping[str, Sequence[str]]
    kind: str = "product"
    points: int | None = None
    seed: int = 1
    csv: Path | None = None


def is_range(text: str) -> bool:
    """Return whether a value is a range such as `64kbit..512kbit`."""
    return _RANGE.fullmatch(text) is not None


def points_of(design: Design) -> list[Point]:
    """Return the points of a design, each once, in order.

    Raises:
        TidegateError: The design has a mistake, or more points than `MOST`.
    """
    if design.kind not in DESIGNS:
        raise TidegateError(f"the design `{design.kind}` is not one of {', '.join(DESIGNS)}")
    for key, values in design.values.items():
        if not values:
            raise TidegateError(f"`{key}` has no value to sweep over")
    drawn = design.kind in ("random", "latin-hypercube")
    if drawn and (design.points is None or design.points < 1):
        raise TidegateError(f"the design `{design.kind}` needs a number of points of at least 1")
    if not drawn and design.points is not None:
        raise TidegateError(
            f"a number of points is for the designs random and latin-hypercube, not `{design.kind}`"
        )
    listed = [()] if design.csv is None else _of_file(design.csv, design.values)
    count = _count(design) * len(listed)
    if count > MOST:
        raise TidegateError(f"the sweep has {count} points, and {MOST} are the most")
    combined = [(*of_file, *point) for of_file in listed for point in _combined(design)]
    return list(dict.fromkeys(combined))


def _count(design: Design) -> int:
    if design.points is not None:
        return design.points
    lengths = [len(values) for values in design.values.values()]
    return math.prod(lengths) if design.kind == "product" else max(lengths, default=1)


def _combined(design: Design) -> list[Point]:
    keys, values = list(design.values), list(design.values.values())
    if design.points is not None:
        draw = _strata if design.kind == "latin-hypercube" else _uniform
        columns = [
            _drawn(key, of_key, draw(design.points, random.Random(f"{design.seed} {key}")))
            for key, of_key in design.values.items()
        ]
        return [tuple(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)] or [()]
    for key, of_key in design.values.items():
        for value in of_key:
            if is_range(value):
                raise TidegateError(
                    f"`{key}`: the range {value} needs the design random or latin-hypercube, "
                    "and a number of points"
                )
    if design.kind == "product":
        return [tuple(zip(keys, row, strict=True)) for row in itertools.product(*values)]
    lengths = {key: len(of_key) for key, of_key in design.values.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{key}` has {number}" for key, number in lengths.items())
        raise TidegateError(f"parameters that are zipped have equally many values: {listed}")
    return [tuple(zip(keys, row, strict=True)) for row in zip(*values, strict=True)] or [()]


def _uniform(number: int, stream: random.Random) -> list[float]:
    """Return numbers from 0 to 1, each on its own."""
    return [stream.random() for _ in range(number)]


def _strata(number: int, stream: random.Random) -> list[float]:
    """Return numbers from 0 to 1: one in each of so many equal parts, in random order."""
    parts = list(range(number))
    stream.shuffle(parts)
    return [(part + stream.random()) / number for part in parts]


def _drawn(key: str, values: Sequence[str], places: Sequence[float]) -> list[str]:
    """Return the value of a parameter at each place from 0 to 1 of its list or its range."""
    value_at = _within(key, values[0]) if len(values) == 1 else None
    if value_at is None:
        return [values[min(int(place * len(values)), len(values) - 1)] for place in places]
    return list(map(value_at, places))


def _within(key: str, text: str) -> Callable[[float], str] | None:
    """Return the function from a place to a value of a range; None if it is a single value.

    A value has as many decimals as the ends of its range are written with.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low, low_unit, high, high_unit = found.groups()
    if (low_unit or high_unit) != high_unit or float(low) >= float(high):
        raise TidegateError(
            f"`{key}`: {text} is not a range\n"
            "  help: write the lower end first, and one unit, as in 64kbit..512kbit"
        )
    decimals = max(len(end.partition(".")[2]) for end in (low, high))
    # Both ends are as likely as what is between them.
    steps = round((float(high) - float(low)) * 10**decimals) + 1

    def value_at(place: float) -> str:
        step = min(int(place * steps), steps - 1)
        return f"{float(low) + step / 10**decimals:.{decimals}f}{high_unit}"

    return value_at


def _of_file(path: str | os.PathLike[str], others: Mapping[str, object]) -> list[Point]:
    """Return the points of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        except csv.Error as error:
            raise TidegateError(f"{path}:{reader.line_num}: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if len(rows) < 2:
        raise TidegateError(f"{path}: has no points: its first line names keys, each further line is a point")
    (_, keys), *lines = rows
    for key in keys:
        if not key or keys.count(key) > 1 or key in others:
            what = "is empty" if not key else "is there twice" if keys.count(key) > 1 else "is also set"
            raise TidegateError(f"{path}:1: the key `{key}` {what}")
    for line, row in lines:
        if len(row) != len(keys) or not all(row):
            raise TidegateError(f"{path}:{line}: has {sum(map(bool, row))} values for {len(keys)} keys")
    return [tuple(zip(keys, row, strict=True)) for _, row in lines]
