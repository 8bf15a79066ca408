"""Published figures beside ours: what holds, and the command that says so."""

import dataclasses
import json
import math
import os
import signal
import tomllib
from pathlib import Path

import pytest

import tidegate_papers as papers
from captures import DATA
from conftest import call, start
from test_process import wait_for_threads
from tidegate import TidegateError
from tidegate.summary import Estimate
from tidegate.toml import loads
from tidegate_papers import paper as data
from tidegate_papers import planned
from tidegate_papers.axel.common import POLICIES
from tidegate_papers.claims import MAIN, Claim, find
from tidegate_papers.phrases import allowed, derived, figure, label, measured, published
from tidegate_papers.virtualclock.burstiness import Point, at_delay

DOCS = Path(__file__).parents[1] / "docs"
SHORT = (("duration", "4s"), ("warmup", "1s"), ("sample", "100ms"))
KEYS = {"claim", "paper", "measured", "ci95", "tolerance", "required", "holds"}


@pytest.fixture
def short(monkeypatch):
    """Make every paper's runs short."""
    load = data.load

    def shortened(name):
        paper = load(name)
        experiments = tuple(dataclasses.replace(one, sets=SHORT) for one in paper.experiments)
        return dataclasses.replace(paper, experiments=experiments)

    monkeypatch.setattr(papers, "load", shortened)


@pytest.fixture(params=papers.names())
def paper(request):
    return papers.load(request.param)


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([10.9, 11.0, 10.9, 11.0], None),
        ([10.8, 10.9, 10.8, 10.9], True),
        ([11.1, 11.2, 11.1, 11.2], False),
        # 11.75 ± 2.7 begins at the published figure, and ends far outside.
        ([10.0, 14.0, 11.0, 12.0], None),
        # ± 0.57 is within ± 1.
        ([9.6, 10.4, 9.8, 10.2], True),
        ([10.0, None, 10.0], True),
        ([10.0], None),
        ([None, None], None),
        ([], None),
    ],
)
def test_a_figure_holds_when_its_interval_is_within_the_tolerance_and_not_when_they_do_not_meet(
    values, holds
):
    assert Claim("x", paper=10.0, tolerance=1.0).holds(values) is holds


def test_where_the_interval_ends_at_the_tolerance_it_is_decided():
    # Two values d apart have the half interval 12.706·d/2: it begins just outside, just inside.
    values = [12.0, 12.1]
    low = 12.05 - 12.7062047364 * 0.05
    assert Claim("x", paper=10.0, tolerance=(low - 10) * 0.9999).holds(values) is False
    assert Claim("x", paper=10.0, tolerance=(low - 10) * 1.0001).holds(values) is None


@pytest.mark.parametrize(
    ("values", "at_most", "at_least"),
    [
        ([1.0, 1.0, 1.0], True, True),
        ([0.8, 0.79, 0.8], True, False),
        ([1.2, 1.21, 1.2], False, True),
        ([0.0, 1.0, 1.5], None, None),
        ([0.5], None, None),
        ([None], None, None),
    ],
)
def test_a_limit_is_undecided_while_it_lies_within_the_interval(values, at_most, at_least):
    assert Claim("x", at_most=1.0).holds(values) is at_most
    assert Claim("x", at_least=1.0).holds(values) is at_least


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([4.1, 4.11, 4.1, 4.11], True),
        ([24.9, 24.91, 24.9, 24.91], True),
        ([3.9, 3.91, 3.9, 3.91], False),
        ([25.1, 25.11, 25.1, 25.11], False),
        # The lower limit, 4, lies within the interval.
        ([3.0, 6.0, 4.5], None),
        ([10.0], None),
        ([None], None),
    ],
)
def test_a_factor_is_a_limit_on_either_side(values, holds):
    assert Claim("x", paper=10.0, factor=2.5).holds(values) is holds


@pytest.mark.parametrize(
    ("values", "at_most", "at_least"),
    [
        ([0.2, 0.9, 1.0], True, False),
        # The mean is within the limit, one run is not.
        ([0.2, 0.3, 1.1], False, False),
        ([1.0, 5.0, 2.0], False, True),
        ([0.5], True, False),
        ([None], None, None),
    ],
)
def test_a_limit_on_every_replication_is_decided_by_the_worst(values, at_most, at_least):
    assert Claim("x", at_most=1.0, every=True).holds(values) is at_most
    assert Claim("x", at_least=1.0, every=True).holds(values) is at_least


