"""Instructions of a frame that passes a gate from memory to memory: the gate's own, without the kernel's."""

from __future__ import annotations

import bars
from counting import per
from explanations import explanations

FILES = {
    "fifo": "one queue",
    "hosts": "200 hosts with a queue each",
    "households": "200 hosts, fair among their conversations",
}
"""Gate files of the benchmark, and what they are."""
WAYS = ("copies", "switch", "gate")
LENGTHS = (32_000, 96_000)
"""Frames of a short and of a long run."""


def gate_rows(found: dict[str, str]) -> list[list[str]]:
    """Rows of the gate."""
    return explanations(found["engine"]) + null_device(found["null_device"])


def null_device(binary: str) -> list[list[str]]:
    """Rows of a frame of 60 bytes: in the whole gate, and beyond the core's switch and the copies."""
    rows = []
    for name, what in FILES.items():
        pairs = [tuple((binary, "count", way, name, frames) for frames in LENGTHS) for way in WAYS]
        copies, switch, gate = per(pairs, 0)
        figure = f"{gate:,.0f} instructions: switch {switch:,.0f}, copies and messages {copies:,.0f}"
        rows.append([f"a frame in a gate with a null device, {what}", figure, ""])
        beyond = gate - switch - copies
        rows.append(
            [
                f"beyond the switch and the copies, {what}",
                f"{beyond:,.0f} instructions",
                bars.GATE_FRAME.cell(beyond),
            ]
        )
    return rows
