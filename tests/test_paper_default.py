"""Experiments, settings, runs and simulated time that runs as claims need leave out."""

import dataclasses

import pytest

import tidegate_papers as papers
from conftest import call
from test_paper_stopping import WANTS, conducted, experiment, swings
from tidegate.stopping import LEAST
from tidegate_papers.claims import MAIN, Claim
from tidegate_papers.paper import Measure

BESIDE = "beside"


@pytest.fixture(params=papers.names())
def paper(request):
    return papers.load(request.param)


def test_nothing_that_is_left_out_is_required(paper):
    left_out = [one for one in paper.experiments if one.only_full]
    assert not any(claim.required for one in left_out for claim in one.claims)
    taken = {one.measure.after for one in paper.experiments if not one.only_full}
    assert not taken & {one.name for one in left_out}
    chosen = paper.chosen((), as_needed=True)
    assert [one for one in paper.chosen(()) if one not in chosen] == left_out
    assert paper.chosen((), everything=True, as_needed=True) == list(paper.experiments)
    for one in left_out:
        assert one in paper.chosen([one.name], as_needed=True)


def test_claims_read_no_setting_that_is_only_drawn(paper):
    for one in paper.chosen(()):
        measure = one.measure
        drawn, carried_out = set(measure.drawn), measure.settings.keys() - set(measure.drawn)
        assert drawn < measure.settings.keys() or not drawn
        for claim in one.claims if measure.reads is not None else ():
            read = measure.read_by(claim.name)
            assert read
            assert read <= carried_out | {measure.after}, claim.name


def test_brief_runs_keep_their_warm_up_and_full_ones_their_length(paper):
    for one in paper.chosen(()):
        if one.measure.needs is not None:
            continue
        whole, brief = one.scenarios(), one.scenarios(as_needed=True)
        assert brief.keys() == whole.keys() - set(one.measure.drawn)
        named = {} if one.brief is None or isinstance(one.brief, str) else one.brief
        assert named.keys() <= brief.keys()
        for name, scenario in brief.items():
            shortened = isinstance(one.brief, str) or name in named
            assert scenario.warmup == whole[name].warmup
            assert scenario.warmup < scenario.duration
            assert (scenario.duration < whole[name].duration) == shortened
            assert shortened or scenario.toml == whole[name].toml


def two_settings(*, reads, drawn=()):
    """Return an experiment whose figure swings under one of two settings, and is still under the other."""

    def figures(runs, _):
        columns = {MAIN: {"a": [swings(seed) for seed in runs[MAIN].seeds]}}
        if BESIDE in runs:
            columns[MAIN]["b"] = [1.0 for _ in runs[BESIDE].seeds]
        return columns

    claims = (WANTS, *(() if drawn else (Claim("b", paper=1.0, tolerance=1.0, required=True),)))
    one = experiment("one", swings, WANTS)
    settings = {MAIN: (), BESIDE: (("seed", "100"),)}
    return dataclasses.replace(
        one, claims=claims, measure=Measure(figures, settings, reads=reads, drawn=drawn)
    )


@pytest.mark.parametrize(("reads", "beside"), [(None, 36), ({"a": (MAIN,), "b": (BESIDE,)}.get, LEAST)])
def test_a_setting_has_as_many_runs_as_the_claims_that_read_it_need(monkeypatch, reads, beside):
    report, carried = conducted(monkeypatch, [two_settings(reads=reads)])
    [outcome] = report.outcomes
    assert {name: len(each) for name, each in outcome.fingerprints.items()} == {MAIN: 36, BESIDE: beside}
    assert (len(outcome.seeds), carried) == (36, 36 + beside)
    assert [one["runs"] for one in report.document()["claims"]] == [36, beside]


def test_a_setting_that_is_only_drawn_runs_with_a_stated_number_of_replications(monkeypatch):
    one = two_settings(reads=None, drawn=(BESIDE,))
    report, carried = conducted(monkeypatch, [one])
    assert (report.outcomes[0].fingerprints.keys(), carried) == ({MAIN}, 36)
    report, carried = conducted(monkeypatch, [one], replications=1)
    assert (report.outcomes[0].fingerprints.keys(), carried) == ({MAIN, BESIDE}, 8)


def test_an_experiment_takes_earlier_figures_of_as_many_runs_as_the_claims_that_read_them_need(monkeypatch):
    still = experiment("still", lambda _: 1.0, WANTS)
    late = experiment("late", swings, WANTS, after="still")

    def figures(results, earlier):
        assert len(earlier["still"][MAIN]["a"]) == LEAST
        return {MAIN: {"a": [swings(seed) for seed in results[MAIN].seeds]}}

    apart = dataclasses.replace(late.measure, figures=figures, reads=lambda _: (MAIN,))
    report, carried = conducted(monkeypatch, [still, dataclasses.replace(late, measure=apart)])
    assert [len(outcome.seeds) for outcome in report.outcomes] == [LEAST, 36]
    assert carried == 36, "both look at the same runs"


def test_the_command_says_what_took_how_long_and_what_was_left_out(monkeypatch):
    paper = papers.load("virtualclock")
    by_name = {one.name: one for one in paper.experiments}
    short = [("duration", "30s"), ("warmup", "1s")]
    few = tuple(
        dataclasses.replace(one, sets=short, times=0.1, brief=None)
        for one in (by_name["test-one"], by_name["spectrum"])
    )
    monkeypatch.setattr(papers, "load", lambda _: dataclasses.replace(paper, experiments=few))
    monkeypatch.setattr("tidegate_papers.command.SHOWN", 0.0)
    printed = call("paper", "virtualclock").stdout
    assert "Test One (section 4.2.1)" in printed
    assert "Average interval (" not in printed
    assert "left out, since nothing of them is required (--full runs them): spectrum" in printed
    assert "CPU seconds:" in printed
    assert "left out" not in call("paper", "virtualclock", "--replications", 1).stdout
    document = papers.conduct(papers.load("virtualclock")).document()
    assert document["left_out"] == ["spectrum"]
