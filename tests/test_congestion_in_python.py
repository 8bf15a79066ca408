"""Congestion controls in Python, beside the built-in ones."""

# A control need not use all that it is told.
# ruff: noqa: ARG002

from __future__ import annotations

import itertools
import json
import re
import shlex
import subprocess
import sys
from math import floor
from typing import ClassVar

import pytest

import tidegate
from test_policies_in_python import PAGE, blocks
from tidegate.congestion import Acknowledgement, CongestionControl, Windows
from tidegate.determinism import check_deterministic
from tidegate.policy import TICKS

for block in blocks("python"):
    if "CongestionControl" in block:
        exec(compile(block, "policies-in-python.md", "exec"))  # defines the page's control

ROOT = PAGE.parents[1]

CONNECTION = """
version = 1
duration = "8s"
node = [{{ name = "h1", kind = "host" }}, {{ name = "s", kind = "switch" }}, {{ name = "h2", kind = "host" }}]
link = [
    {{ from = "h1", to = "s", rate = "50mbit", delay = "1ms" }},
    {{ from = "s", to = "h2", rate = "6mbit", delay = "10ms" }},
]
port = "{port}"
[[flow]]
name = "noise"
from = "h1"
to = "h2"
size = "500B"
source = {{ kind = "poisson", rate = "1mbit" }}
[[connection]]
name = "bulk"
count = 3
start = "0.5s"
from = "h1"
to = "h2"
size = "1500B"
transport = {{ kind = "tcp", stack = "rfc", congestion = {control}, {more} }}
"""


def network(control: str, more: str = 'recovery = "sack"', port: str = "codel") -> str:
    """Return three connections with a congestion control beside a flow of datagrams."""
    control = control if control.startswith("{") else f'"{control}"'
    return CONNECTION.format(control=control, more=more, port=port)


