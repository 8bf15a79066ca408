"""The Axel paper: its network and its tables as data, and what short runs of its experiments say."""

import dataclasses
import math
import tomllib

import pytest

import tidegate_papers as papers
from conftest import call
from tidegate import replications as runs
from tidegate.source import resolve
from tidegate_papers import measures
from tidegate_papers import paper as data
from tidegate_papers.axel import buffers, burstiness, reservation, road
from tidegate_papers.axel.common import BURSTY, DELAYS, POLICIES, SMOOTH, WORST, by_flow, under, worst
from tidegate_papers.claims import MAIN

FOLDER = data.HERE / "axel"

ACTUAL = {"large": (89_834, 92_198), "small": (74_384, 76_231)}
"""Actual rates of bursty and of smooth flows in bytes/s (Tables 1 and 2)."""


@pytest.fixture(scope="module")
def experiments():
    return {one.name: one for one in papers.load("axel").experiments}


def short(path, scheduler="fifo", *, duration="10s", sets=(), **how):
    """Run a scenario of the paper for a short time."""
    sets = [*under(scheduler), ("duration", duration), *sets]
    return runs.run(resolve(FOLDER / path, sets), **how)


@pytest.mark.parametrize("name", ["large", "small", "misbehaving-large", "misbehaving-small"])
def test_four_bursty_and_eleven_smooth_flows_load_each_server_by_91_5_per_cent(name):
    scenario = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    bursty, smooth = ACTUAL[name.removeprefix("misbehaving-")]
    load = dict.fromkeys(range(1, 6), 0)
    for flow in scenario["flow"]:
        rate = smooth if flow["name"].startswith(SMOOTH) else bursty
        for server in range(int(flow["from"][1]), int(flow["to"][1])):
            load[server] += 8 * rate * flow.get("count", 1)
    capacity = int(scenario["topology"]["rate"].removesuffix("bit"))
    assert set(load.values()) == {8 * (4 * bursty + 11 * smooth)}
    assert load[1] / capacity == pytest.approx(0.915, abs=1e-6)


@pytest.mark.parametrize("case", ["large", "small"])
def test_filtered_flows_send_at_the_published_rates(case):
    results = short(f"{case}.toml", duration="40s")
    rows = results.flows.to_pylist()
    for published, group in zip(ACTUAL[case], (BURSTY, SMOOTH), strict=True):
        sent = [row["sent_bytes"] / 40 for row in rows if row["group"].startswith(group)]
        assert math.fsum(sent) / len(sent) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("case", ["large", "small"])
def test_the_misbehaving_flow_sends_490_000_bytes_a_second(case):
    results = short(f"misbehaving-{case}.toml", replications=2)
    sent = [row["sent_bytes"] / 10 for row in results.flows.to_pylist() if row["group"] == "misbehaving"]
    assert math.fsum(sent) / 2 == pytest.approx(490_000, rel=0.03)


def test_the_worst_published_flow_is_the_worst_of_the_table(experiments):
    for number in (3, 5, 7, 8, 11, 12):
        experiment = experiments[f"table-{number}"]
        claims = {claim.name: claim.paper for claim in experiment.claims}
        for table in experiment.tables:
            for policy in table.columns:
                cells = [claims[table.cell(policy, row)] for row in table.rows]
                assert claims[table.cell(policy, WORST)] == max(cells)


def test_the_worst_flow_is_found_in_each_replication():
    results = short("large.toml", duration="500ms", replications=3)
    for figure in DELAYS.values():
        flows = by_flow(results, SMOOTH, figure)
        assert len(flows) == 6
        assert worst(results, SMOOTH, figure) == [max(run) for run in zip(*flows, strict=True)]


def test_a_ratio_without_a_figure_is_none():
    assert measures.ratio([1.0, None, 3.0], [2.0, 2.0, 0.0]) == [0.5, None, None]


@pytest.fixture(scope="module")
def report():
    """Every experiment, for a fraction of a second."""
    paper = papers.load("axel")
    sets = [("duration", "200ms"), ("warmup", "0s")]
    brief = tuple(dataclasses.replace(one, sets=sets) for one in paper.experiments)
    return papers.conduct(dataclasses.replace(paper, experiments=brief), replications=1)


