"""Curves that tell an experiment's story, as numbers: what is drawn is decided elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.summary import Values, estimate


@dataclass(frozen=True)
class Curve:
    """One line of a panel.

    Attributes:
        name: Its subject.
        x: Where its points are.
        y: At each point, the figure of every replication.
        points: Whether its points are marked: those of a sweep are, those of a distribution are
            not.
        joined: Whether they are joined by a line; else they are dots.
    """

    name: str
    x: Sequence[float]
    y: Sequence[Values]
    points: bool = True
    joined: bool = True


@dataclass(frozen=True)
class Level:
    """A value that the lines of a panel are compared with.

    Attributes:
        y: The value.
        name: Its meaning, in words that stand on the line.
        right: Whether the words stand at its right end.
    """

    y: float
    name: str
    right: bool = False


@dataclass(frozen=True)
class HeatMap:
    """Figures of two settings that are varied, as colours.

    Attributes:
        title: Subject of the curves, with its unit.
        columns: Names of its columns.
        rows: Names of its rows.
        cells: The figures, row by row; None for none.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Values]


@dataclass(frozen=True)
class Panel:
    """Lines on the same axes.

    Attributes:
        title: Subject of the panels.
        x: Name and unit of the horizontal axis.
        y: Name and unit of the vertical axis.
        curves: The lines.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical one is.
        levels: Lines for comparison.
        least: Where the vertical axis begins; None for where the lines do.
    """

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    levels: tuple[Level, ...] = ()
    least: float | None = None


def document(panel: Panel | HeatMap) -> dict[str, Any]:
    """Return a panel as values of JSON: means over replications, with half their intervals."""
    if isinstance(panel, HeatMap):
        means = [estimate(values).mean for values in panel.cells]
        width = len(panel.columns)
        rows = [means[start : start + width] for start in range(0, len(means), width)]
        return {
            "kind": "map",
            "title": panel.title,
            "columns": list(panel.columns),
            "rows": list(panel.rows),
            "cells": rows,
        }
    return {
        "kind": "lines",
        "title": panel.title,
        "x": panel.x,
        "y": panel.y,
        "log_x": panel.log_x,
        "log_y": panel.log_y,
        "least": panel.least,
        "levels": [{"y": level.y, "name": level.name} for level in panel.levels],
        "curves": [_curve(curve) for curve in panel.curves],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    estimates = [estimate(values) for values in curve.y]
    return {
        "name": curve.name,
        "x": list(map(float, curve.x)),
        "mean": [one.mean for one in estimates],
        "ci95": [one.half_width for one in estimates],
        "points": curve.points,
        "joined": curve.joined,
    }
