"""Stages in Python: counts that are known beforehand, and runs that a stage does not change."""

# A policy need not use all that it is told.
# ruff: noqa: ARG002

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
from conftest import nine_flows
from tidegate.backends import logged_run
from tidegate.determinism import check_deterministic
from tidegate.source import resolve
from tidegate.stage import TICKS, Passage, PassingPacket, Stage

EXAMPLE = Path(__file__).parents[1] / "examples" / "every_tenth.py"
tidegate.load_policies(EXAMPLE)


class Witness(Stage):
    """Writes down all that it sees, and changes nothing."""

    name = "witness"
    seen: ClassVar[list[tuple[Any, ...]]] = []

    def note(self, what: str, now: int, packet: PassingPacket) -> None:
        """Write a call down."""
        self.seen.append((what, packet.flow, packet.number, packet.came, packet.goes, packet.length, now))

    def entered(self, now: int, packet: PassingPacket) -> None:
        """Write it down."""
        self.note("entered", now, packet)

    def started(self, now: int, packet: PassingPacket) -> None:
        """Write it down."""
        self.note("started", now, packet)

    def left(self, now: int, packet: PassingPacket) -> None:
        """Write it down."""
        self.note("left", now, packet)

    def dropped(self, now: int, packet: PassingPacket) -> None:
        """Write it down."""
        self.note("dropped", now, packet)


class Clerk(Stage):
    """Wakes every so often, and shows how often it has."""

    name = "clerk"
    parameters: ClassVar = {"every": 0.1, "how": ""}
    every: float
    how: str

    def __init__(self, every: float, how: str) -> None:
        self.times: list[int] = []
        self.bits = 0

    def entered(self, now: int, packet: PassingPacket) -> Any:
        """Fail as the parameter says."""
        self.bits += 8 * packet.length
        match self.how:
            case "raise":
                raise ValueError("no more")
            case "word":
                return "drop"
            case "dscp":
                packet.dscp = 64
            case "ecn":
                packet.ecn = -1
        return None

    def woken(self, now: int) -> Any:
        """Count the calls."""
        self.times.append(now)
        return {"zero": 0, "real": 0.5}.get(self.how, round(self.every * TICKS))

    def gauges(self) -> Any:
        """Return how often it was woken, and the bits so far."""
        return 5 if self.how == "gauges" else {"calls": float(len(self.times)), "bits": self.bits}


def even(stage: str, *, keys: str = "", rate: str = "80kbit") -> str:
    """Return a scenario with 100 packets of 1000 bytes over two links, and a stage beside s2."""
    return f"""
version = 1
duration = "10s"
topology = {{ kind = "chain", switches = 3, rate = "1mbit" }}
port = "fifo + drop-tail(limit=10p)"
[[stage]]
name = "mine"
node = "s2"
policy = {stage}
[[flow]]
name = "even"
from = "s1"
to = "s3"
size = "1000B"
source = {{ kind = "cbr", rate = "{rate}" }}
{keys}
"""


