"""The paper on allocated capacity: its network and its tables as data, and what short runs of them say."""

import dataclasses
import math
import tomllib

import numpy as np
import pytest

import tidegate_papers as papers
from tidegate import replications as runs
from tidegate.source import resolve
from tidegate_papers import measures
from tidegate_papers.allocated_capacity import common, figure7, non_responsive, sensitivity, tables
from tidegate_papers.allocated_capacity.common import CONNECTIONS, LARGE, RED, RIO_TSW
from tidegate_papers.claims import MAIN
from tidegate_papers.paper import folder

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
        assert {row["link"] for row in links if row["dropped_packets"]} == {common.BOTTLENECK}
        others = [row["utilisation"] for row in links if row["link"] != common.BOTTLENECK]
        assert max(others) < min(measures.link(results, common.BOTTLENECK, "utilisation"))


def test_goodput_is_what_the_bottleneck_carries_less_what_is_sent_again(table_1):
    for results in table_1.values():
        got = common.total({name: common.goodput(results, name) for name in CONNECTIONS})
        carried = [BOTTLENECK * share for share in measures.link(results, common.BOTTLENECK, "utilisation")]
        for one, whole in zip(got, carried, strict=True):
            # Data that wait for a gap at an end of the measured time are carried then, and
            # delivered later.
            assert 0.8 * whole < one < 1.02 * whole


def test_targets_decide_with_rio_and_round_trip_times_with_red(table_1):
    figures = tables.columns(table_1, {})[MAIN]
    assert min(figures[f"shortest round-trip time over longest, {RED}"]) > 2
    least, most = (
        figures[f"{what}, {RIO_TSW}"]
        for what in ("least of the 5 Mbit/s connections", "most of the 1 Mbit/s connections")
    )
    assert min(least) > max(most)
    assert sum(figures[f"least of the 5 Mbit/s connections, {RED}"]) < sum(least)


def out_of_profile(*sets):
    """Return the share of the packets of the CBR source that are tagged out.

    The connections, which are not tagged here, keep a queue at the bottleneck; drop-tail takes
    those packets there and no others.
    """
    dropper = common.at_bottleneck('{ kind = "drop-tail", limit = "100000p", marked = "1p" }')
    room = [(f"connection.{name}.reserve", "1mbit") for name in LARGE]
    results = short("cbr.toml", *dropper, *common.tagged(hosts=[10]), *room, *sets, seconds=9)
    (share,) = measures.share_lost(results, lambda row: row["flow"] == common.CBR)
    return share / 100


def test_what_has_no_target_rate_is_out_and_what_keeps_to_it_is_in():
    # But for what is under way at the end.
    assert out_of_profile() == pytest.approx(1.0, abs=0.01)
    assert out_of_profile(("flow.cbr.reserve", "6mbit")) == 0.0
    # The rate is above the sawtooth's peak, 4/3 R_T, and below 2 R_T: P = (6 - 4) / 4.
    assert out_of_profile(("flow.cbr.reserve", "4mbit")) == pytest.approx(0.5, abs=0.05)


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
    assert common.spread({"a": [8.0], "b": [1.0]}) == [None]


@pytest.fixture(scope="module")
def report():
    """Every experiment, for a few seconds."""
    paper = papers.load("allocated-capacity")
    brief = [("duration", "4s"), ("warmup", "2s"), ("sample", "1s")]
    short = tuple(dataclasses.replace(one, sets=brief) for one in paper.experiments)
    return papers.conduct(dataclasses.replace(paper, experiments=short), replications=1)


def test_every_experiment_measures_what_its_claims_are_of(report):
    for outcome in report.outcomes:
        means = [one.measured.mean for one in outcome.findings]
        assert all(mean is None or math.isfinite(mean) for mean in means), outcome.experiment.name
        assert any(mean is not None for mean in means), outcome.experiment.name


def test_other_settings_are_other_runs(report):
    # A buffer that is never full makes no difference, and all of these runs have the same length.
    alike = ("buffer", "no transient")
    for outcome in report.outcomes:
        if outcome.experiment.name.startswith("open-"):
            runs = {
                name: run
                for name, run in outcome.fingerprints.items()
                if not name.endswith(RED) and not name.startswith(alike)
            }
            assert len(set(runs.values())) == len(runs) > 1, outcome.experiment.name


def test_connection_9_is_drawn_over_the_whole_run(experiments):
    measure = experiments["figure-7"].measure
    found = {name: short("ten.toml", *sets, seconds=3) for name, sets in measure.settings.items()}
    panels = measure.panels(found)
    assert [panel.title.split(", ")[1] for panel in panels] == list(found)
    for panel, results in zip(panels, found.values(), strict=True):
        (curve,) = panel.curves
        assert curve.x[-1] == pytest.approx(results.duration)
        assert [y for (y,) in curve.y] == list(common.samples(results, figure7.WATCHED, "cwnd")[0])


def test_settings_of_table_1_are_changed_one_at_a_time():
    for name, sets in tables.RENO.items():
        assert sensitivity.TAGGER.settings[name] == [*sets]
    unchanged = sensitivity.TIMERS.settings[f"500 ms ticks, 1 s, {RED}"]
    assert {key.rpartition(".")[2] for key, _ in unchanged} == {"granularity", "minimum_rto"}


def test_the_source_is_named_and_isolated_and_no_connection_is(experiments):
    brief = [("duration", "8s"), ("warmup", "6s")]
    settings = experiments["isolation"].measure.settings
    results = {
        name: runs.run(resolve(FOLDER / "cbr.toml", [*sets, *brief]), series=True)
        for name, sets in settings.items()
    }
    assert non_responsive.named(results[MAIN])[0].keys() == {"cbr"}
    columns = experiments["isolation"].measure.figures(results, {})
    assert columns[MAIN]["CBR"] == [0.0]
    assert columns["reported"]["CBR"][0] > 1.0
    without = columns[non_responsive.WITHOUT]
    assert without["connections in all, over those without the source"] == [0.0]
    assert columns[MAIN]["connections in all"][0] > columns["reported"]["connections in all"][0]
