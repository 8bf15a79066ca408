"""Flows that do not respond to congestion are told by name."""

import json

import pytest

import tidegate
from conftest import call

SCENARIO = """
version = 1
duration = "6s"
topology = { kind = "chain", switches = 2, rate = "1mbit" }
port = { dropper = { kind = "drop-tail", limit = "9p" }, detector = { drops = "all" } }
[[flow]]
name = "bulk"
from = "s1"
to = "s2"
size = "500B"
source = { kind = "cbr", rate = "2mbit" }
"""


@pytest.fixture
def overloaded(tmp_path):
    path = tmp_path / "overloaded.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_a_run_says_who_was_named_where_and_when(overloaded):
    (row,) = tidegate.simulate(overloaded).non_responsive.to_pylist()
    assert (row["flow"], row["link"], row["released"]) == ("bulk", "s1->s2", None)
    assert 0 < row["named"] < 5
    done = call("run", overloaded)
    said = f"bulk: non-responsive on s1->s2, first named at {row['named']:.4g} s, not released"
    assert said in done.stdout
    assert json.loads(call("run", overloaded, "--json").stdout)["non_responsive"] == [row]


def test_of_several_runs_it_says_in_how_many(overloaded):
    done = call("run", overloaded, "--replications", 2)
    assert "bulk: non-responsive on s1->s2 in 2 of 2 runs" in done.stdout


def test_where_it_was_released_is_said(overloaded):
    stop = ("--set", "flow.bulk.stop=4s", "--set", "port.detector.release_after=1s")
    # A release is found at an arrival.
    other = SCENARIO[SCENARIO.index("[[flow]]") :].replace("bulk", "other").replace("2mbit", "10kbit")
    overloaded.write_text(SCENARIO + other, encoding="utf-8")
    done = call("run", overloaded, *stop)
    assert "1 release, first at 5." in done.stdout


def test_isolated_it_gets_nothing_beyond_its_profile(overloaded):
    police = ("port.detector.action", "police")
    reported, policed = (
        tidegate.simulate(overloaded, sets=sets).flows["received_packets"].to_pylist()
        for sets in ([], [police])
    )
    assert policed[0] < reported[0] * 0.8
