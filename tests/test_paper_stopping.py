"""Experiments of papers whose runs end when the intervals of their claims are narrow enough."""

import dataclasses
import math

import numpy as np
import pytest

import tidegate_papers as papers
from tidegate import replications as runs
from tidegate.source import resolve
from tidegate.stopping import LEAST, estimate_after, runs_needed
from tidegate_papers import families, planned
from tidegate_papers.claims import MAIN, Claim, find
from tidegate_papers.paper import Measure
from tidegate_papers.replicated import replicated

STUDENT_9 = 2.2622
"""The 97.5 % quantile of Student's t with 9 degrees of freedom, from tables."""

SHORT = [("duration", "3s"), ("warmup", "1s")]


def two_stages(draw, half_width):
    """Return a mean and its interval after two stages, and the number of runs."""
    first = draw(LEAST)
    count = max(runs_needed(first, half_width), LEAST)
    return estimate_after(first, [*first, *draw(count - LEAST)]), count


def test_the_number_of_runs_is_steins():
    first = [1.0, 2.0, 4.0, 4.0, 5.0, 6.0, 6.0, 7.0, 9.0, 9.0]
    deviation = np.std(first, ddof=1)
    for half_width in (0.5, 1.0, 1.7, 40.0):
        expected = math.ceil((STUDENT_9 * deviation / half_width) ** 2)
        assert runs_needed(first, half_width) == expected
    assert runs_needed([3.0] * 10, 0.1) == 0
    assert runs_needed([None] * 10, 0.1) == 0


@pytest.mark.parametrize("half_width", [0.3, 0.5, 0.8])
def test_intervals_of_two_stages_cover_in_95_of_100_cases(half_width):
    # Stein's theorem; the share of 10,000 has a standard deviation of 0.2 %.
    rng = np.random.default_rng(1945)
    covered = 0
    for _ in range(10_000):
        (mean, half), count = two_stages(lambda size: list(rng.normal(7.0, 1.0, size)), half_width)
        covered += abs(mean - 7.0) <= half
        assert half <= half_width * (1 + 1e-9)
        assert count >= LEAST
    assert covered / 10_000 == pytest.approx(0.95, abs=0.01)


def test_an_interval_takes_no_more_than_the_spread_of_the_first_stage():
    first = [float(number) for number in range(10)]
    mean, half = estimate_after(first, first + [100.0] * 30)
    assert mean == pytest.approx((45 + 3000) / 40)
    assert half == pytest.approx(STUDENT_9 * np.std(first, ddof=1) / math.sqrt(40), rel=1e-4)
    assert estimate_after(first, first) == estimate_after(first, [*first, None])
    assert estimate_after([1.0], [1.0]) == (1.0, None)


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        (Claim("a", paper=10.0, tolerance=2.0, required=True), 1.0),
        (Claim("a", paper=10.0, tolerance=2.0, required=True, half_width=0.3), 0.3),
        (Claim("a", paper=4.0, factor=2.0, required=True), 1.5),
        (Claim("a", at_most=-8.0, required=True), 2.0),
        (Claim("a", at_least=0.0, required=True), None),
        (Claim("a", paper=10.0, tolerance=2.0), None),
        (Claim("a", paper=10.0, tolerance=0.0, required=True), None),
        (Claim("a", at_most=8.0, every=True, required=True), None),
    ],
)
def test_the_wanted_width_depends_on_the_claim_alone(claim, wanted):
    assert claim.wanted_half_width == wanted


def test_every_claim_that_a_mean_decides_wants_a_width():
    for paper in map(papers.load, papers.names()):
        for experiment in paper.experiments:
            for claim in experiment.claims:
                limit = claim.at_most if claim.at_least is None else claim.at_least
                # A limit of zero says nothing of the width, unless the claim states it.
                is_told = limit != 0 or claim.half_width is not None
                decided = claim.required and not claim.every and claim.tolerance != 0 and is_told
                assert (claim.wanted_half_width is not None) == decided, (experiment.name, claim.name)


def test_runs_one_by_one_are_those_of_replications():
    source = resolve(papers.paper.folder("virtualclock") / "test-one.toml", SHORT)
    together = runs.run(source, replications=3, series=True)
    each = [runs.run(source, seed=source.scenario.seed + number, series=True) for number in range(3)]
    joined = replicated(each)
    assert joined.seeds == together.seeds
    assert joined.fingerprints == together.fingerprints
    assert joined.packet_hops == together.packet_hops
    for name, table in together.tables.items():
        assert joined.tables[name].to_pylist() == table.to_pylist(), name
    assert replicated(each[:1]) is each[0]