def test_the_worst_replication_is_the_one_closest_to_the_limit():
    values = [0.2, None, 0.9, 0.4]
    assert Claim("x", at_most=1.0, every=True).worst(values) == 0.9
    assert Claim("x", at_least=0.1, every=True).worst(values) == 0.2
    assert Claim("x", at_most=1.0).worst(values) is None
    assert Claim("x", at_most=1.0, every=True).worst([None]) is None
    (finding,) = find((Claim("a", at_most=1.0, every=True),), {MAIN: {"a": [0.5, 0.75]}})
    assert measured(finding).endswith(", worst 0.75")
    assert allowed(finding.claim) == "≤ 1 in each run"


def test_what_must_be_exact_is_decided_by_every_replication():
    losses = Claim("losses", paper=0, tolerance=0)
    assert losses.holds([0, 0, 0]) is True
    assert losses.holds([0, 0, 1]) is False
    assert losses.holds([0]) is True
    assert losses.holds([None]) is None


def test_a_figure_without_tolerance_and_limit_is_not_judged():
    assert not Claim("x", paper=1.0).judged
    assert Claim("x", paper=1.0).holds([1.0, 1.0]) is None


def test_findings_hold_what_stands_beside():
    claims = (Claim("a", paper=1.0, tolerance=0.5, why="because"), Claim("b"))
    columns = {MAIN: {"a": [3.0, 3.0], "b": [4.0, 6.0]}, "FIFO": {"a": [9.0, 9.0]}}
    first, second = find(claims, columns)
    assert (first.measured, first.holds, first.why) == (Estimate(3.0, 0.0), False, "because")
    assert first.beside == {"FIFO": Estimate(9.0, 0.0)}
    assert (second.measured.mean, second.holds, second.why, second.beside) == (5.0, None, None, {})
    with pytest.raises(KeyError):
        find((Claim("c"),), columns)


def test_figures_are_shown_to_two_digits_of_their_interval():
    shown = [(91138.7, 3486.1), (9.0213, 0.2188), (0.86194, 0.00158), (0, 0.0), (47.4, 6.83), (1.0, 1e-6)]
    assert [figure(Estimate(*one)) for one in shown] == [
        "91,139 ± 3,486",
        "9.02 ± 0.22",
        "0.8619 ± 0.0016",
        "0 ± 0",
        "47.4 ± 6.8",
        "1 ± <0.0001",
    ]
    assert [figure(Estimate(*one)) for one in [(9.0213, None), (None, None)]] == ["9.021", "-"]
    claims = [Claim("", paper=47106, tolerance=7065.9), Claim("", at_most=0), Claim("", paper=0, tolerance=0)]
    assert [published(one) for one in claims] == ["47,106", "-", "0"]
    assert [allowed(one) for one in claims] == ["± 7,070", "≤ 0", "exact"]


def test_the_data_of_every_paper_are_complete(paper):
    assert paper.title
    assert paper.reference
    assert all(choice.what and choice.chosen and choice.why for choice in paper.choices)
    raw = data.read(data.folder(paper.name))
    used = {claim.get("why") for one in raw["experiment"] for claim in one.get("claims", ())} - {None}
    assert used == set(raw["why"]), "explanations without a claim"
    for experiment in paper.experiments:
        names = [claim.name for claim in experiment.claims]
        assert len(names) == len(set(names))
        assert len(experiment.about) + len(experiment.title) < 90
        for claim in experiment.claims:
            ways = (claim.tolerance, claim.factor, claim.at_most, claim.at_least)
            assert sum(way is not None for way in ways) <= 1
            assert claim.factor is None or (claim.reference and claim.factor > 1)
            assert not claim.every or (claim.at_most, claim.at_least) != (None, None)
            assert claim.tolerance is None or (claim.reference is not None and claim.tolerance >= 0)
            assert claim.judged or not claim.required
            assert not claim.unmet or (claim.required and claim.why)
            assert all(math.isfinite(value) for value in (claim.reference, *ways) if value is not None)


def test_every_scenario_of_a_paper_runs_on_its_own(paper):
    for path in {experiment.scenario for experiment in paper.experiments}:
        assert call("check", path).exit_code == 0
    folder = data.folder(paper.name)
    parts = {data.DATA, *tomllib.loads((folder / data.DATA).read_text()).get("parts", ())}
    assert {one.scenario.name for one in paper.experiments} | parts == {
        path.name for path in folder.glob("*.toml")
    }


def test_runs_are_of_the_published_length():
    paper = papers.load("virtualclock")
    lengths = {}
    for experiment in paper.experiments:
        for scenario in experiment.scenarios().values():
            lengths[experiment.name] = scenario.duration - scenario.warmup
    published = {"test-one": 10, "diverse": 10, "firewall": 5, "patterns": 10, "burstiness": 10}
    assert {name: lengths[name] / 60 for name in published} == published


