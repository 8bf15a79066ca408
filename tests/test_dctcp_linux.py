"""DCTCP's acknowledgements across a queue that marks from a step on, here and in a Linux kernel."""

import os

import pytest

import tidegate
from tidegate.results import Results
from tidegate.source import resolve
from tidegate_lab.testbed import backend
from tidegate_lab.uml import build

CONNECTION = """[[connection]]
name = "{name}"
from = "{start}"
to = "{end}"
size = "1500B"
transport = {{ kind = "tcp", congestion = "dctcp", ecn = "on", header = "66B" }}
"""
SCENARIO = """version = 1
name = "acks"
duration = "10s"
topology = { kind = "dumbbell", pairs = 2, rate = "20mbit", delay = "5ms", access = { rate = "1gbit" } }
[port.dropper]
kind = "red"
min_th = "20p"
max_th = "21p"
weight = 0.5
max_p = 1
signal = "mark"
limit = "300p"
"""


def in_both_directions() -> str:
    """Return the scenario: a connection each way, so that acknowledgements pass queues that mark."""
    ways = (("up", "l1", "r1"), ("down", "r2", "l2"))
    connections = (CONNECTION.format(name=name, start=start, end=end) for name, start, end in ways)
    return SCENARIO + "".join(connections)


def check(results: Results) -> None:
    """Acknowledgements are marked, and none is dropped."""
    rows = [row for row in results.flows.to_pylist() if row["flow"].endswith("/ack")]
    assert len(rows) == 2
    for row in rows:
        assert row["received_packets"] > 5000
        assert row["marked_packets"] > 100
        assert row["dropped_packets"] == 0


def test_acknowledgements_are_marked_and_not_dropped(tmp_path):
    (tmp_path / "acks.toml").write_text(in_both_directions(), encoding="utf-8")
    check(tidegate.simulate(str(tmp_path / "acks.toml")))


@pytest.mark.skipif(not os.environ.get("TIDEGATE_VERIFY"), reason="needs a kernel: set TIDEGATE_VERIFY")
def test_the_kernel_marks_them_too(tmp_path):
    try:
        build.find()
    except tidegate.TidegateError as error:
        pytest.skip(str(error).splitlines()[0])
    (tmp_path / "acks.toml").write_text(in_both_directions(), encoding="utf-8")
    check(backend.run(resolve(str(tmp_path / "acks.toml"))))
