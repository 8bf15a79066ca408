"""Memory is limited before it is gone, and what is seldom meant is warned of."""

import pytest

import tidegate
from conftest import call
from tidegate import TidegateError

OVERLOAD = """\
version = 1
duration = "100s"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
flow = [{ name = "a", from = "s1", to = "s2", size = "40B", source = { kind = "cbr", rate = "1gbit" } }]
"""


@pytest.fixture
def overload(tmp_path):
    path = tmp_path / "overload.toml"
    path.write_text(OVERLOAD)
    return path


def test_check_warns_of_an_overload_and_still_says_ok(overload):
    done = call("check", overload)
    assert done.exit_code == 0
    assert done.stdout.startswith("OK: overload: 2 nodes")
    assert done.stderr.startswith("warning: ")
    assert "overload.toml:4:9: " in done.stderr
    assert "link s1->s2 carries 1mbit, and is offered 1gbit from 0s on" in done.stderr
    limited = call("check", overload, "--set", "switch.buffer=100p")
    assert (limited.exit_code, limited.stderr) == (0, "")


def test_an_overload_is_stopped_with_a_message_before_memory_is_gone():
    with pytest.raises(
        TidegateError, match=r"not enough memory: after 2\.[56]\d* s .* in front of link s1->s2"
    ):
        tidegate.simulate(OVERLOAD)


def test_samples_that_memory_cannot_hold_are_refused_with_the_figure(overload):
    done = call("check", overload, "--set", "sample=100us", "--set", "topology.switches=11")
    assert done.exit_code == 1
    assert "`sample` gives 43000000 points in 43 series, some 3.9 GB of memory" in done.stderr
