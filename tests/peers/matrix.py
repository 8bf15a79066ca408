"""The matrix of a peer: each of its disciplines against each property."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from peers.properties import PROPERTIES
from peers.workloads import Run, Workload

Runner = Callable[[str, Workload, float], Run]
"""A function that sends a workload through a discipline."""

Cell = list[int | str] | None
"""The seed of the first workload that breaks a property, and how; None if none does."""


def of_peer(disciplines: Iterable[str], run: Runner, rounds: int) -> dict[str, dict[str, Cell]]:
    """Return what became of each property with each discipline, in so many workloads."""
    return {
        discipline: {one.name: broken(discipline, one.name, run, rounds) for one in PROPERTIES}
        for discipline in disciplines
    }


def broken(discipline: str, name: str, run: Runner, rounds: int) -> Cell:
    """Return the first workload in which a discipline breaks a property, and how."""
    [one] = [one for one in PROPERTIES if one.name == name]
    for seed in range(1, rounds + 1):
        workload = one.draw(random.Random(f"{name}/{seed}"))
        words = one.judge(run(discipline, workload, one.after))
        if words is not None:
            return [seed, words]
    return None
