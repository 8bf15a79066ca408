"""BBR in the simulator beside that of a Linux kernel: phases, estimates, and its goodput alone."""

import os
from itertools import groupby

import pytest

import tidegate
from tidegate.results import Results
from tidegate.source import resolve
from tidegate_lab.testbed import backend
from tidegate_lab.uml import build

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
        "phases": [(0, 0.05), (1, 0.57), (2, 0.69), (3, 10.05), (2, 10.29), (3, 20.37), (2, 20.61)],
        "bandwidth": 19119976.0,
        "min_rtt": 0.040063,
        "goodput": 18647506.56,
    },
    100: {
        "phases": [(0, 0.03), (1, 0.37), (2, 0.44), (3, 10.03), (2, 10.25), (3, 20.34), (2, 20.57)],
        "bandwidth": 95604008.0,
        "min_rtt": 0.020016,
        "goodput": 93533510.4,
    },
}
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


@pytest.mark.parametrize(("rate", "delay", "buffer"), NETWORKS)
def test_phases_and_estimates_are_the_kernels(rate, delay, buffer, tmp_path):
    source = resolve(scenario(rate, delay, buffer, tmp_path))
    ours, kernel = measured(tidegate.simulate(source.scenario, series=True)), RECORDED[rate]
    order = [phase for phase, _ in ours["phases"]]
    assert order == [phase for phase, _ in kernel["phases"]]
    assert order == [STARTUP, DRAIN, PROBE_BW, PROBE_RTT, PROBE_BW, PROBE_RTT, PROBE_BW]
    for (_, here), (_, there) in zip(ours["phases"], kernel["phases"], strict=True):
        assert here == pytest.approx(there, abs=0.1)
    for metric in ("bandwidth", "min_rtt", "goodput"):
        assert ours[metric] == pytest.approx(kernel[metric], rel=0.001)


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
    # The kernel draws the place at which a connection enters the cycle of ProbeBW, and not from the seed. The
    # second ProbeRTT comes ten seconds after the last least round trip, which is measured once in a cycle.
    cycle = 8 * 2 * delay / 1000
    for number, ((_, here), (_, there)) in enumerate(zip(again["phases"], before["phases"], strict=True)):
        assert here == pytest.approx(there, abs=0.02 if number < 4 else cycle)
    for metric in ("bandwidth", "min_rtt", "goodput"):
        assert again[metric] == pytest.approx(before[metric], rel=0.001)