def conducted(monkeypatch, experiments, **how):
    """Carry short experiments out; return the report and the number of runs that were carried out."""
    carried = []
    simulate_all = planned.simulate_all
    monkeypatch.setattr(
        planned, "simulate_all", lambda wanted, **more: carried.extend(wanted) or simulate_all(wanted, **more)
    )
    shares = []
    paper = dataclasses.replace(papers.load("virtualclock"), experiments=tuple(experiments))
    report = papers.conduct(paper, progress=shares.append, **how)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    return report, len(carried)


def experiment(name, figure, claim, *, times=4.0, after=None):
    """Return an experiment of Test One, cut short, that looks at a figure of each seed."""
    first = papers.load("virtualclock").experiments[0]

    def figures(results, earlier):
        values = [figure(seed) for seed in results[MAIN].seeds]
        assert after is None or len(earlier[after][MAIN]["a"]) == len(values)
        return {MAIN: {"a": values}}

    return dataclasses.replace(
        first,
        name=name,
        sets=SHORT,
        measure=Measure(figures, after=after),
        claims=(claim,),
        tables=(),
        times=times,
    )


WANTS = Claim("a", paper=0.0, tolerance=4.0, required=True)
"""A claim that is decided by an interval of ± 2."""


def swings(seed):
    return 5.0 if seed % 2 else -5.0


@pytest.mark.parametrize(("times", "expected"), [(4.0, 36), (1.5, 30), (1.0, 10), (0.3, 3)])
def test_runs_end_where_the_interval_is_as_narrow_as_wanted(monkeypatch, times, expected):
    # A deviation of 5 √(10/9) takes (2.2622 * 5.27 / 2)² = 35.5 runs.
    report, carried = conducted(monkeypatch, [experiment("one", swings, WANTS, times=times)])
    [outcome] = report.outcomes
    assert (len(outcome.seeds), carried) == (expected, expected)
    assert outcome.seeds == tuple(range(outcome.seeds[0], outcome.seeds[0] + expected))
    if expected > LEAST:
        assert outcome.findings[0].measured.half_width == pytest.approx(11.92 / math.sqrt(expected), rel=1e-3)
    assert report.document()["claims"][0]["runs"] == expected


def test_experiments_that_are_compared_have_the_same_number_of_runs(monkeypatch):
    still = experiment("still", lambda _: 1.0, WANTS)
    report, carried = conducted(
        monkeypatch,
        [
            still,
            experiment("between", lambda _: 1.0, WANTS),
            experiment("late", swings, WANTS, after="still"),
        ],
    )
    assert [outcome.experiment.name for outcome in report.outcomes] == ["still", "between", "late"]
    assert [len(outcome.seeds) for outcome in report.outcomes] == [36, 10, 36]
    assert carried == 36, "all three look at the same runs"


def test_a_stated_number_of_replications_is_carried_out_whatever_the_claims_say(monkeypatch):
    report, carried = conducted(monkeypatch, [experiment("one", swings, WANTS)], replications=2)
    assert (report.replications, carried) == (2, 8)
    report, _ = conducted(monkeypatch, [experiment("one", swings, WANTS)], replications=papers.FULL)
    assert len(report.outcomes[0].seeds) == 40


def test_a_mean_at_the_edge_takes_no_more_runs_than_one_in_the_middle(monkeypatch):
    counts = set()
    for centre in (0.0, 3.9, 4.1, 100.0):
        one = experiment("one", lambda seed, centre=centre: centre + swings(seed), WANTS)
        report, _ = conducted(monkeypatch, [one])
        counts.add(len(report.outcomes[0].seeds))
    assert counts == {36}


def test_findings_of_two_stages_judge_by_the_interval_of_the_first():
    first, values = [swings(seed) for seed in range(10)], [swings(seed) for seed in range(10)] + [0.0] * 30
    (found,) = find((WANTS,), {MAIN: {"a": values}}, {MAIN: {"a": first}})
    assert found.measured.half_width == pytest.approx(11.92 / math.sqrt(40), rel=1e-3)
    assert found.holds is True


def test_families_are_in_the_order_of_their_first():
    named = [
        one
        for one in papers.load("virtualclock").experiments
        if one.name in ("test-one", "diverse", "firewall")
    ]
    assert len(families.families(named)) == 2