@pytest.mark.parametrize("node", ["s1", "s2", "s3"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_stage_that_only_looks_changes_nothing(node: str, seed: int) -> None:
    text = nine_flows('{ scheduler = "drr", dropper = "red" }', seed=seed, pool="20p")
    stage = f'[[stage]]\nname = "mine"\nnode = "{node}"\npolicy = "witness"\n[[flow]]'
    Witness.seen.clear()
    assert (
        tidegate.simulate(text.replace("[[flow]]", stage, 1)).fingerprints
        == tidegate.simulate(text).fingerprints
    )
    assert len(Witness.seen) > 500
    connection = '[[connection]]\nname = "c"\nfrom = "s1"\nto = "s3"\nsize = "500B"\ntransport = "tcp"\n'
    assert (
        tidegate.simulate(text.replace("[[flow]]", stage, 1) + connection).fingerprints
        == tidegate.simulate(text + connection).fingerprints
    )


def test_a_stage_sees_what_the_log_of_packets_has() -> None:
    Witness.seen.clear()
    text = nine_flows('{ scheduler = "fifo" }', pool="6p").replace(
        "[[flow]]", '[[stage]]\nname = "mine"\nnode = "s2"\npolicy = "witness"\n[[flow]]', 1
    )
    loaded = resolve(text).scenario
    log, tables = logged_run(loaded, 1)
    flows = tables["flows"]["flow"].to_pylist()
    link_2 = tables["links"]["link"].to_pylist().index("s2->s3")
    start = 2**60
    names = {"arrived": "entered", "started": "started", "departed": "left", "dropped": "dropped"}
    logged = sorted(
        (names[log.names[event]], flows[flow], number, time)
        for time, link, flow, number, event in zip(
            log.time, log.link, log.flow, log.sequence, log.event, strict=True
        )
        if link == link_2 and log.names[event] in names
    )
    seen = sorted(
        (what, flow, number, (now - start) // 100)
        for what, flow, number, _, goes, _, now in Witness.seen
        if goes == "s2->s3"
    )
    assert seen == logged
    assert {what for what, *_ in seen} == {"entered", "started", "left", "dropped"}
    # Packets that end at s2 have entered it, and go no further.
    ended = [one for one in Witness.seen if one[4] is None]
    assert ended
    assert {(what, came) for what, _, _, came, *_ in ended} == {("entered", "s1->s2")}
    # Datagrams begin at s2.
    assert {came for what, flow, _, came, *_ in Witness.seen if what == "entered" and flow[0] == "d"} == {
        None
    }


@pytest.mark.parametrize("nth", [10, 7])
@pytest.mark.parametrize("passage", ["drop", "absorb"])
def test_every_tenth_packet_is_lost(nth: int, passage: str) -> None:
    results = tidegate.simulate(even(f'{{ kind = "every-tenth", nth = {nth}, passage = "{passage}" }}'))
    (row,) = results.flows.to_pylist()
    lost = row["sent_packets"] // nth
    assert row["sent_packets"] == 100
    assert row["received_packets"] in (100 - lost, 99 - lost)  # the last packet may be on its way
    assert row["dropped_packets"] == (lost if passage == "drop" else 0)
    dropped = results["drops"].to_pylist()
    assert [(one["link"], one["dropped_packets"]) for one in dropped] == (
        [("s1->s2", lost)] if passage == "drop" else []
    )


def test_it_marks_packets_for_the_stages_and_the_hosts_behind_it() -> None:
    class Marker(Stage):
        name = "marker-of-dscp"

        def entered(self, now: int, packet: PassingPacket) -> None:
            packet.dscp, packet.ecn = 46, 3
            assert (packet.dscp, packet.ecn, packet.colour) == (46, 3, "green")

    class Reader(Stage):
        name = "reader-of-dscp"
        seen: ClassVar[set[tuple[str | None, int, int]]] = set()

        def entered(self, now: int, packet: PassingPacket) -> None:
            self.seen.add((packet.goes, packet.dscp, packet.ecn))

    reader = '[[stage]]\nname = "{0}"\nnode = "{0}"\npolicy = "reader-of-dscp"\n'
    text = even('"marker-of-dscp"').replace(
        "[[flow]]", reader.format("s1") + reader.format("s3") + "[[flow]]"
    )
    tidegate.simulate(text)
    assert Reader.seen == {("s1->s2", 0, 0), (None, 46, 3)}


def test_congestion_that_a_stage_marks_reaches_the_sender() -> None:
    class Congested(Stage):
        name = "congested-now-and-then"

        def __init__(self) -> None:
            self.count = 0

        def entered(self, now: int, packet: PassingPacket) -> None:
            self.count += packet.goes == "s2->s3"
            if packet.goes == "s2->s3" and self.count % 50 == 0:
                packet.ecn = 3

    def received(stage: str) -> int:
        text = even(stage).replace("switches = 3", 'switches = 3, delay = "100ms"')
        connection = """
[[connection]]
name = "c"
from = "s1"
to = "s3"
size = "1000B"
transport = { kind = "tcp", stack = "rfc", ecn = "on" }
"""
        results = tidegate.simulate(text[: text.index("[[flow]]")].replace("10p", "1000p") + connection)
        assert (results.flows["marked_packets"][0].as_py() > 5) == ("congested" in stage)
        return int(results.flows["received_packets"][0].as_py())

    assert received('"congested-now-and-then"') < received('"witness"')


def test_it_is_woken_and_its_gauges_are_series() -> None:
    results = tidegate.simulate(
        even('{ kind = "clerk", every = 0.5 }').replace("version = 1", 'version = 1\nsample = "1s"'),
        series=True,
    )
    series = results["series"].to_pylist()
    calls = {row["time"]: row["value"] for row in series if row["metric"] == "calls"}
    # It is woken at 0, 0.5, 1 s and so on.
    for time, value in calls.items():
        assert value in (2 * round(time), 2 * round(time) + 1)
    assert len(calls) >= 10
    bits = [row["value"] for row in series if row["metric"] == "bits"]
    assert bits == sorted(bits)
    assert bits[-1] == pytest.approx(800_000, abs=24_000)


def test_random_numbers_follow_from_the_seed_and_the_name() -> None:
    class Lossy(Stage):
        name = "lossy-stage"
        first: ClassVar[list[float]] = []

        def entered(self, now: int, packet: PassingPacket) -> Passage | None:
            drawn = self.rng.random()
            if packet.number == 0:
                self.first.append(drawn)
            return Passage.DROP if drawn < 0.1 else None

    text = even('"lossy-stage"')
    for one in (
        text,
        text,
        text.replace('"mine"', '"other"'),
        text.replace("version = 1", "version = 1\nseed = 2"),
    ):
        tidegate.simulate(one)
    assert Lossy.first[0] == Lossy.first[1]
    assert len(set(Lossy.first)) == 3
    check_deterministic(text)

    class Wild(Stage):
        name = "wild-stage"

        def entered(self, now: int, packet: PassingPacket) -> Passage | None:
            return Passage.DROP if random.random() < 0.1 else None

    with pytest.raises(tidegate.TidegateError, match="two runs of seed 1 differ from event"):
        check_deterministic(even('"wild-stage"'))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "raise",
            r"`entered`, at packet 0 of flow `even`, .*ValueError: no more \(test_stages_in_python.py, line",
        ),
        (
            "word",
            "`entered`, at packet 0 of flow `even`, .* it returned 'drop', which is no passage: None",
        ),
        ("dscp", "`entered`, .*64 is no DSCP: a whole number from 0 to 63"),
        ("ecn", "`entered`, .*-1 is no ECN codepoint: a whole number from 0 to 3"),
        ("zero", "`woken`, 0 s after the start: it returned 0, which is no time to the next call"),
        ("real", "`woken`, 0 s after the start: it returned 0.5, which is no time to the next call"),
        ("gauges", "`gauges`: .*"),
    ],
)
def test_a_failure_ends_the_run_with_its_place(how: str, message: str) -> None:
    with pytest.raises(tidegate.TidegateError, match=f"^stage `clerk` as `mine`, {message}"):
        tidegate.simulate(even(f'{{ kind = "clerk", how = "{how}" }}'), series=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"s2"\npolicy', '"s9"\npolicy', "scenario:8.*there is no node `s9`"),
        ("nth = 3", "nht = 3", "scenario:9.*did you mean `nth`"),
        (
            "every-tenth",
            "every-tent",
            "scenario:9.*there is no stage `every-tent`.*did you mean `every-tenth`",
        ),
        (
            "[[flow]]",
            '[[stage]]\nname = "mine"\nnode = "s1"\npolicy = "witness"\n[[flow]]',
            "already a stage `mine`",
        ),
        ('"fifo + drop-tail(limit=10p)"', '"witness"', "`witness` is a stage: name it as the policy of a "),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, message: str) -> None:
    text = even('{ kind = "every-tenth", nth = 3 }')
    assert old in text
    with pytest.raises(tidegate.TidegateError, match=f"(?s){message}"):
        tidegate.simulate(text.replace(old, new))


