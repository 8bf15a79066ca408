"""BBR in the simulator beside that of a Linux kernel: phases, estimates, and its goodput alone."""

import os
from itertools import groupby
from pathlib import Path

import pytest

import tidegate
from tidegate.results import Results
from tidegate.source import resolve
from tidegate_lab.testbed import backend
from tidegate_lab.uml import build

PAGE = Path(__file__).parents[1] / "docs/linux.md"
VERIFY = os.environ.get("TIDEGATE_VERIFY")
SCENARIO = """version = 1
name = "bbr"
duration = "25s"
sample = "10ms"
switch = {{ buffer = "{buffer}p" }}
[topology]
kind = "dumbbell"
pairs = 1
rate = "{rate}mbit"
delay = "{delay}ms"
access = {{ rate = "1gbit" }}
[[connection]]
name = "up"
from = "l1"
to = "r1"
size = "1500B"
[connection.transport]
kind = "tcp"
congestion = "bbr"
header = "66B"
"""
NETWORKS = [(20, 20, 200), (100, 10, 500)]
"""Rates in Mbit/s, one-way delays in ms, and buffers in packets."""
# Linux 6.1.192: when each phase begins, in s, and the estimates after 5 s.
RECORDED = {
    20: {
        "phases": [(0, 0.05), (1, 0.57), (2, 0.69), (3, 10.05), (2, 10.29), (3, 20.4), (2, 20.66)],
        "bandwidth": 19120664.0,
        "min_rtt": 0.040064,
        "goodput": 18646588.8,
    },
    100: {
        "phases": [(0, 0.03), (1, 0.37), (2, 0.44), (3, 10.03), (2, 10.25), (3, 20.28), (2, 20.51)],
        "bandwidth": 95607424.0,
        "min_rtt": 0.020016,
        "goodput": 93538558.08,
    },
}
# The share of BBR beside CUBIC, by the buffer in products of rate and round trip.
SHARES = {0.5: 0.93, 2: 0.58, 8: 0.18}
CUBIC = """[[connection]]
name = "other"
from = "l2"
to = "r2"
size = "1500B"
transport = { kind = "tcp", header = "66B" }
"""
STARTUP, DRAIN, PROBE_BW, PROBE_RTT = range(4)


def scenario(rate: int, delay: int, buffer: int, tmp_path) -> str:
    file = tmp_path / "bbr.toml"
    file.write_text(SCENARIO.format(rate=rate, delay=delay, buffer=buffer))
    return str(file)


def measured(results: Results) -> dict:
    """Return what is recorded of a run."""
    rows = [row for row in results.series.to_pylist() if row["subject"] == "up" and row["value"] is not None]
    over_time = {
        metric: [(row["time"], row["value"]) for row in rows if row["metric"] == metric]
        for metric in ("phase", "bandwidth", "min_rtt")
    }
    phases = [
        (int(phase), round(next(same)[0], 2))
        for phase, same in groupby(over_time["phase"], key=lambda pair: pair[1])
    ]
    after = {
        metric: next(value for time, value in over_time[metric] if time > 5.0)
        for metric in ("bandwidth", "min_rtt")
    }
    (group,) = (group for group in results.groups() if group.group == "up")
    return {"phases": phases, **after, "goodput": group.goodput.mean}


def cycle(delay: int) -> float:
    """Return the length of a cycle of ProbeBW, in s: so far the second ProbeRTT may be from another run's.

    The kernel draws the place at which a connection enters the cycle, and not from the seed. ProbeRTT comes
    ten seconds after the last least round trip, which is measured once in a cycle.
    """
    return 8 * 2 * delay / 1000


def row(rate: int, delay: int, side: str, found: dict) -> str:
    """Return the row of docs/linux.md."""
    _, (_, startup), (_, drain), (_, first), _, (_, second), _ = found["phases"]
    link = f" {rate} Mbit/s, {2 * delay} ms" if side == "simulator" else ""
    estimates = (
        f"{found['bandwidth'] / 1e6:.3f} | {1e3 * found['min_rtt']:.2f} | {found['goodput'] / 1e6:.3f}"
    )
    return f"|{link} | {side} | {startup:.2f} s | {drain:.2f} s | {first:.2f}, {second:.2f} s | {estimates} |"


