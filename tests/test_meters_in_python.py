"""Meters in Python: the marker of RFC 2697 beside the built-in one, and what a meter may do."""

# A policy need not use all that it is told.
# ruff: noqa: ARG002

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.dataset
import pytest

import tidegate
from tidegate.determinism import check_deterministic
from tidegate.meter import Congested, Drop, Meter, MeteredPacket
from tidegate.policy import TICKS
from tidegate.scheduler import Contract

EXAMPLE = Path(__file__).parents[1] / "examples" / "three_colours.py"
PAGE = Path(__file__).parents[1] / "docs" / "policies-in-python.md"
tidegate.load_policies(EXAMPLE)
for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
    if "tidegate.Meter)" in block:
        exec(compile(block, PAGE.name, "exec"))

RIO = '{ kind = "rio", min_in = "10p", max_in = "30p", min_out = "2p", max_out = "10p", limit = "40p" }'
WRED = (
    '{ kind = "wred", min_green = "10p", max_green = "30p", min_yellow = "5p", max_yellow = "15p", '
    'min_red = "2p", max_red = "10p", limit = "40p", weight = 0.02 }'
)
TAIL = '{ kind = "drop-tail", limit = "40p" }'


def network(
    meter: str, *, seed: int = 1, rates: tuple[str, str] = ("64kbit", "100kbit"), dropper: str = RIO
) -> str:
    """Return a scenario of random flows that exceed their reservations now and then."""
    return f"""
version = 1
duration = "20s"
warmup = "2s"
seed = {seed}
topology = {{ kind = "chain", switches = 3, rate = "600kbit" }}
port = {{ scheduler = "fifo", dropper = {dropper}, meter = "{meter}" }}
[[flow]]
name = "small"
count = 4
from = "s1"
to = "s3"
size = ["100B", "250B", "400B"]
source = {{ kind = "poisson", rate = "80kbit" }}
reserve = "{rates[0]}"
workahead = "1kB"
excess_burst = "1500B"
[[flow]]
name = "large"
count = 3
from = "s1"
to = "s2"
size = "1000B"
source = {{ kind = "on-off", rate = "130kbit", peak = "500kbit", burst = 8 }}
reserve = "{rates[1]}"
workahead = "5kB"
[[flow]]
name = "datagrams"
from = "s2"
to = "s3"
size = "500B"
source = {{ kind = "poisson", rate = "100kbit" }}
"""


class Judge(Meter):
    """Does to every packet what its parameter names."""

    name = "judge"
    parameters: ClassVar = {"how": "", "every": 1}
    seen: ClassVar[list[tuple[Any, ...]]] = []

    def __init__(self, how: str, every: int) -> None:
        self.count = 0

    def opened(self, profile: int, contract: Contract) -> None:
        """Record the terms."""
        self.seen.append(("opened", profile, contract.reserve, contract.excess_burst, contract.peak_burst))

    def arrived(self, now: int, profile: int, packet: MeteredPacket) -> Any:
        """Return a verdict, or fail."""
        self.count += 1
        if self.count % self.every:
            return None
        match self.how:
            case "drop":
                return Drop("meter")
            case "mark":
                return Congested("meter")
            case "colour":
                packet.colour = "purple"
            case "number":
                packet.colour = 3  # type: ignore[assignment]
            case "raise":
                raise KeyError(profile)
            case "reason":
                return Drop("queue-limit")
            case "word":
                return "drop"
        return None


class Chance(Meter):
    """Colours at random."""

    name = "chance"
    colours = True

    def arrived(self, now: int, profile: int, packet: MeteredPacket) -> None:
        """Colour the packet by a generator without a seed."""
        packet.colour = random.choice(("green", "yellow", "red"))


@pytest.mark.parametrize("rates", [("64kbit", "100kbit"), ("70001bit", "99991bit")])
@pytest.mark.parametrize("dropper", [RIO, WRED])
def test_the_marker_of_the_rfc_has_the_fingerprint_and_the_usage_of_the_built_in_one(
    rates: tuple[str, str], dropper: str
) -> None:
    fingerprints = set()
    for seed in range(1, 6):
        mine, built_in, none = (
            tidegate.simulate(network(meter, seed=seed, rates=rates, dropper=dropper))
            for meter in ("srtcm-in-python", "srtcm", "flow-monitor")
        )
        assert mine.fingerprints == built_in.fingerprints != none.fingerprints
        assert mine["usage"].to_pylist() == built_in["usage"].to_pylist()
        for colour in ("inside", "yellow", "outside"):
            assert sum(mine["usage"][f"{colour}_bytes"].to_pylist()) > 10_000, colour
        fingerprints.update(mine.fingerprints)
    assert len(fingerprints) == 5


