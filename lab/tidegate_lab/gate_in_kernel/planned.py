"""A plan for one link in the kernel: every packet of the planned flows against its certified bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from tidegate.plan import Plan, plan
from tidegate.plan.gate import gate_toml
from tidegate_lab.gate_in_kernel import trial
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.names import NAMES

if TYPE_CHECKING:
    import numpy as np

NAME = "plan"
SEED = 5
SOURCES = (10 << 24) + (1 << 8)
"""Source addresses of planned flows begin here."""

COLUMNS = (
    Column("packets", "packets", "count"),
    Column("lost", "lost", "count"),
    Column("late", "over the bound", "count"),
    Column("delay", "largest delay", "s"),
    Column("bound", "certified", "s"),
)


@dataclass(frozen=True)
class Planned:
    """A group of planned flows, as one flow of the gate carries it.

    Attributes:
        group: Its name.
        port: The port of its packets.
        buckets: Rate in bit/s, burst and packet in bytes of each member.
        bound: The certified bound on the delay of its packets, in s.
    """

    group: str
    port: int
    buckets: list[tuple[int, int, int]]
    bound: float


def carry_out(seconds: float, progress: Callable[[str], None] | None = None) -> Outcome:
    """Plan the office's line, and let a gate with the plan's file carry its flows beside floods.

    Raises:
        TidegateError: The kernel is not built, or the trial failed.
    """
    import numpy as np

    with as_file(files("tidegate_lab.gate_in_kernel").joinpath("office.toml")) as path:
        found = plan(path)
    assert isinstance(found, Plan)
    text = gate_toml(found)
    assert text is not None
    groups = planned(found)
    rng = np.random.default_rng(SEED)
    rows = np.concatenate(
        [*(conforming(group, seconds, rng) for group in groups), trial.floods(seconds, rng)]
    )
    # No bridge of the kernel's stands in for this gate.
    text = text.replace("[port]", 'fail = "closed"\n\n[port]')
    with trial.run_gate(text, trial.in_order(rows), seconds, SEED, progress) as run:
        measured = [Row(group.group, figures(run, group)) for group in groups]
        others = int((~np.isin(run.sent.big_endian(36, 2), [group.port for group in groups])).sum())
    bars = [
        Bar(f"packets of {row.name} {what}", "count", row.figures[key], 0.0)
        for row in measured
        for key, what in (("late", "over the bound"), ("lost", "that were lost"))
    ]
    about = f"{NAMES[NAME]} ({others} frames beside them)"
    return Outcome(NAME, about, COLUMNS, tuple(measured), tuple(bars), "", {})


def planned(found: Plan) -> list[Planned]:
    """Return the groups of a plan."""
    groups: dict[str, Planned] = {}
    for flow, entry in zip(found.problem.flows, found.certificate["flows"], strict=True):
        port = found.problem.matches[flow.group]["outside_port"]
        bound = float(Fraction(entry["bound"]))
        group = groups.setdefault(flow.group, Planned(flow.group, port, [], bound))
        assert group.bound == bound
        (bucket,) = entry["contract"]
        group.buckets.append((int(bucket["rate"]), int(bucket["burst"]), int(entry["packet"])))
    return list(groups.values())


def conforming(group: Planned, seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Return the packets of a group, each member's in line with its bucket: all it allows, and pauses."""
    import numpy as np

    rows = []
    for member, (rate, burst, packet) in enumerate(group.buckets):
        each = 8 * packet / rate
        # All buckets are full at the start, and members send their bursts together then.
        now, level, last = 0.0, float(burst), 0.0
        while now < seconds:
            level = min(float(burst), level + (now - last) * rate / 8)
            last = now
            if level >= packet:
                level -= packet
                rows.append((now * 1e9, packet, SOURCES + member, group.port, 0))
            elif rng.random() < 0.05:
                now += rng.exponential(10 * each)
            else:
                # A nanosecond more than it needs, which rounding takes back.
                now += (packet - level) * 8 / rate + 1e-9
    found = np.array(sorted(rows))
    found[:, 4] = np.arange(len(found))
    return found


def figures(run: trial.Run, group: Planned) -> dict[str, float]:
    """Return what became of a group's packets."""
    import numpy as np

    mine, gone = (ring.big_endian(36, 2) == group.port for ring in (run.sent, run.left))
    numbers, out = run.sent.big_endian(42, 4)[mine], run.left.big_endian(42, 4)[gone]
    left = dict(zip(out.tolist(), run.left.time[gone].tolist(), strict=True))
    delays = np.array(
        [
            (left[number] - at) * 1e-9
            for number, at in zip(numbers.tolist(), run.sent.time[mine].tolist(), strict=True)
            if number in left
        ]
    )
    return {
        "packets": len(numbers),
        "lost": len(numbers) - len(delays),
        "late": int((delays > group.bound + trial.BOUNDS_MARGIN).sum()),
        "delay": float(delays.max()),
        "bound": group.bound,
    }
