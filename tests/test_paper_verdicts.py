"""Verdicts of claims: set logic of an interval and a tolerance, on random ones and on every page."""

import dataclasses
import random
import re
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

import tidegate_papers as papers
from tidegate.summary import Estimate
from tidegate_papers import paper as data
from tidegate_papers.claims import MAIN, Claim, find
from tidegate_papers.phrases import allowed, derived, expected, published

ROOT = Path(__file__).parents[1]
SPACE = frozenset(range(-60, 61))
"""Every point at which an interval or a tolerance of these tests may begin or end, in halves."""


def points(low: float, high: float) -> frozenset[int]:
    """The halves in a closed interval."""
    return frozenset(one for one in SPACE if low <= Fraction(one, 2) <= high)


def by_sets(allowed_points: frozenset[int], interval: frozenset[int]) -> bool | None:
    if interval <= allowed_points or allowed_points <= interval:
        return True
    return False if interval.isdisjoint(allowed_points) else None


def drawn(rng: random.Random) -> tuple[Claim, frozenset[int]]:
    """A claim of any kind and the halves that it allows: all of its ends are halves."""
    kind = rng.choice(["tolerance", "factor", "at_most", "at_least"])
    key = rng.choice(["paper", "derived"])
    if kind == "tolerance":
        middle, reach = rng.randint(-10, 10), rng.randint(1, 20) / 2
        return Claim("x", **{key: middle, kind: reach}), points(middle - reach, middle + reach)
    if kind == "factor":
        middle = rng.choice([2, 4, 6, 8])
        return Claim("x", **{key: middle, kind: 2.0}), points(middle / 2, middle * 2)
    limit = rng.randint(-20, 20) / 2
    least, greatest = (-30.0, limit) if kind == "at_most" else (limit, 30.0)
    return Claim("x", **{kind: limit}), points(least, greatest)


def test_a_verdict_is_the_set_logic_of_the_interval_and_what_the_claim_allows() -> None:
    rng = random.Random(8)
    seen = dict.fromkeys([True, False, None], 0)
    for _ in range(3000):
        claim, may = drawn(rng)
        # Within the space: limits are open to one side, and no interval here reaches its end.
        mean, half = rng.randint(-28, 28) / 2, rng.randint(0, 28) / 2
        expected_verdict = by_sets(may, points(mean - half, mean + half))
        assert claim.judge(Estimate(mean, half)) is expected_verdict, (claim, mean, half)
        seen[expected_verdict] += 1
    assert min(seen.values()) > 300, seen


def test_an_interval_outside_the_tolerance_is_a_no_however_wide_it_is() -> None:
    # Table 11 of the Axel report: 3.73 ± 0.80 for 1.6 ± 0.32 was called undecided.
    assert Claim("mean", paper=1.6, tolerance=0.32).judge(Estimate(3.73, 0.80)) is False
    assert Claim("mean", paper=2.8, tolerance=0.56).judge(Estimate(29.0, 16.0)) is False
    assert Claim("mean", paper=53.4, tolerance=10.7).judge(Estimate(53.3, 6.2)) is True
    # The interval contains everything that the claim allows.
    assert Claim("mean", paper=10.0, tolerance=1.0).judge(Estimate(10.5, 2.0)) is True
    assert Claim("mean", paper=10.0, tolerance=1.0).judge(Estimate(12.0, 1.5)) is None
    assert Claim("mean", paper=10.0, tolerance=1.0).judge(Estimate(10.0, None)) is None


@pytest.mark.parametrize("name", papers.names())
def test_every_verdict_of_a_page_follows_from_the_numbers_beside_it(
    name: str, make_paper: ModuleType
) -> None:
    page = (ROOT / "docs" / "papers" / f"{name}.md").read_text(encoding="utf-8")
    judged = 0
    for experiment in papers.load(name).experiments:
        lines = {
            line["figure"]: line
            for line in make_paper.tables(make_paper.between(page, experiment.name))
            if "holds" in line
        }
        for claim in experiment.claims:
            line = lines.get(make_paper.named(claim))
            if line is None:
                assert not claim.judged, claim
                continue
            assert (line["paper"], line.get("derived", "-")) == (published(claim), derived(claim))
            assert line["tolerance"] == allowed(claim)
            possible = {make_paper.VERDICTS[one] for one in make_paper.verdicts(claim, line["measured"])}
            assert line["holds"] in (possible if claim.judged else {""}), (experiment.title, line)
            judged += claim.judged
    assert judged >= 50
    assert make_paper.judged_again(papers.load(name), page) == page