def test_the_bucket_of_the_page_colours_what_the_policer_marks() -> None:
    for seed in range(1, 4):
        # The policer's burst is the contract's, and all bursts are one here.
        text = network("METER", seed=seed).replace('"5kB"', '"3kB"').replace('"1kB"', '"3kB"')
        runs = [
            tidegate.simulate(text.replace('"METER"', meter))
            for meter in ('"bucket"', '{ kind = "policer", excess = "mark" }')
        ]
        assert runs[0].fingerprints == runs[1].fingerprints
        assert sum(runs[0]["usage"]["outside_bytes"].to_pylist()) > 10_000


def test_a_profile_that_flows_share_is_one_profile() -> None:
    shared = '[[profile]]\nname = "both"\nreserve = "150kbit"\nworkahead = "3kB"\nexcess_burst = "1kB"\n'
    runs = []
    for meter in ("srtcm-in-python", "srtcm"):
        text = network(meter).replace('name = "small"', 'name = "small"\nprofile = "both"')
        runs.append(tidegate.simulate(text + shared))
    assert runs[0].fingerprints == runs[1].fingerprints
    assert runs[0]["usage"].to_pylist() == runs[1]["usage"].to_pylist()
    assert "both" in runs[0]["usage"]["profile"].to_pylist()


def test_flows_that_come_and_go_begin_with_full_buckets() -> None:
    churn = """
[[connection]]
name = "web"
count = 40
from = "s1"
to = "s3"
size = "500B"
reserve = "1kbit"
workahead = "2kB"
transport = "tcp"
[connection.data]
kind = "transfers"
sizes = "exponential"
size = "4kB"
arrivals = "poisson"
load = 0.1
once = true
"""
    runs = [
        tidegate.simulate(network(meter, seed=3).replace("600kbit", "700kbit") + churn)
        for meter in ("srtcm-in-python", "srtcm")
    ]
    assert runs[0].fingerprints == runs[1].fingerprints


def sent(how: str, *, ecn: str = "off") -> tidegate.Results:
    return tidegate.simulate(f"""
version = 1
duration = "10s"
topology = {{ kind = "chain", switches = 2, rate = "1mbit", delay = "20ms" }}
port = {{ scheduler = "fifo", meter = {{ kind = "judge", {how} }} }}
[[connection]]
name = "bulk"
from = "s1"
to = "s2"
size = "1500B"
transport = {{ kind = "tcp", stack = "rfc", ecn = "{ecn}" }}
""")


@pytest.mark.parametrize("every", [4, 10])
def test_drops_are_counted_as_those_of_a_meter(every: int) -> None:
    text = """
version = 1
duration = "10s"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
port = { scheduler = "fifo", meter = { kind = "judge", how = "drop", every = EVERY } }
[[flow]]
name = "even"
from = "s1"
to = "s2"
size = "1000B"
source = { kind = "cbr", rate = "80kbit" }
"""
    results = tidegate.simulate(text.replace("EVERY", str(every)))
    (row,) = results["drops"].to_pylist()
    assert (row["reason"], row["dropped_packets"]) == (
        "meter",
        results.flows["sent_packets"][0].as_py() // every,
    )
    assert row["dropped_packets"] == 100 // every


def test_it_marks_what_is_capable_of_it_and_drops_the_rest() -> None:
    marked, dropped = (
        {
            ecn: sum(sent('how = "mark", every = 50', ecn=ecn).links[f"{what}_packets"].to_pylist())
            for ecn in ("on", "off")
        }
        for what in ("marked", "dropped")
    )
    assert marked["on"] > 5
    assert marked["off"] == 0
    assert dropped["off"] > 5


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("colour", "'purple' is no colour: green, yellow or red"),
        ("number", "3 is no colour: green, yellow or red"),
        ("raise", r"KeyError: 0 \(test_meters_in_python.py, line \d+\)"),
        ("reason", "`queue-limit` is no reason of a meter: it is meter"),
        ("word", "it returned 'drop', which is no verdict"),
    ],
)
def test_a_failure_ends_the_run_with_its_place(how: str, message: str) -> None:
    place = r"meter `judge`, `arrived`, at a packet of \d+ bytes of the port's flow 0, [\d.e-]+ s after"
    with pytest.raises(tidegate.TidegateError, match=rf"^{place} .*{message}"):
        sent(f'how = "{how}", every = 20')
    assert sent('how = ""').fingerprints


def test_it_sees_the_terms_of_profiles() -> None:
    Judge.seen.clear()
    tidegate.simulate(network("judge"))
    assert ("opened", 0, 64_000.0, 1500, None) in Judge.seen
    assert ("opened", 4, None, None, None) in Judge.seen


