"""Sweeps whose points run until an interval is narrow enough: when they end, and what the intervals cover."""

import os
from itertools import islice

import numpy as np
import pytest

import tidegate
from sweeping import POLICY, RATE, SHORT, Counting, swept
from tidegate import sweeps
from tidegate.stopping import LEAST, estimate_after
from tidegate.sweeps.until import Until, parse

VERIFY = "TIDEGATE_VERIFY" in os.environ
CASES = 10_000 if VERIFY else 3000
POOL = 6000 if VERIFY else 1000

VALUES = {POLICY: ["fifo", "fq-codel"], RATE: ["32kbit", "64kbit"]}


def stopped(goal, draw):
    """Return the values of the runs that a point gets, one stage after the other."""
    values = list(draw(LEAST))
    while (needed := goal.needed(values)) > len(values):
        values += list(draw(needed - len(values)))
    return values


def coverage(goal, draw, truth):
    """Return the share of stopped intervals that hold the truth, and the mean number of runs."""
    covered = runs = 0
    for _ in range(CASES):
        values = stopped(goal, draw)
        mean, half_width = estimate_after(values[:LEAST], values)
        assert half_width <= abs(mean) * goal.half_width * (1 + 1e-9)
        covered += abs(mean - truth) <= half_width
        runs += len(values)
    return covered / CASES, runs / CASES


@pytest.mark.parametrize(("deviation", "width", "runs"), [(0.7, 5, 12), (1.0, 5, 22), (1.5, 5, 48)])
def test_stopped_intervals_cover_normal_figures_in_94_to_96_of_100_cases(deviation, width, runs):
    rng = np.random.default_rng(1945)
    goal = Until("", "delay_p99", None, width / 100, relative=True)
    covered, mean = coverage(goal, lambda number: rng.normal(10.0, deviation, number), 10.0)
    assert 0.94 <= covered <= 0.96
    assert mean == pytest.approx(runs, rel=0.05)


@pytest.fixture(scope="module")
def pools():
    """Runs of two points, from which runs are drawn: the truth is the mean of all."""
    values = {RATE: ["32kbit", "64kbit"], "duration": "1s", "warmup": "200ms"}
    return swept(values=values, replications=POOL).to_pylist()


@pytest.mark.parametrize(
    ("rate", "group", "figure", "least", "most"),
    [
        ("64kbit", "data", "delay_p99", 0.94, 0.96),
        # Skewed figures: the limits that docs/sweeps.md states.
        ("32kbit", "data", "delay_mean", 0.92, 0.95),
        ("32kbit", "voice", "delay_p99", 0.60, 0.75),
    ],
)
def test_stopped_intervals_cover_measured_figures_as_often_as_the_page_says(
    rate, group, figure, least, most, pools
):
    pool = np.array([row[figure] for row in pools if (row[RATE], row["group"]) == (rate, group)])
    assert len(pool) == POOL
    rng = np.random.default_rng(1945)
    # Some 50 runs.
    goal = Until("", figure, None, float(pool.std() / pool.mean() / 3.0), relative=True)
    covered, runs = coverage(goal, lambda number: rng.choice(pool, number), pool.mean())
    assert least <= covered <= most
    assert 40 < runs < 60


def test_points_end_when_their_intervals_are_narrow_enough(tmp_path):
    goal = "data.delay_p99:15%"
    table = swept(values=VALUES, until=goal, replications=150)
    counts = set()
    for number, (policy, rate) in enumerate((p, r) for p in VALUES[POLICY] for r in VALUES[RATE]):
        rows = [row for row in table.to_pylist() if (row["point"], row["group"]) == (number, "data")]
        results = tidegate.simulate(SHORT, replications=150, sets=[(POLICY, policy), (RATE, rate)])
        every = iter(results.group_figures()["data", 4]["delay_p99"])
        expected = stopped(parse(goal, ["data"]), lambda number, every=every: list(islice(every, number)))
        assert [row["delay_p99"] for row in rows] == expected
        counts.add(len(rows))
    assert len(counts) > 1
    assert LEAST <= min(counts) <= max(counts) < 150
    for row in sweeps.summary(table).to_pylist():
        if row["group"] == "data":
            assert 0 < row["delay_p99_ci95"] <= 0.15 * row["delay_p99"]

    # Another number of workers, and a directory that begins with a part of the runs.
    out = tmp_path / "out"
    swept(values=VALUES, replications=7, out=out)
    with Counting() as counting:
        again = swept(values=VALUES, until=goal, replications=150, out=out, executor=counting, jobs=5)
    assert again.equals(table)
    assert sweeps.load(out).equals(table)
    assert len(counting.runs) == table.num_rows // 2 - 4 * 7
    with Counting() as idle:
        assert swept(values=VALUES, until=goal, replications=150, out=out, executor=idle).equals(table)
    assert not idle.runs


def test_a_point_has_at_most_the_runs_that_are_allowed():
    table = swept(values=VALUES, until="delay_p99:0.1%", replications=14)
    assert table.num_rows == 4 * 14 * 2


def test_figures_that_do_not_vary_need_no_more_runs(still):
    table = tidegate.sweep(still, {POLICY: ["fifo", "fq-codel"]}, until="delay_p99:1%", jobs=1)
    assert table.num_rows == 2 * LEAST * 2


@pytest.mark.parametrize(
    ("text", "half_width", "relative"),
    [
        ("delay_p99:5%", 0.05, True),
        ("voice.delay_p99:2ms", 0.002, False),
        ("throughput : 10kbit", 10_000.0, False),
        ("lost:0.01", 0.01, False),
    ],
)
def test_a_wanted_width_is_a_share_or_a_quantity(text, half_width, relative):
    goal = parse(text, ["voice"])
    assert (goal.half_width, goal.relative) == (half_width, relative)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delay_p99", "write it as in delay_p99:5%"),
        ("delay:5%", "`delay` is not a figure: there are throughput"),
        ("voise.delay_p99:5%", "`voise` is not a group: there are voice, data"),
        ("delay_p99:5", "a time needs a unit"),
        ("delay_p99:0%", "above 0"),
        ("delay_p99:x%", "write it as in"),
    ],
)
def test_mistakes_in_a_wanted_width_are_told(text, message):
    with pytest.raises(tidegate.TidegateError) as raised:
        swept(until=text)
    assert message in str(raised.value)


def test_an_interval_needs_ten_runs():
    with pytest.raises(tidegate.TidegateError, match="at least 10 replications, not 9"):
        swept(until="delay_p99:5%", replications=9)