@pytest.mark.parametrize(("rate", "delay", "buffer"), NETWORKS)
def test_phases_and_estimates_are_the_kernels(rate, delay, buffer, tmp_path):
    source = resolve(scenario(rate, delay, buffer, tmp_path))
    ours, kernel = measured(tidegate.simulate(source.scenario, series=True)), RECORDED[rate]
    order = [phase for phase, _ in ours["phases"]]
    assert order == [phase for phase, _ in kernel["phases"]]
    assert order == [STARTUP, DRAIN, PROBE_BW, PROBE_RTT, PROBE_BW, PROBE_RTT, PROBE_BW]
    for number, ((_, here), (_, there)) in enumerate(zip(ours["phases"], kernel["phases"], strict=True)):
        assert here == pytest.approx(there, abs=0.1 if number < 5 else cycle(delay))
    for metric in ("bandwidth", "min_rtt", "goodput"):
        assert ours[metric] == pytest.approx(kernel[metric], rel=0.001)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert row(rate, delay, "simulator", ours) in page
    assert row(rate, delay, "kernel", kernel) in page


def beside_cubic(buffer: float, tmp_path) -> str:
    path = scenario(20, 20, round(buffer * 20e6 * 0.04 / 12000), tmp_path)
    file = tmp_path / "beside.toml"
    file.write_text(Path(path).read_text().replace("pairs = 1", "pairs = 2") + CUBIC)
    return str(file)


def share(results: Results) -> float:
    """Return the part of the goodput that BBR has."""
    goodput = {group.group: group.goodput.mean for group in results.groups() if "/" not in group.group}
    return goodput["up"] / sum(goodput.values())


def test_the_share_beside_cubic_is_near_the_kernels(tmp_path):
    ours = {buffer: share(tidegate.simulate(beside_cubic(buffer, tmp_path))) for buffer in SHARES}
    assert ours == pytest.approx(SHARES, abs=0.1)
    page = PAGE.read_text(encoding="utf-8")
    for shares in (ours, SHARES):
        small, middle, large = (f"{100 * one:.0f}" for one in shares.values())
        assert f" {small}, {middle} and {large} %" in page


@pytest.mark.skipif(not VERIFY, reason="takes a minute: set TIDEGATE_VERIFY")
@pytest.mark.parametrize(("rate", "delay", "buffer"), NETWORKS)
def test_the_kernel_does_what_was_recorded(rate, delay, buffer, tmp_path):
    try:
        build.find()
    except tidegate.TidegateError as error:
        pytest.skip(str(error).splitlines()[0])
    source = resolve(scenario(rate, delay, buffer, tmp_path))
    again, before = measured(backend.run(source)), RECORDED[rate]
    assert [phase for phase, _ in again["phases"]] == [phase for phase, _ in before["phases"]]
    for number, ((_, here), (_, there)) in enumerate(zip(again["phases"], before["phases"], strict=True)):
        assert here == pytest.approx(there, abs=0.02 if number < 5 else cycle(delay))
    for metric in ("bandwidth", "min_rtt", "goodput"):
        assert again[metric] == pytest.approx(before[metric], rel=0.001)


@pytest.mark.skipif(not VERIFY, reason="takes a minute: set TIDEGATE_VERIFY")
def test_the_kernel_shares_as_was_recorded(tmp_path):
    try:
        build.find()
    except tidegate.TidegateError as error:
        pytest.skip(str(error).splitlines()[0])
    again = {buffer: share(backend.run(resolve(beside_cubic(buffer, tmp_path)))) for buffer in SHARES}
    # The kernel draws the place in the cycle of ProbeBW, which decides who fills the queue first.
    assert again == pytest.approx(SHARES, abs=0.1)