def test_only_a_meter_colours_packets() -> None:
    class Painter(tidegate.Dropper):
        """Colours what it drops."""

        name = "painter"

        def arrived(self, now: int, packet: Any, queue: Any) -> None:
            assert packet.colour in ("green", "yellow", "red")
            packet.colour = "red"

    with pytest.raises(
        tidegate.TidegateError, match=r"^dropper `painter`, .*AttributeError.*colour.*not writable"
    ):
        tidegate.simulate(network("srtcm-in-python", dropper='"painter"'))


def test_a_dropper_in_python_reads_the_colours_of_a_meter() -> None:
    class Green(tidegate.Dropper):
        """Drops what is not green."""

        name = "green-only"

        def arrived(self, now: int, packet: Any, queue: Any) -> Any:
            return None if packet.colour == "green" else Drop("early-drop")

    results = tidegate.simulate(network("srtcm", dropper='"green-only"'))
    usage = results["usage"].filter(pyarrow.compute.equal(results["usage"]["link"], "s2->s3"))
    # Behind a hop that passed green packets alone, only the second bucket differs: nearly all are green.
    inside, outside = (sum(usage[f"{name}_bytes"].to_pylist()) for name in ("inside", "outside"))
    assert inside > 100 * outside
    (row,) = (row for row in results["drops"].to_pylist() if row["link"] == "s1->s2")
    assert row["reason"] == "early-drop"


def test_a_meter_that_colours_at_random_is_found_out() -> None:
    check_deterministic(network("srtcm-in-python"))
    for dropper in (RIO, TAIL):
        with pytest.raises(tidegate.TidegateError, match=r"two runs of seed 1 differ"):
            check_deterministic(network("chance", dropper=dropper))


def test_a_class_keeps_its_colours_and_a_name_belongs_to_one_role() -> None:
    type("One", (Meter,), {"name": "one-colour"})
    with pytest.raises(tidegate.TidegateError, match="`colours`"):
        type("Other", (Meter,), {"name": "one-colour", "colours": True})
    with pytest.raises(tidegate.TidegateError, match="another role"):
        type("Third", (tidegate.Dropper,), {"name": "one-colour"})
    with pytest.raises(tidegate.TidegateError, match="there is a built-in policy `policer`"):
        type("Fourth", (Meter,), {"name": "policer"})
    with pytest.raises(tidegate.TidegateError, match="there is no meter `green-mile`"):
        tidegate.simulate(network("green-mile"))


def test_a_parameter_of_the_wrong_type_is_named_with_its_line() -> None:
    with pytest.raises(tidegate.TidegateError, match=r"(?s)scenario:5.*every"):
        sent('every = "x"')


def test_processes_of_a_sweep_and_the_command_line_take_it(tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text(network("srtcm"))
    options = [
        "--set",
        "port.meter=srtcm,srtcm-in-python",
        "--replications",
        "2",
        "--jobs",
        "2",
        "--out",
        "swept",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "sweep", "network.toml", "--python", str(EXAMPLE), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = pyarrow.dataset.dataset(tmp_path / "swept" / "rows").to_table().to_pylist()
    by_meter: dict[str, set[tuple[int, str]]] = {}
    for row in rows:
        by_meter.setdefault(row["port.meter"], set()).add((row["seed"], row["fingerprint"]))
    assert by_meter["srtcm"] == by_meter["srtcm-in-python"]
    assert len(by_meter["srtcm"]) == 2


@pytest.mark.parametrize("place", ["host", "class"])
def test_processes_of_a_sweep_have_it_wherever_it_is_named(place: str) -> None:
    text = network("flow-monitor")
    if place == "host":
        text = text.replace("[[flow]]", 'host = { meter = "srtcm-in-python" }\n[[flow]]', 1)
    else:
        gold = '[[class]]\nname = "gold"\nscheduler = "fifo"\nmeter = "srtcm-in-python"\n[[flow]]'
        text = text.replace("[[flow]]", gold, 1).replace("[[flow]]\n", '[[flow]]\nclass = "gold"\n')
    swept = tidegate.sweep(text, {"topology.rate": ["600kbit", "700kbit"]}, replications=1, jobs=2)
    assert len(set(swept["fingerprint"].to_pylist())) == 2


def test_a_second_is_so_many_ticks_to_a_meter() -> None:
    times = []

    class Clock(Meter):
        name = "clock-of-a-meter"

        def arrived(self, now: int, profile: int, packet: MeteredPacket) -> None:
            assert now == packet.arrived
            times.append(now)

    tidegate.simulate(network("clock-of-a-meter"))
    assert 19 * TICKS < max(times) - min(times) < 20 * TICKS
