"""Detectors in Python: the history of drops beside the built-in one, and what a detector may do."""

# A policy need not use all that it is told.
# ruff: noqa: ARG001, ARG002

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.dataset
import pytest

import tidegate
from tidegate.detector import Detector, Drop, Packet
from tidegate.determinism import check_deterministic

EXAMPLE = Path(__file__).parents[1] / "examples" / "drop_history.py"
tidegate.load_policies(EXAMPLE)

MINE = (
    '{{ kind = "drop-history-in-python", window = 0.3, interval = 0.02,'
    "release_after = {after}.0, police = {police} }}"
)
BUILT_IN = (
    '{{ drops = "all", window = "300ms", interval = "20ms", '
    'release_after = "{after}s", action = "{action}" }}'
)


def mixed(detector: str, *, seed: int = 1, meter: str = "") -> str:
    """Return a scenario in which two flows do not respond, of which one stops, and others do."""
    return f"""
version = 1
duration = "30s"
seed = {seed}
topology = {{ kind = "chain", switches = 2, rate = "1mbit", delay = "10ms" }}
[port]
scheduler = "fifo"
dropper = {{ kind = "drop-tail", limit = "12p" }}
detector = {detector}
{meter}
[[flow]]
name = "bulk"
from = "s1"
to = "s2"
size = "500B"
source = {{ kind = "poisson", rate = "700kbit" }}
[[flow]]
name = "short"
from = "s1"
to = "s2"
size = "500B"
reserve = "100kbit"
workahead = "2kB"
start = "3s"
stop = "12s"
source = {{ kind = "poisson", rate = "500kbit" }}
[[connection]]
name = "files"
count = 3
from = "s1"
to = "s2"
size = "1000B"
transport = {{ kind = "tcp", stack = "rfc" }}
"""


@pytest.mark.parametrize("police", [0, 1])
@pytest.mark.parametrize("meter", ["", 'meter = "srtcm"'])
def test_the_history_of_drops_names_the_flows_that_the_built_in_one_does(police: int, meter: str) -> None:
    named, released = 0, 0
    for seed in range(1, 6):
        mine, built_in = (
            tidegate.simulate(mixed(detector, seed=seed, meter=meter))
            for detector in (
                MINE.format(after=2, police=police),
                BUILT_IN.format(after=2, action=("report", "police")[police]),
            )
        )
        assert mine.fingerprints == built_in.fingerprints
        assert mine["non_responsive"].to_pylist() == built_in["non_responsive"].to_pylist()
        assert mine["drops"].to_pylist() == built_in["drops"].to_pylist()
        found = mine["non_responsive"].to_pylist()
        assert {"bulk", "short"} >= {row["flow"] for row in found}
        named += len(found)
        released += sum(row["released"] is not None for row in found)
    assert named >= (5 if police else 10)
    assert released >= (1 if police else 5)


def overloaded(detector: str) -> str:
    """Return two flows that fill a queue of one packet: at each arrival but the first one, one is lost."""
    flow = 'from = "s1"\nto = "s2"\n'
    return f"""
version = 1
duration = "10s"
topology = {{ kind = "chain", switches = 2, rate = "80kbit" }}
port = {{ scheduler = "fifo", dropper = {{ kind = "drop-tail", limit = "1p" }}, detector = {detector} }}
[[flow]]
name = "a"
{flow}source = {{ kind = "trace", file = "a.txt" }}
[[flow]]
name = "b"
start = "500ms"
{flow}source = {{ kind = "trace", file = "b.txt" }}
"""