def test_eighteen_flows_cross_every_link_of_test_one_and_170_packets_a_second_those_of_diverse_rates():
    for name, expected in (("test-one", 18 * 10), ("diverse", 170)):
        scenario = tomllib.loads((data.HERE / "virtualclock" / f"{name}.toml").read_text())
        load = {}
        for flow in scenario["flow"]:
            first, last = int(flow["from"][1]), int(flow["to"][1])
            step = 1 if last > first else -1
            rate = int(flow["reserve"].removesuffix("kbit")) / 2 * flow.get("count", 1)
            for at in range(first, last, step):
                load[at, at + step] = load.get((at, at + step), 0) + rate
        assert load == dict.fromkeys([(1, 2), (2, 3), (3, 4), (2, 1), (3, 2), (4, 3)], expected)


def test_the_utilisation_at_a_delay_is_read_off_between_two_points():
    curve = [Point(1.0, 0.5), Point(4.0, 0.7), Point(8.0, 0.8)]
    assert at_delay(curve, 2.0) == pytest.approx(0.6)
    assert at_delay(curve, 4.0) == pytest.approx(0.7)
    assert at_delay(curve, 0.5) is None
    assert at_delay(curve, 9.0) is None
    assert at_delay([Point(math.nan, 0.5), Point(4.0, 0.7)], 2.0) is None


def test_the_command_lists_the_papers():
    done = call("paper")
    assert done.exit_code == 0
    assert "virtualclock" in done.stdout
    listed = json.loads(call("paper", "--json").stdout)["papers"]
    assert [one["paper"] for one in listed] == papers.names()


@pytest.mark.usefixtures("short")
def test_a_paper_from_end_to_end(tmp_path):
    out = tmp_path / "out"
    done = call("paper", "virtualclock", "--replications", 2, "--jobs", 2, "--json", "--out", out)
    document = json.loads(done.stdout)
    assert (document["paper"], document["replications"]) == ("virtualclock", 2)
    claims = document["claims"]
    assert all(claim.keys() >= KEYS for claim in claims)
    assert len({claim["claim"] for claim in claims}) == len(claims) == len(papers.load("virtualclock").claims)
    assert {claim["holds"] for claim in claims} <= {True, False, None}
    broken = any(claim["required"] and claim["holds"] is False for claim in claims)
    assert done.exit_code == (3 if broken else 0)
    by_name = {claim["claim"]: claim for claim in claims}
    one = by_name["Test One: queueing delay, 1 hop"]
    assert (one["paper"], one["unit"], one["required"]) == (7.76, "ms", True)
    assert one["tolerance"] == pytest.approx(0.15 * 7.76)
    assert by_name["Firewalls: losses"]["beside"]["FIFO"]["measured"] > 0
    of_paper = [claim for one in papers.load("virtualclock").experiments for claim in one.claims]
    assert len(document["figures"]) + len(claims) == len(of_paper)
    assert json.loads((out / "claims.json").read_text()) == document
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["format"] == "tidegate report"
    assert manifest["experiments"]["firewall"]["fingerprints"].keys() == {"", "FIFO"}
    figures = sorted(path.name for path in out.glob("*.png"))
    assert figures == sorted(f"{name}.png" for name in manifest["experiments"])
    assert all((out / name).stat().st_size > 10_000 for name in figures)


@pytest.mark.usefixtures("short")
def test_the_table_says_what_holds():
    done = call("paper", "virtualclock", "--replications", 1)
    assert done.exit_code in (0, 3)
    for word in ("Test One (section 4.2.1)", "queueing delay, 1 hop (ms) *", "undecided", "FIFO", "exact"):
        assert word in done.stdout
    assert "no interval from one run" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_chosen_experiments_run_with_those_whose_figures_they_take():
    paper = papers.load("virtualclock")
    assert [one.name for one in paper.chosen(["firewall"])] == ["test-one", "firewall"]
    assert [one.name for one in papers.load("vsvd").chosen(["figure-12"])] == ["figure-12"]
    asked = papers.load("vsvd").chosen(["tcp-transient", "figure-11"])
    assert [one.name for one in asked] == ["figure-11", "tcp-transient"], "also those on request"
    for one in map(papers.load, papers.names()):
        names = [experiment.name for experiment in one.experiments]
        after = [experiment.measure.after for experiment in one.experiments]
        assert all(name is None or names.index(name) < at for at, name in enumerate(after))