def test_every_experiment_measures_what_its_claims_are_of(report):
    for outcome in report.outcomes:
        means = [one.measured.mean for one in outcome.findings]
        assert all(mean is None or math.isfinite(mean) for mean in means), outcome.experiment.name
        assert any(mean is not None for mean in means), outcome.experiment.name


def test_published_tables_are_shown_as_tables(report, monkeypatch):
    monkeypatch.setattr(papers, "conduct", lambda *_, **__: report)
    done = call("paper", "axel")
    assert done.exit_code in (0, 3)
    lines = done.stdout.splitlines()
    heading = next(place for place, line in enumerate(lines) if line.startswith("mean (ms)"))
    assert lines[heading].split()[2:] == ["Axel", "Pulse", "PeakVC", "VirtualClock", "FIFO+", "FIFO"]
    assert lines[heading + 2].split() == ["flow", "0", "1.1", "2", "1.1", "53.4", "19.3", "19"]
    assert "≤ 1.3 in each run" in done.stdout
    assert max(map(len, lines)) <= 100


def test_deferreds_stamps_never_fall_and_virtual_clocks_advance_evenly(experiments):
    measure = experiments["figure-3"].measure
    found = {
        name: runs.run(resolve(FOLDER / "large.toml", [*sets, ("duration", "1s")]), replications=2)
        for name, sets in measure.settings.items()
    }
    figures = measure.figures(found, {})[MAIN]
    assert figures["stamps that fall, Deferred"] == [0, 0]
    assert min(figures["increments of about 0.0005 s, VirtualClock"]) > 95
    assert max(figures["increments of about 0.0005 s, Deferred"]) < 90
    # No less than a packet's time at the peak rate of 921,600 bytes/s.
    assert figures["smallest increment, Deferred"] == [pytest.approx(48 / 921.6, abs=1e-5)] * 2


def test_without_its_bound_a_flow_gains_without_end_and_axels_at_most_w_over_r(experiments):
    measure = experiments["taken-over"].measure
    found = {
        name: runs.run(resolve(FOLDER / "taken-over.toml", [*sets, ("duration", "5s")]))
        for name, sets in measure.settings.items()
    }
    figures = measure.figures(found, {})[MAIN]
    assert figures[f"largest gain, {road.UNBOUNDED}"][0] > 4 * road.MAX_GAINED
    assert figures["largest gain, Axel"][0] == pytest.approx(road.MAX_GAINED, rel=0.1)
    assert figures["largest gain, Axel"][0] <= road.MAX_GAINED
    assert figures["mean, others, without its bound over Axel"][0] > 3


def test_push_out_spares_all_who_behave_and_drop_tail_does_not():
    found = {
        way: short("misbehaving-large.toml", POLICIES["Axel"], duration="8s", sets=sets[1:])
        for way, sets in buffers.WAYS.items()
    }
    pushed_out, dropped = (
        measures.lost(found[way], lambda row: row["group"] != "misbehaving")
        for way in (MAIN, buffers.DROP_TAIL)
    )
    assert pushed_out == [0]
    assert dropped[0] > 1000


def test_stamps_of_a_larger_reservation_are_those_of_peak_vc():
    """A flow that the link has no room for is stamped as here, where it has."""
    (_, *peak) = reservation.reserving(1.2)
    reserve = [(path.replace(".peak", ".reserve"), rate) for path, rate in peak]
    plain, reserved, stamped = (
        short("large.toml", POLICIES[scheduler], duration="2s", sets=sets).fingerprints
        for scheduler, sets in (("VirtualClock", ()), ("VirtualClock", reserve), ("PeakVC", peak))
    )
    assert reserved == stamped != plain


def test_the_burstiness_increase_is_that_of_the_flow_that_suffers_most():
    results = short("large.toml", POLICIES["VirtualClock"], duration="2s", workahead=(1.0, 1.02))
    figures = burstiness.BURSTINESS.figures(dict.fromkeys(POLICIES, results), {})[MAIN]
    # VirtualClock adds nothing at r.
    assert max(figures["added, VirtualClock, at r"]) <= 48
    at = {
        (row["flow"], row["hop"]): row["workahead"]
        for row in results.workahead.to_pylist()
        if row["factor"] == 1.02 and row["group"] == SMOOTH
    }
    increases = [100 * (at[flow, 5] / at[flow, 0] - 1) for flow, hop in at if hop == 0]
    assert figures["end to end, FIFO, at 1.02 r"] == [pytest.approx(max(increases))]