class Reno(CongestionControl):
    """Reno (RFC 5681, section 3.1)."""

    name = "reno-in-python"

    def grow(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Equations 2 and 3."""
        if windows.cwnd < windows.ssthresh:
            return windows.cwnd + min(report.new, windows.mss)
        return windows.cwnd + max(windows.mss * windows.mss // windows.cwnd, 1)

    def decrease(self, now: int, windows: Windows, flight: int) -> int:
        """Equation 4."""
        return flight // 2


class AllDefaults(CongestionControl):
    """A control without methods, which is Reno."""

    name = "defaults-in-python"


class Dctcp(CongestionControl):
    """DCTCP (RFC 8257, section 3.3), with alpha in units of 1/1024 as in Linux."""

    name = "dctcp-in-python"
    responds = "share"

    def __init__(self) -> None:
        self.alpha, self.end, self.delivered, self.marks = 1024, 0, 0, 0

    def acknowledged(self, now: int, report: Acknowledgement) -> None:
        """Average the share of marks over windows of data."""
        self.delivered += report.delivered
        self.marks += report.marked
        if report.acknowledged < self.end:
            return
        self.alpha -= min(self.alpha, self.alpha >> 4 or self.alpha)
        if self.marks:
            self.alpha = min(1024, self.alpha + (self.marks << 6) // max(self.delivered, 1))
        self.end, self.delivered, self.marks = report.sent, 0, 0

    def decrease_marked(self, now: int, windows: Windows, flight: int) -> int:
        """Take half of alpha of a window in whole segments."""
        segments = windows.cwnd // windows.mss
        return (segments - segments * self.alpha // 2048) * windows.mss


class Prague(CongestionControl):
    """Prague (draft-briscoe-iccrg-prague-congestion-control-04), as the built-in one states it."""

    name = "prague-in-python"
    responds = "each"
    virtual: ClassVar = TICKS // 40

    def __init__(self) -> None:
        self.alpha, self.has_marks, self.srtt, self.carry = 1.0, False, None, 0.0
        self.begun = self.end = self.delivered = self.marks = 0
        self.reduced = (None, 0)

    def measured(self, now: int, round_trip: int) -> None:
        """Smooth round trips, in seconds."""
        seconds = round_trip / TICKS
        self.srtt = seconds if self.srtt is None else self.srtt + (seconds - self.srtt) / 8.0

    def acknowledged(self, now: int, report: Acknowledgement) -> None:
        """Average the share of marks over intervals of a round trip or of 25 ms."""
        self.delivered += report.delivered
        self.marks += report.marked
        self.has_marks |= report.marked > 0
        if report.acknowledged < self.end or now - self.begun < self.virtual:
            return
        if self.has_marks and self.delivered:
            self.alpha += (min(self.marks / self.delivered, 1.0) - self.alpha) * (1 / 16)
        self.begun, self.end, self.delivered, self.marks = now, report.sent, 0, 0

    def avoid(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Grow by what was not marked, by the square of the round trip of 25 ms at most."""
        unmarked = report.new * (max(report.delivered - report.marked, 0) / max(report.delivered, 1))
        ratio = 1.0 if self.srtt is None else min(self.srtt / 0.025, 1.0)
        self.carry += unmarked * windows.mss / windows.cwnd * ratio * ratio
        whole = int(self.carry)
        self.carry -= whole
        return windows.cwnd + whole

    def marked(self, now: int, windows: Windows, report: Acknowledgement) -> int | None:
        """Reduce the window by half of alpha, once in an interval."""
        at, end = self.reduced
        if (end and report.acknowledged <= end) or (at is not None and now - at < self.virtual):
            return None
        self.reduced = (now, report.sent)
        return floor(windows.cwnd * (1.0 - self.alpha / 2.0) + 0.5)

    def interval(self, windows: Windows, size: int) -> int | None:
        """Send a window in a round trip, or in half of one in slow start."""
        if self.srtt is None:
            return None
        gain = 2.0 if windows.is_slow_start else 1.0
        return floor(self.srtt * size / (gain * windows.cwnd) * TICKS + 0.5)


RECOVERIES = ['recovery = "sack"', 'recovery = "newreno"', 'recovery = "reno-1990"', 'recovery = "rack"']
SEEDS = (1, 2, 3)


def fingerprints(scenario: str) -> list[str]:
    """Return the fingerprints of runs with several seeds."""
    return [tidegate.simulate(scenario, seed=seed).fingerprints[0] for seed in SEEDS]


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize(
    ("mine", "built_in"),
    [("reno-in-python", "reno"), ("defaults-in-python", "reno"), ("cubic-in-python", "cubic")],
)
def test_a_control_in_python_has_the_outcome_of_the_built_in_one(
    mine: str, built_in: str, recovery: str
) -> None:
    """Reno and CUBIC, with every loss recovery, with and without marks."""
    for ecn in ("off", "on"):
        more = f'{recovery}, ecn = "{ecn}"'
        assert fingerprints(network(mine, more)) == fingerprints(network(built_in, more))


@pytest.mark.parametrize("more", ['recovery = "sack"', 'recovery = "rack", reduction = "prr"'])
def test_dctcp_in_python_has_the_outcome_of_the_built_in_one(more: str) -> None:
    """The receiver reports every mark, and retransmissions are ECN-capable."""
    step = "red(min_th=15kB, max_th=15kB, signal=mark, weight=1)"
    mine, built_in = (network(name, f'{more}, ecn = "on"', step) for name in ("dctcp-in-python", "dctcp"))
    assert fingerprints(mine) == fingerprints(built_in)


def test_prague_in_python_has_the_outcome_of_the_built_in_one() -> None:
    """Accurate feedback, ECT(1), and pacing."""
    more = 'recovery = "rack", ecn = "on"'
    mine, built_in = (network(name, more, "dualpi2") for name in ("prague-in-python", "prague"))
    assert fingerprints(mine) == fingerprints(built_in)


def test_controls_differ() -> None:
    """The comparisons above can fail: no two of the controls have one outcome."""
    more = 'recovery = "rack", ecn = "on"'
    names = ("reno", "cubic", "dctcp", "prague", "bbr")
    found = [fingerprints(network(name, more, "dualpi2")) for name in names]
    assert all(one != other for one, other in itertools.combinations(found, 2))


class Wrong(CongestionControl):
    """Fails in the way that its parameter names."""

    name = "wrong-control"
    parameters: ClassVar = {"how": "raises", "left": 0.5}

    def __init__(self, how: str, left: float) -> None:
        if left > 1:
            raise ValueError("`left` is at most 1")

    def avoid(self, now: int, windows: Windows, report: Acknowledgement) -> int:
        """Fail."""
        answers = {"none": None, "word": "x", "negative": -1, "zero": 0, "huge": 2**64 - 1, "beyond": 2**64}
        if self.how == "raises":
            return 1 // 0
        return answers[self.how]

    def interval(self, windows: Windows, size: int) -> int | None:
        """Ask for a pause that never ends, once."""
        return 2**63 if self.how == "huge" else None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", r"congestion control `wrong-control`, `avoid`, .* s after the start: ZeroDivisionError"),
        ("none", "it returned None, where a window in bytes is expected"),
        ("word", "it returned 'x', which is not a whole number of 0 or more"),
        ("negative", "it returned -1, which is not a whole number of 0 or more"),
        ("beyond", "it returned 18446744073709551616, which is not a whole number of 0 or more"),
    ],
)
def test_a_control_that_fails_ends_the_run(how: str, message: str) -> None:
    """The message names the control, the method and the time."""
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.simulate(network(f'{{ kind = "wrong-control", how = "{how}" }}'))


@pytest.mark.parametrize("how", ["zero", "huge"])
def test_a_window_is_at_least_a_segment_and_at_most_the_receivers(how: str) -> None:
    """Windows beyond reason neither stop a connection nor overflow."""
    control = f'{{ kind = "wrong-control", how = "{how}" }}'
    results = tidegate.simulate(network(control, 'recovery = "sack", receiver_window = "64kB"'))
    assert results.groups["bulk"].received.mean > 100
    tidegate.simulate(network(control, 'recovery = "rack"'))