class Strikes(Detector):
    """Names a flow at its third lost packet, and releases it after so many of the others' packets."""

    name = "strikes"
    parameters: ClassVar = {"most": 3, "others": 4, "how": ""}

    def __init__(self, most: int, others: int, how: str) -> None:
        self.lost: dict[int, int] = {}
        self.since: dict[int, int] = {}

    def dropped(self, now: int, packet: Packet) -> None:
        """Count it."""
        self.lost[packet.flow] = self.lost.get(packet.flow, 0) + 1
        if self.lost[packet.flow] == self.most:
            self.report(packet.flow)
            self.report(packet.flow)
            self.since[packet.flow] = 0

    def arrived(self, now: int, packet: Packet) -> Any:
        """Release the flow, or fail."""
        match self.how:
            case "other":
                self.report(1 - packet.flow)
            case "release":
                self.release(packet.flow)
            case "reason":
                return Drop("early-drop")
            case "raise":
                return {}["x"]
        for flow in sorted(self.named - {packet.flow}):
            self.since[flow] += 1
            if self.since[flow] == self.others:
                self.release(flow)
                del self.lost[flow]
        return None


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A packet takes 100 ms. Those of `a` come at 0, 10, …, 40 ms, and one a second later; those of `b`
    # 100 ms apart from 500 ms on. Of `a` the first one is sent, and the others are lost.
    (tmp_path / "a.txt").write_text("".join(f"{time} 1000\n" for time in (0, 0.01, 0.02, 0.03, 0.04, 2)))
    (tmp_path / "b.txt").write_text("".join(f"{time:.2f} 1000\n" for time in (0.5, 0.7, 0.9, 1.1, 1.3, 1.5)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flow_is_named_at_its_third_drop_and_released_at_the_fourth_packet_of_others(two: Path) -> None:
    results = tidegate.simulate(overloaded('"strikes"'))
    (row,) = results["non_responsive"].to_pylist()
    assert (row["flow"], row["link"]) == ("a", "s1->s2")
    # Arrivals at 10, 20 and 30 ms are lost; the packets of `b` come from 0.5 s on, 0.2 s apart.
    assert row["named"] == pytest.approx(0.03)
    assert row["released"] == pytest.approx(1.1)
    assert results.flows["dropped_packets"].to_pylist() == [4, 0]


@pytest.mark.parametrize(
    ("how", "method", "message"),
    [
        ("other", "arrived", "it reports flow 1 at a packet of flow 0"),
        ("release", "arrived", "it releases flow 0, which is not named"),
        ("reason", "arrived", "`early-drop` is no reason of a detector: it is non-responsive"),
        ("raise", "arrived", r"KeyError: 'x' \(test_detectors_in_python.py, line \d+\)"),
    ],
)
def test_a_failure_ends_the_run_with_its_place(two: Path, how: str, method: str, message: str) -> None:
    place = f"detector `strikes`, `{method}`, at a packet of 1000 bytes of the port's flow 0"
    with pytest.raises(tidegate.TidegateError, match=rf"^{place}, .*{message}"):
        tidegate.simulate(overloaded(f'{{ kind = "strikes", how = "{how}" }}'))


def test_the_detector_of_the_page_names_a_flow_in_the_second_after_its_losses(two: Path) -> None:
    page = Path(__file__).parents[1] / "docs" / "policies-in-python.md"
    (block,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        if "tidegate.Detector)" in block
    )
    exec(compile(block, page.name, "exec"), {"tidegate": tidegate})
    # Flow `a` loses packets in the first three seconds, and has none afterwards; `b` sends on. The clock
    # of a run starts at 2^60 ticks: its seconds begin at 0.954 s, 1.954 s and so on.
    Path("a.txt").write_text(
        "".join(f"{time} 1000\n" for time in (0, 0.01, 0.02, 1.22, 1.23, 1.24, 2.22, 2.23))
    )
    Path("b.txt").write_text("".join(f"{time / 5:.1f} 1000\n" for time in range(30)))
    (row,) = tidegate.simulate(overloaded('"lossy"'))["non_responsive"].to_pylist()
    assert (row["flow"], row["named"], row["released"]) == ("a", pytest.approx(1.23), pytest.approx(4.1))


def test_it_learns_of_flows_and_their_contracts_and_need_not_see_arrivals() -> None:
    class Only(Detector):
        name = "drops-only"
        seen: ClassVar[list[tuple[int, float | None]]] = []

        def opened(self, flow: int, contract: Any) -> None:
            self.seen.append((flow, contract.reserve))

        def dropped(self, now: int, packet: Packet) -> None:
            self.report(packet.flow)

    results = tidegate.simulate(mixed('"drops-only"'))
    assert {(0, None), (1, 100_000.0)} <= set(Only.seen)
    assert {row["flow"] for row in results["non_responsive"].to_pylist()} >= {"bulk", "short"}
    assert all(row["released"] is None for row in results["non_responsive"].to_pylist())


def test_a_detector_that_guesses_is_found_out() -> None:
    class Guess(Detector):
        name = "guess-a-flow"

        def dropped(self, now: int, packet: Packet) -> None:
            if random.random() < 0.1:
                self.report(packet.flow)

    check_deterministic(mixed(MINE.format(after=2, police=0)))
    with pytest.raises(tidegate.TidegateError, match="differ in the table `non_responsive`"):
        check_deterministic(mixed('"guess-a-flow"'))


def test_a_name_is_one_detectors_and_a_policy_of_another_role_is_refused() -> None:
    with pytest.raises(tidegate.TidegateError, match="there is a built-in policy `drop-history`"):
        type("Mine", (Detector,), {"name": "drop-history"})
    with pytest.raises(tidegate.TidegateError, match="a parameter `release`, which is a method of its class"):
        type("Mine", (Detector,), {"name": "releasing", "parameters": {"release": 1}})
    with pytest.raises(tidegate.TidegateError, match="there is no dropper `strikes`"):
        tidegate.simulate(mixed("{}").replace("drop-tail", "strikes"))


def test_the_command_line_and_processes_of_a_sweep_take_it(tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(mixed("{ }"))

    def tidegate_says(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    detector = "port.detector=" + MINE.format(after=2, police=0)
    port = ["--python", str(EXAMPLE), "--set", detector]
    run = json.loads(tidegate_says("run", "mixed.toml", *port, "--json"))
    assert {row["flow"] for row in run["non_responsive"]} == {"bulk", "short"}
    points = ["--set", detector, "--set", "port.detector.police=0,1", "--replications", "2"]
    tidegate_says("sweep", "mixed.toml", "--python", str(EXAMPLE), *points, "--jobs", "2", "--out", "swept")
    rows = pyarrow.dataset.dataset(tmp_path / "swept" / "rows").to_table().to_pylist()
    assert run["fingerprints"][0] in {
        row["fingerprint"] for row in rows if str(row["port.detector.police"]) == "0"
    }
    assert len({row["fingerprint"] for row in rows}) == 4