def test_one_figure_is_one_command(tmp_path):
    done = call("paper", "vsvd", "figure-12", "--replications", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "Figure 12" in done.stdout
    assert "Figure 11" not in done.stdout
    assert (tmp_path / "out" / "figure-12.png").is_file()


@pytest.mark.usefixtures("short")
def test_jobs_change_nothing():
    paper = papers.load("virtualclock")
    few = dataclasses.replace(paper, experiments=paper.experiments[:1])
    shares = []
    one = papers.conduct(few, replications=3, jobs=1, progress=shares.append).document()
    assert one == papers.conduct(few, replications=3, jobs=2).document()
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["virtualclok"], "did you mean `virtualclock`"),
        (["zzz"], "there are allocated-capacity, axel, credit, virtualclock, vsvd"),
        (
            ["vsvd", "figure-21"],
            "paper `vsvd` has no experiment `figure-21`\n  help: did you mean `figure-12`?",
        ),
        (["virtualclock", "--replications", 0], "replications must be at least 1"),
        (["virtualclock", "--full", "--replications", 3], "only one can be given"),
        (["virtualclock", "--jobs", 0], "jobs must be at least 1"),
    ],
)
def test_bad_input_is_one_message(arguments, words):
    done = call("paper", *arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("tidegate: ")
    assert words in done.stderr


def test_an_output_that_cannot_be_written_is_refused_before_the_runs(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    for out, words in (
        (tmp_path / "mine", "holds no report of tidegate"),
        ("/proc/out", "cannot be written"),
    ):
        done = call("paper", "virtualclock", "--out", out)
        assert (done.exit_code, done.stdout) == (1, "")
        assert words in done.stderr


def test_an_interrupted_paper_leaves_nothing(tmp_path):
    process = start("paper", "virtualclock", "--replications", 500, "--jobs", 2, "--out", tmp_path / "out")
    wait_for_threads(process, 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "tidegate: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_paper_without_a_scenario_is_an_error_before_anything_runs(paper, tmp_path):
    missing = dataclasses.replace(paper.experiments[-1], scenario=tmp_path / "none.toml")
    broken = dataclasses.replace(paper, experiments=(*paper.experiments[:-1], missing))
    with pytest.raises(TidegateError, match=r"none\.toml"):
        papers.conduct(
            broken,
            only=(paper.experiments[0].name, missing.name),
            progress=lambda _: pytest.fail("it ran"),
        )


def test_the_page_of_a_paper_holds_its_data(paper, make_paper):
    page = (DOCS / "papers" / f"{paper.name}.md").read_text()
    assert make_paper.choices(paper) in page
    for experiment in paper.experiments:
        start, end = (page.index(f"<!-- {mark}{experiment.name} -->") for mark in ("", "/"))
        lines = [line for line in page[start:end].splitlines() if line[:1] == "|"]
        rows = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in lines]
        listed = [row for row in make_paper.tables(page[start:end]) if "holds" in row]
        shown = {
            (row["figure"].replace("\\", ""), row["paper"], row.get("derived", "-"), row["tolerance"])
            for row in listed
        }
        cells = {table.cell(*place): (table, place) for table in experiment.tables for place in table.places}
        for claim in experiment.claims:
            if claim.name not in cells:
                assert (label(claim), published(claim), derived(claim), allowed(claim)) in shown
                continue
            table, (column, row) = cells[claim.name]
            heading = rows.index((table.heading, *table.columns))
            values = next(one for one in rows[heading:] if one[0] == row)
            cell = values[1 + table.columns.index(column)]
            assert cell.startswith(f"{published(claim)} → ") or claim.paper is None


def test_an_experiment_without_its_recording_is_skipped_with_the_reason(tmp_path, monkeypatch):
    paper = papers.load("virtualclock")
    done, skipped = paper.experiments[:2]
    measure = dataclasses.replace(skipped.measure, needs="film.txt")
    few = (dataclasses.replace(done, sets=SHORT), dataclasses.replace(skipped, measure=measure, sets=SHORT))
    paper = dataclasses.replace(paper, experiments=few)
    monkeypatch.setattr(papers, "load", lambda _: paper)
    printed = call("paper", "virtualclock", "--replications", 1, "--data", tmp_path)
    assert printed.exit_code in (0, 3)
    assert f"{skipped.title}: skipped, there is no file" in printed.stdout
    document = papers.conduct(paper, replications=1).document()
    assert document["skipped"] == {skipped.name: "it plays film.txt; --data names the folder that has it"}
    assert {one["experiment"] for one in document["claims"]} == {done.name}
    film = tmp_path / "film.txt"
    document = papers.conduct(paper, replications=1, recordings=tmp_path).document()
    assert document["skipped"] == {skipped.name: f"there is no file {film}"}
    film.touch()
    assert papers.conduct(paper, replications=1, recordings=tmp_path).document()["skipped"] == {}
    refused = call("paper", "virtualclock", "--data", film)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == f"tidegate: {film}: is not a folder of recordings\n"


@pytest.mark.parametrize(("name", "experiment"), [("axel", "video"), ("credit", "comparison-traced")])
def test_a_recording_is_played_from_the_folder_that_is_named(name, experiment, tmp_path):
    [played] = [one for one in papers.load(name).experiments if one.name == experiment]
    with pytest.raises(TidegateError, match=r"it plays .*; --data names the folder that has it"):
        played.scenarios()
    if not (DATA / played.measure.needs).is_file():
        pytest.skip(f"no recording {DATA / played.measure.needs}")
    # Any name of a folder can be written in a scenario.
    folder = tmp_path / 'of "others" \\ 1989'
    folder.symlink_to(DATA)
    scenarios = played.scenarios(folder)
    assert scenarios.keys() == played.measure.settings.keys()
    path = json.dumps(str(folder / played.measure.needs))
    assert all(path in json.dumps(loads(scenario.toml)) for scenario in scenarios.values())


def test_experiments_that_run_the_same_look_at_the_same_runs(monkeypatch):
    conducted = []
    simulate_all = planned.simulate_all
    monkeypatch.setattr(
        planned, "simulate_all", lambda wanted, **how: conducted.extend(wanted) or simulate_all(wanted, **how)
    )
    paper = papers.load("axel")
    experiments = [one for one in paper.experiments if one.name in ("table-3", "table-7", "table-9")]
    short = tuple(dataclasses.replace(one, sets=[("duration", "100ms")]) for one in experiments)
    shares = []
    report = papers.conduct(
        dataclasses.replace(paper, experiments=short), replications=1, progress=shares.append
    )
    assert len(conducted) == len({one.scenario.toml for one in conducted}) == len(POLICIES)
    assert all(one.workahead == (1.02, 1.0) for one in conducted)
    assert len({str(outcome.fingerprints) for outcome in report.outcomes}) == 1
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("value", "unmet", "said"),
    [
        (1.0, False, []),
        (3.0, False, ["Test One: a: does not hold"]),
        (None, False, ["Test One: a: is undecided"]),
        (1.0, True, ["Test One: a: holds, and is listed as unmet"]),
        (3.0, True, []),
        (None, True, []),
    ],
)
def test_a_required_claim_that_comes_out_otherwise_than_its_data_say_is_named(value, unmet, said):
    paper = papers.load("virtualclock")
    claims = (
        Claim("a", paper=1.0, tolerance=0.5, required=True, unmet=unmet),
        Claim("b", paper=1.0, tolerance=0.5),
    )
    experiment = dataclasses.replace(paper.experiments[0], claims=claims)
    findings = find(claims, {MAIN: {"a": [value, value], "b": [9.0, 9.0]}})
    outcome = papers.Outcome(experiment, tuple(findings), (1, 2), 1.0, 0.0, {}, {})
    assert papers.Report(paper, 2, (outcome,), 1.0, "").unexpected == said


@pytest.fixture(scope="module", params=papers.names())
def report(request):
    """Every experiment of a paper, as `tidegate paper --full` carries it out: minutes."""
    recordings = DATA if DATA.is_dir() else None
    return papers.conduct(papers.load(request.param), replications=papers.FULL, recordings=recordings)


@pytest.mark.skipif("TIDEGATE_VERIFY" not in os.environ, reason="minutes: make verify runs it")
def test_the_page_of_a_paper_holds_what_is_measured(report, make_paper):
    page = (DOCS / "papers" / f"{report.paper.name}.md").read_text()
    for name, body in make_paper.sections(report).items():
        assert f"<!-- {name} -->\n{body}<!-- /{name} -->" in page


@pytest.mark.skipif("TIDEGATE_VERIFY" not in os.environ, reason="minutes: make verify runs it")
def test_required_claims_hold_but_those_known_not_to(report):
    assert report.unexpected == []


@pytest.mark.skipif("TIDEGATE_VERIFY" not in os.environ, reason="minutes: make verify runs it")
@pytest.mark.parametrize("name", papers.names())
def test_as_many_runs_as_claims_need_decide_the_same(name):
    report = papers.conduct(papers.load(name), recordings=DATA if DATA.is_dir() else None)
    assert report.unexpected == []