@pytest.mark.parametrize(
    ("control", "more", "message"),
    [
        ('{ kind = "wrong-control", left = 2.0 }', "", "ValueError: `left` is at most 1"),
        ('{ kind = "wrong-control", lef = 0.2 }', "", "no key `lef`"),
        ('{ kind = "wrong-control", left = "x" }', "", "`left`"),
        ("wrong-control", 'growth = "segments"', "counts in bytes"),
        ("prague-in-python", 'recovery = "sack"', 'needs `recovery = "rack"`'),
        ("codel", "", "`codel` is a dropper"),
        ("cubix", "", "there is no congestion control `cubix`"),
    ],
)
def test_a_mistake_is_found_when_the_scenario_is_read(control: str, more: str, message: str) -> None:
    """Each has one message."""
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.simulate(network(control, more or 'recovery = "sack"'))


def test_a_control_takes_part_in_sets_and_sweeps(tmp_path) -> None:
    """By `--set` and in the processes of a sweep, beside built-in ones."""
    file = tmp_path / "half.py"
    file.write_text(
        "import tidegate\n"
        "class Half(tidegate.CongestionControl):\n"
        '    name = "left-in-file"\n'
        '    parameters = {"left": 0.5}\n'
        "    def decrease(self, now, windows, flight):\n"
        "        return int(self.left * flight)\n"
    )
    tidegate.load_policies(file)
    base = network("reno")
    key = "connection.bulk.transport.congestion"
    mine = tidegate.simulate(base, sets=[(key, "left-in-file")])
    assert mine.fingerprints == tidegate.simulate(base).fingerprints
    table = tidegate.sweep(base, {key: ["reno", "left-in-file", "cubic"]}, replications=2, jobs=2)
    print(table.column_names)
    rows = [row for row in table.to_pylist() if row["group"] == "bulk"]
    found = {
        name: [row["throughput"] for row in rows if row[key] == name]
        for name in ("reno", "left-in-file", "cubic")
    }
    assert found["reno"] == found["left-in-file"] != found["cubic"]


def test_compare_has_a_column_for_a_control() -> None:
    """The command of the page, and what the example says of its outcome."""
    (command,) = re.findall(r"^\$ (tidegate compare .*tcp\.toml.*)$", PAGE.read_text(), re.MULTILINE)
    arguments = [*shlex.split(command)[1:], "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows = {(row["group"], row["metric"]): row["values"] for row in json.loads(done.stdout)["rows"]}
    lost, throughput = rows["there", "lost"], rows["there", "throughput"]
    assert lost["scalable"]["mean"] > 2 * lost["reno"]["mean"]
    assert throughput["scalable"]["mean"] < throughput["reno"]["mean"]


def test_a_control_that_is_not_deterministic_is_found() -> None:
    """Two runs, one fingerprint."""

    class Random(CongestionControl):
        """Grows by chance."""

        name = "random-control"
        count: ClassVar = itertools.count()

        def avoid(self, now: int, windows: Windows, report: Acknowledgement) -> int:
            return windows.cwnd + next(self.count) % 701

    with pytest.raises(tidegate.TidegateError, match="differ"):
        check_deterministic(network("random-control"))


def test_single_round_trips_are_shown_with_recovery_by_time() -> None:
    """The smoothed one is reported with any recovery."""
    seen: dict[str, list[int]] = {}

    class Listening(CongestionControl):
        """Reno that keeps the round trips that it is told."""

        name = "listening-control"

        def measured(self, now: int, round_trip: int) -> None:
            seen.setdefault("single", []).append(round_trip)

        def acknowledged(self, now: int, report: Acknowledgement) -> None:
            if report.round_trip is not None:
                seen.setdefault("smoothed", []).append(report.round_trip)

    found = {}
    for recovery in ("sack", "rack"):
        seen.clear()
        tidegate.simulate(network("listening-control", f'recovery = "{recovery}"'))
        found[recovery] = set(seen)
        # Propagation alone is 22 ms there and back.
        assert all(time >= 0.022 * TICKS for times in seen.values() for time in times)
    assert found == {"sack": {"smoothed"}, "rack": {"single", "smoothed"}}


class Kept(Cubic):  # type: ignore[name-defined]  # noqa: F821 (of the page)
    """CUBIC that keeps its state when a reduction is undone."""

    name = "kept-in-python"

    def __deepcopy__(self, memo: object) -> Kept:
        return self


def test_a_reduction_is_undone_with_the_state() -> None:
    """A copy of the object comes back where packets were late and not lost (RFC 9438, section 4.9.2)."""
    late = CONNECTION.replace('delay = "10ms"', 'delay = "10ms", reorder = 0.01, reorder_delay = "60ms"')
    more = 'recovery = "rack"'
    found = {
        name: fingerprints(late.format(control=f'"{name}"', more=more, port="fifo"))
        for name in ("reno-in-python", "reno", "cubic-in-python", "cubic", "kept-in-python")
    }
    assert found["reno-in-python"] == found["reno"]
    assert found["cubic-in-python"] == found["cubic"]
    assert found["kept-in-python"] != found["cubic"]