def test_rounded_figures_are_judged_by_all_that_they_may_stand_for(make_paper: ModuleType) -> None:
    claim = Claim("x", paper=10.0, tolerance=1.0)
    assert make_paper.verdicts(claim, "10.00 ± 0.50") == {True}
    assert make_paper.verdicts(claim, "3.73 ± 0.80") == {False}
    # From 8.995 to 11.005: the ends may lie on either side of the tolerance.
    assert make_paper.verdicts(claim, "10.00 ± 1.00") == {True, None}
    assert make_paper.verdicts(claim, "12.0 ± 1.0") == {False, None}
    assert make_paper.verdicts(claim, "10.5 ± <0.0001") == {True}
    assert make_paper.verdicts(claim, "12,345 ± 0") == {False}
    assert make_paper.verdicts(claim, "-") == make_paper.verdicts(claim, "10.2") == {None}
    assert make_paper.verdicts(Claim("x", derived=0, tolerance=0), "0 ± 0") == {True}
    assert make_paper.verdicts(Claim("x", derived=0, tolerance=0), "131 ± 233") == {False}
    assert make_paper.verdicts(Claim("x", at_most=1.3, every=True), "1.15 ± 0.15, worst 1.74") == {False}
    limit = Claim("x", paper=10.0, tolerance=1.0)
    shown = {"figure": "x", "holds": "**no**", "measured": "10.00 ± 1.00"}
    with pytest.raises(ValueError, match="run the paper"):
        make_paper.read(limit, {"x": shown})
    assert make_paper.read(limit, {"x": shown | {"holds": "undecided"}}).holds is None


def test_the_paper_column_holds_what_is_published_and_the_derived_column_the_rest() -> None:
    claims = [
        claim for name in papers.names() for one in papers.load(name).experiments for claim in one.claims
    ]
    assert all(claim.paper is None or claim.derived is None for claim in claims)
    of = {name: {one.name: one for one in papers.load(name).experiments} for name in papers.names()}
    # Kung prints no growth: g solves g² = a((k - 1)g + 1)/k, with k RTT between two allocations and
    # M = 2a RTT + 2 N.
    for claim in of["credit"]["ramp-up"].claims:
        assert claim.paper is None
        intervals = int(re.search(r"every (\d) RTT", claim.name)[1])
        pool = re.search(r"M = (\d) RTT", claim.name)
        alpha = int(pool[1]) / 2 if pool else 2
        b = alpha / 2 * (intervals - 1) / intervals
        growth = b + (b * b + alpha / intervals) ** 0.5
        if "two allocations" in claim.name:
            growth *= growth
        assert claim.derived == pytest.approx(growth, abs=5e-4), claim.name
    # The Axel report has no zeros: they follow from what it says of the disciplines.
    zeros = [
        claim for one in of["axel"].values() for claim in one.claims if 0 in (claim.paper, claim.derived)
    ]
    assert len(zeros) == 11
    assert all(claim.paper is None for claim in zeros)


def test_differences_of_published_figures_are_derived() -> None:
    patterns = {one.name: one for one in papers.load("virtualclock").experiments}["patterns"]
    by_name = {claim.name: claim for claim in patterns.claims}
    for hops in ("1 hop", "2 hops", "3 hops"):
        even, poisson, trains = (
            by_name[f"queueing delay, {kind}, {hops}"].paper
            for kind in ("constant rate", "Poisson", "packet train")
        )
        assert by_name[f"constant rate below the others, {hops}"].derived == pytest.approx(poisson - even)
        assert by_name[f"packet train above Poisson, {hops}"].derived == pytest.approx(trains - poisson)


def test_a_derived_reference_is_said_to_be_one() -> None:
    claim = Claim("growth", derived=1.414, tolerance=0.07)
    assert (published(claim), derived(claim), expected(claim)) == ("-", "1.414", "derived 1.414")
    assert expected(Claim("x", paper=2.0, at_least=1)) == "published 2"
    assert expected(Claim("x", at_least=1)) == "≥ 1"
    (finding,) = find((claim,), {MAIN: {"growth": [1.41, 1.42]}})
    assert finding.holds is True
    paper = papers.load("credit")
    experiment = dataclasses.replace(paper.experiments[0], claims=(claim,), tables=())
    outcome = papers.Outcome(experiment, (finding,), (1, 2), 1.0, 0.0, {}, {})
    document = papers.Report(paper, 2, (outcome,), 1.0, "").document()
    assert (document["claims"][0]["paper"], document["claims"][0]["derived"]) == (None, 1.414)


def test_a_tolerance_is_a_share_of_a_published_or_a_derived_figure() -> None:
    assert data._claim({"claim": "x", "derived": 2.0, "within": 0.05}, {}).tolerance == pytest.approx(0.1)
    assert data._claim({"claim": "x", "paper": 2.0, "within": 0.05}, {}).tolerance == pytest.approx(0.1)
