"""Shares that explanations (`tidegate gate explain`) take of a frame in a gate."""

from __future__ import annotations

import statistics

import bars
from counting import cpu_seconds, per

LINES = (20, 100, 1_000)
"""Rates of the line in each direction, in Mbit/s."""
MODES = ("nothing", "plain", "explained")
LENGTHS = (60_000, 160_000)
"""Frames of a short and of a long run."""


def explanations(binary: str) -> list[list[str]]:
    """Rows of explanations: of the engine's instructions, and of the gate's time."""
    rows = []
    for line in LINES:
        pairs = [tuple((binary, mode, line, frames) for frames in LENGTHS) for mode in MODES]
        nothing, plain, explained = per(pairs, 0)
        taken, engine = explained - plain, explained - nothing
        what = f"explanations of a frame in a gate, 20 circuits with ten conversations each, {line:,} Mbit/s"
        of_engine = taken / engine
        figure = f"{100 * of_engine:.1f} % of the engine's instructions ({taken:,.0f} of {engine:,.0f})"
        rows.append([what, figure, ""])
        nanos = time_of(binary, line)
        of_gate = 100 * of_engine * nanos / (nanos + bars.KERNEL_NANOS)
        figure = f"{of_gate:.1f} % of the gate's time ({nanos / 1_000:.1f} µs in the engine)"
        rows.append([what, figure, bars.EXPLANATIONS.cell(of_gate)])
    return rows


def time_of(binary: str, line: int) -> float:
    """Return the nanoseconds of a frame in the engine with explanations: the median of five runs."""
    samples = []
    for _ in range(5):
        seconds = [cpu_seconds(binary, mode, line, LENGTHS[1])[0] for mode in ("explained", "nothing")]
        samples.append(1e9 * (seconds[0] - seconds[1]) / LENGTHS[1])
    return statistics.median(samples)
