"""A gate in the kernel beside random floods: every packet of a reserved call against its bound."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate import TidegateError
from tidegate_lab.gate_in_kernel.guest import GATE, JOB, REPORT
from tidegate_lab.measures import Bar, Column, Outcome, Row
from tidegate_lab.names import NAMES
from tidegate_lab.testbed.records import Ring
from tidegate_lab.uml import build, machine

if TYPE_CHECKING:
    import numpy as np

LINE = 10e6
"""Rate of the gate's line in bit/s, as its file states it."""
RESERVED = 1e6
"""Rate of the call's reservation in bit/s, as its file states it."""
CALL = (18e-3, 214, 5004)
"""The call: time between packets in s, their bytes, and their port."""
HOSTS = 64
LOAD = 2.0
"""Load of the floods, as a multiple of the line's rate."""
SIZES = (60, 1514)
BURST = 40.0
"""Mean number of frames that a host sends at once."""
RELOADS = 10_000
SEED = 7
CALLER, FLOODER = (10 << 24) + 1, (10 << 24) + (1 << 16)
FLOOD_PORT = 9
BOUND = re.compile(r"^call up: .* leaves at most ([\d.]+) ms after a line of its own", re.MULTILINE)
BOUNDS_MARGIN = 0.5e-6
"""Two steps of the kernel's clock, in s: one for each of the two times."""

COLUMNS = (
    Column("packets", "call's packets", "count"),
    Column("floods", "frames beside them", "count"),
    Column("lost", "lost", "count"),
    Column("late", "over the bound", "count"),
    Column("latest", "latest", "s"),
    Column("bound", "bound", "s"),
    Column("reloads", "reloads", "count"),
)


@dataclass(frozen=True)
class Trial:
    """One trial.

    Attributes:
        figures: Its figures, by the names of `COLUMNS`.
        failures: Reloads that failed, with their messages.
    """

    figures: dict[str, float]
    failures: list[str]