def test_the_example_is_the_class_of_the_page() -> None:
    page = (EXAMPLE.parents[1] / "docs" / "policies-in-python.md").read_text()
    (block,) = (
        one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "tidegate.Stage)" in one
    )
    assert EXAMPLE.read_text().endswith(block)


def test_bounds_are_not_made_beside_a_stage() -> None:
    assert (
        "stages are on the way"
        in resolve(even('"witness"', keys='reserve = "90kbit"')).scenario.bounds_json()
    )


def test_the_command_line_and_processes_of_a_sweep_take_it(tmp_path: Path) -> None:
    (tmp_path / "even.toml").write_text(even('"every-tenth"'))

    def tidegate_says(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tidegate", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    run = json.loads(tidegate_says("run", "even.toml", "--python", str(EXAMPLE), "--json"))
    points = ["--set", "stage.mine.policy.nth=3,10", "--replications", "2", "--jobs", "2", "--out", "swept"]
    tidegate_says("sweep", "even.toml", "--python", str(EXAMPLE), *points)
    rows = pyarrow.dataset.dataset(tmp_path / "swept" / "rows").to_table().to_pylist()
    assert run["fingerprints"][0] in {row["fingerprint"] for row in rows}
    assert len({row["fingerprint"] for row in rows}) == 4
    # Without a stage, the key is not known, and the schema does not have it.
    assert "no key `stage`" in tidegate_says("run", "even.toml", code=1)
    assert '"stage"' not in tidegate_says("schema")
