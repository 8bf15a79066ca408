"""The paper on allocated capacity: its network and its tables as data, and what short runs of them say."""

import dataclasses
import math
import tomllib

import numpy as np
import pytest

from tidegate import papers
from tidegate import replications as runs
from tidegate.papers.allocated_capacity import common, tables
from tidegate.papers.allocated_capacity.common import CONNECTIONS, RED, RIO_TSW
from tidegate.papers.claims import MAIN
from tidegate.papers.paper import folder
from tidegate.source import resolve

FOLDER = folder("allocated-capacity")
BOTTLENECK = 33.0
"""Mbit/s."""


@pytest.fixture(scope="module")
def experiments():
    return {one.name: one for one in papers.load("allocated-capacity").experiments}


def short(path="ten.toml", *sets, seconds=6, **how):
    """Run a scenario of the paper for a short time."""
    brief = [("duration", f"{seconds}s"), ("warmup", f"{seconds // 3}s")]
    return runs.run(resolve(FOLDER / path, [*sets, *brief]), series=True, **how)


def test_a_paper_goes_by_its_name_with_hyphens():
    assert "allocated-capacity" in papers.names()
    assert (FOLDER / "paper.toml").is_file()


@pytest.mark.parametrize("name", ["table-1", "table-2", "table-3", "table-3-right", "table-4"])
def test_published_rows_name_the_networks_round_trip_times_and_targets(experiments, name):
    for length in ("", "-long"):
        experiment = experiments[f"{name}{length}"]
        (table,) = experiment.tables
        results = short(experiment.scenario.name, seconds=3)
        assert table.rows == (*common.rows(results).values(), "total")


def test_published_columns_add_up_to_their_totals(experiments):
    for name in ("table-1", "table-2", "table-3", "table-3-right", "table-4"):
        (table,) = experiments[name].tables
        cells = {claim.name: claim.paper for claim in experiments[name].claims}
        for column in table.columns:
            *flows, total = (cells[table.cell(column, row)] for row in table.rows)
            # The last digits of a total are rounded, or cut off.
            assert math.fsum(flows) == pytest.approx(total, abs=1e-3)


def test_targets_are_1_and_5_mbit_in_turn_and_fit_the_bottleneck():
    for path in ("ten.toml", "wide.toml", "cbr.toml"):
        scenario = tomllib.loads((FOLDER / path).read_text())
        assert [one["name"] for one in scenario["connection"]] == list(CONNECTIONS)
        assert [one["reserve"] for one in scenario["connection"]] == ["1mbit", "5mbit"] * 5
        (rate,) = (one["rate"] for one in scenario["link"] if (one["from"], one["to"]) == ("left", "right"))
        assert rate == "33mbit"


@pytest.fixture(scope="module")
def table_1():
    """Table I, for a short time."""
    return {name: short("ten.toml", *sets, seconds=9, replications=2) for name, sets in tables.RENO.items()}


def test_the_bottleneck_is_the_bottleneck(table_1):
    for results in table_1.values():
        links = results.links.to_pylist()
        dropping = {row["link"] for row in links if row["dropped_packets"]}
        assert dropping == {"left->right"}
        busy = {row["link"]: row["utilisation"] for row in links}
        assert max(busy, key=busy.get) == "left->right"


def test_goodput_is_what_was_received_less_what_was_received_twice(table_1):
    for results in table_1.values():
        for name in CONNECTIONS:
            received = common.throughput(results, name)
            # What waits for a gap at an end of the measured time is received then, and delivered later.
            window = 8 * 256e3 / (results.duration - results.warmup) / common.MBIT
            for got, whole in zip(common.goodput(results, name), received, strict=True):
                assert 0.0 < got < whole + window
        got = [common.total({name: common.goodput(results, name) for name in CONNECTIONS})]
        assert all(0.6 * BOTTLENECK < value < BOTTLENECK * 1.01 for run in got for value in run)


def test_targets_decide_with_rio_and_round_trip_times_with_red(table_1):
    figures = tables.columns(table_1, {})[MAIN]
    assert min(figures[f"shortest round-trip time over longest, {RED}"]) > 2
    least, most = (
        figures[f"{what}, {RIO_TSW}"]
        for what in ("least of the 5 Mbit/s connections", "most of the 1 Mbit/s connections")
    )
    assert min(least) > max(most)
    assert sum(figures[f"least of the 5 Mbit/s connections, {RED}"]) < sum(least)


def out_of_profile(sets=(), path="cbr.toml", seconds=6):
    """Return the share of each flow's packets that are tagged out, by a queue that drops all of those."""
    dropper = '{ kind = "drop-tail", limit = "100000p", marked = "0p" }'
    results = short(path, *common.at_bottleneck(dropper), *common.tagged(), *sets, seconds=seconds)
    return {
        row["flow"]: row["dropped_packets"] / row["sent_packets"]
        for row in results.flows.to_pylist()
        if row["sent_packets"]
    }


def test_what_has_no_target_rate_is_out_and_what_keeps_to_it_is_in():
    tag = ("link.l10-left.meter", '{ kind = "tsw-tagger", window = "100ms" }')
    assert out_of_profile([tag])["cbr"] == 1.0
    assert out_of_profile([tag, ("flow.cbr.reserve", "6mbit")])["cbr"] == 0.0
    # The rate lies between the sawtooth's peak, 4/3 R_T, and 2 R_T: it is out with P = (6 - 4) / 4.
    assert out_of_profile([tag, ("flow.cbr.reserve", "4mbit")])["cbr"] == pytest.approx(0.5, abs=0.05)


def test_samples_of_a_count_give_its_growth_over_the_measured_time(monkeypatch):
    monkeypatch.setattr(common, "samples", lambda *_: [np.array([1.0, 3.0, 6.0, 10.0])])
    results = dataclasses.make_dataclass("Run", ["warmup", "duration"])(2.0, 4.0)
    assert common.counted(results, "c0", "timeouts") == [7.0]


def test_the_extreme_is_the_connection_with_the_greatest_mean():
    columns = {"a": [1.0, 5.0], "b": [3.5, 3.5], "c": [0.0, 6.0]}
    assert common.extreme(columns, "abc", 1) == [3.5, 3.5]
    assert common.extreme(columns, "abc", -1) in ([1.0, 5.0], [0.0, 6.0])


def test_the_spread_is_the_mean_deviation_in_per_cent():
    assert common.spread({"a": [8.0, 12.0], "b": [1.0, 1.0]}) == pytest.approx([10.0, 10.0])