def promise(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment `promise`."""
    return _outcome("promise", carry_out(seconds, 0, SEED, progress))


def reloads(seconds: float, progress: Callable[[str], None]) -> Outcome:
    """Carry out the experiment `reloads`."""
    return _outcome("reloads", carry_out(seconds, RELOADS, SEED, progress))


def carry_out(
    seconds: float, reload_count: int, seed: int, progress: Callable[[str], None] | None = None
) -> Trial:
    """Let a gate carry a call beside random floods, and measure every packet of the call.

    `progress` gets a line for each tenth of the virtual time.

    Raises:
        TidegateError: The kernel is not built, or the trial failed.
    """
    import numpy as np

    text = files("tidegate_lab.gate_in_kernel").joinpath("promise.toml").read_text(encoding="utf-8")
    # Hosts come, go and change their shares; the call's reservation stays.
    others = [text.replace('"100kbit"', '"50kbit"'), text]
    with machine.workspace() as place:
        (place / GATE).write_text(text, encoding="utf-8")
        bound = _bound(place)
    rows = _packets(seconds, np.random.default_rng(seed))
    with run_gate(text, rows, seconds, seed, progress, reload_count, others) as run:
        figures = _figures(run.sent, run.left, bound)
    return Trial(figures | {"reloads": run.reloads}, run.failures)


@dataclass(frozen=True)
class Run:
    """The record of a gate's run.

    Attributes:
        sent: The frames that came to it.
        left: The frames that left it.
        reloads: Number of reloads.
        failures: Reloads that failed, with their messages.
    """

    sent: Ring
    left: Ring
    reloads: int
    failures: list[str]


@contextmanager
def run_gate(
    text: str,
    rows: np.ndarray,
    seconds: float,
    seed: int,
    progress: Callable[[str], None] | None,
    reload_count: int = 0,
    others: Sequence[str] = (),
) -> Iterator[Run]:
    """Let a gate with this file carry frames in the kernel; its record can be read until the context ends.

    Args:
        text: The gate file.
        rows: Frames in the order of their times: time in ns, length, source address, port and number.
        seconds: Virtual time.
        seed: Seed of the kernel.
        progress: Gets a line for each tenth of the virtual time.
        reload_count: Number of reloads.
        others: The files that take the gate's place in turn.

    Raises:
        TidegateError: The kernel is not built, or failed.
    """
    import numpy as np

    kernel = build.find()
    told = -1

    def tell(share: float) -> None:
        nonlocal told
        if progress is not None and int(10 * share) > told:
            told = int(10 * share)
            progress(f"{10 * told} % of {seconds:g} s of virtual time")

    with machine.workspace() as place:
        (place / GATE).write_text(text, encoding="utf-8")
        (place / "packets").write_bytes(np.ascontiguousarray(rows).tobytes())
        job = {
            "command": [sys.executable, "-m", "tidegate", "gate", "up", f"/run/results/{GATE}", "--json"],
            "duration": round(seconds * 1e9),
            "reloads": [round(seconds * 1e9 * (at + 0.5) / reload_count) for at in range(reload_count)],
            "files": list(others),
        }
        (place / JOB).write_text(json.dumps(job), encoding="utf-8")
        machine.run(kernel, "tidegate_lab.gate_in_kernel.guest", place, seed=seed, progress=tell)
        report = json.loads((place / REPORT).read_text(encoding="utf-8"))
        sent, left = (Ring(place / name, report["start"]) for name in ("sent", "left"))
        yield Run(sent, left, report["reloads"], report["failures"])


def _packets(seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Return all frames: time in ns, length, source address, port and number, in order of time."""
    import numpy as np

    every, length, port = CALL
    count = int(seconds / every)
    times = np.arange(count) * every + rng.uniform(0, every / 2, count)
    call = np.column_stack(
        (times * 1e9, np.full(count, length), np.full(count, CALLER), np.full(count, port), np.arange(count))
    )
    rows = np.concatenate((call, floods(seconds, rng)))
    return in_order(rows)


def in_order(rows: np.ndarray) -> np.ndarray:
    """Return frames in the order of their times, in whole numbers."""
    import numpy as np

    rows = rows.astype(np.int64)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def floods(seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Return random bursts of many hosts at `LOAD` times the line's rate."""
    import numpy as np

    bursts = int(seconds * LOAD * LINE / (8 * BURST * sum(SIZES) / 2))
    sizes = rng.geometric(1 / BURST, bursts)
    begin = np.repeat(rng.uniform(0, seconds, bursts), sizes)
    host = np.repeat(rng.integers(0, HOSTS, bursts), sizes)
    total = len(begin)
    return np.column_stack(
        (
            begin * 1e9,
            rng.integers(SIZES[0], SIZES[1] + 1, total),
            FLOODER + host,
            np.full(total, FLOOD_PORT),
            np.arange(total),
        )
    )


def _bound(place: Path) -> float:
    """Return the bound that the gate states for the call, in s.

    Raises:
        TidegateError: It states none.
    """
    words = [sys.executable, "-m", "tidegate", "gate", "check", str(place / GATE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = BOUND.search(done.stdout)
    if found is None:
        raise TidegateError(f"the gate states no bound for the call: {(done.stdout + done.stderr).strip()}")
    return float(found[1]) * 1e-3


def _figures(sent: Ring, left: Ring, bound: float) -> dict[str, float]:
    import numpy as np

    _, _, port = CALL
    mine, gone = (ring.big_endian(36, 2) == port for ring in (sent, left))
    numbers, out = sent.big_endian(42, 4)[mine], left.big_endian(42, 4)[gone]
    began, came = sent.time[mine], np.full(len(numbers), -1, dtype=np.int64)
    place = {int(number): at for at, number in enumerate(numbers)}
    came[[place[int(number)] for number in out]] = left.time[gone]
    # When a line of its own with the reserved rate would have sent each.
    line = np.zeros(len(numbers))
    end = 0.0
    for at, (when, length) in enumerate(zip(began.tolist(), sent.length[mine].tolist(), strict=True)):
        end = max(end, when) + length * 8e9 / RESERVED
        line[at] = end
    beyond = (came - line)[came >= 0] * 1e-9
    latest = {"latest": float(beyond.max())} if len(beyond) else {}
    return {
        "packets": len(numbers),
        "floods": int((~mine).sum()),
        "lost": int((came < 0).sum()),
        "late": int((beyond > bound + BOUNDS_MARGIN).sum()),
        "bound": bound,
        **latest,
    }


def _outcome(name: str, trial: Trial) -> Outcome:
    bars = [
        Bar("packets of the call over its bound", "count", trial.figures["late"], 0.0),
        Bar("packets of the call that were lost", "count", trial.figures["lost"], 0.0),
        Bar("reloads that failed", "count", float(len(trial.failures)), 0.0),
    ]
    return Outcome(name, NAMES[name], COLUMNS, (Row("gate", trial.figures),), tuple(bars), "", {})
