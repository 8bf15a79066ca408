"""`tidegate compare` compares policies: whole, in the order asked, readable in a table and in a figure."""

import json
import random
from pathlib import Path

import pytest

import tidegate
from conftest import CHAIN, call
from tidegate import TidegateError, plots
from tidegate.comparison_columns import of_settings, split
from tidegate.plots import panels, style
from tidegate.summary import Estimate

BLOAT = Path(__file__).parents[1] / "examples" / "bufferbloat.toml"
LIMITED = '"virtual-clock", dropper = { kind = "drop-tail", limit = "2p" } }'
SIX = "fifo,codel,fq-codel,pie,virtual-clock,wf2q-plus"


def headings(shown: str) -> list[list[str]]:
    """Return the words above each rule of a table."""
    lines = shown.splitlines()
    return [lines[at - 1].split() for at, line in enumerate(lines) if line.startswith("──")]


def test_six_policies_on_two_cubic_flows_and_a_call(tmp_path: Path) -> None:
    out = tmp_path / "bloat"
    run = ("--replications", 2, "--set", "duration=12s", "--out", out)
    done = call("compare", BLOAT, "--policy", SIX, *run)
    assert done.exit_code == 0, done.stderr
    table, _, where = done.stdout.partition("results in ")
    assert max(map(len, table.splitlines())) <= 100
    assert "fq-codel" in where
    # A table for each metric, throughput first, with the policies as rows in the order asked.
    assert headings(done.stdout)[0][0] == "throughput"
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.split()[:1] and " ± " in line]
    assert rows[:6] == SIX.split(",")
    assert "/ack" not in done.stdout.split("without 1 group of answers")[0]
    # RFC 8290: a flow below its share does not wait for those that are backlogged.
    results = {name: tidegate.Results.load(out / name) for name in SIX.split(",")}
    wait = {
        name: row.queueing_mean.mean
        for name, one in results.items()
        for row in one.groups()
        if row.group == "call"
    }
    assert wait["fq-codel"] < 0.010 < wait["pie"] < wait["fifo"]
    done = call("plot", out, "--out", tmp_path / "bloat.png")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "bloat.png").stat().st_size > 20_000


def test_a_figure_has_throughput_first_and_policies_in_the_order_asked() -> None:
    names = ["virtual-clock", "red", "fifo", "codel"]
    comparison = tidegate.compare(BLOAT, names, replications=2, sets=[("duration", "7s")])
    figure = plots.comparison(comparison)
    first = figure.axes[0]
    assert first.get_title(loc="left") == "Throughput"
    assert [handle.get_label() for handle in first.containers] == names
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["call", "upload"]
    asked = plots.comparison(comparison, ["upload/ack"])
    assert [tick.get_text() for tick in asked.axes[0].get_yticklabels()] == ["upload/ack"]


def test_results_that_were_written_are_drawn_in_the_order_asked(tmp_path, monkeypatch) -> None:
    drawn: list[list[str]] = []
    real = plots.comparison

    def noted(compared, *others):
        drawn.append(list(compared))
        return real(compared, *others)

    monkeypatch.setattr(plots, "comparison", noted)
    policies = "virtual-clock + red,fifo,drr++"
    run = ("--replications", 1, "--set", "duration=7s", "--out", tmp_path / "out")
    assert call("compare", BLOAT, "--policy", policies, *run).exit_code == 0
    assert call("plot", tmp_path / "out", "--out", tmp_path / "f.png").exit_code == 0
    assert drawn == [policies.split(",")]


def test_a_policy_stands_in_place_of_the_scenarios_dropper() -> None:
    text = CHAIN.replace('"virtual-clock" }', LIMITED)
    whole = tidegate.compare(text, ["fifo", "virtual-clock"], replications=1)
    bare = tidegate.compare(CHAIN, ["fifo", "virtual-clock"], replications=1)
    prints = [[one.fingerprints for one in compared.results.values()] for compared in (whole, bare)]
    assert prints[0] == prints[1]


def test_schedulers_alone_keep_the_scenarios_dropper(tmp_path: Path) -> None:
    path = tmp_path / "limited.toml"
    path.write_text(CHAIN.replace('"virtual-clock" }', LIMITED))
    done = call("compare", path, "--scheduler", "fifo,virtual-clock", "--replications", 1, "--json")
    prints = json.loads(done.stdout)["fingerprints"]
    expected = tidegate.simulate(path, sets=[("port.scheduler", "fifo")]).fingerprints
    assert prints["fifo"] == list(expected)
    assert prints["fifo"] != list(tidegate.simulate(path, sets=[("port.policy", "fifo")]).fingerprints)


def test_a_column_has_settings_of_its_own() -> None:
    small = "small: port.policy=red(max_p=0.5), switch.buffer=20p"
    columns = ("--column", small, "--column", "as it is:", "--column", "switch.buffer=9p")
    done = call(
        "compare", BLOAT, "--policy", "fifo", *columns, "--replications", 1, "--json", "--set", "duration=7s"
    )
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["policies"] == ["fifo", "small", "as it is", "switch.buffer=9p"]
    base = ("duration", "7s")
    expected = tidegate.simulate(
        BLOAT, sets=[base, ("port.policy", "red(max_p=0.5)"), ("switch.buffer", "20p")]
    )
    assert document["fingerprints"]["small"] == list(expected.fingerprints)
    assert document["fingerprints"]["as it is"] == document["fingerprints"]["fifo"]
    by_name = tidegate.compare(BLOAT, {"a": [], "b": [("switch.buffer", "20p")]}, replications=1, sets=[base])
    assert by_name.policies == ("a", "b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "fifo"], "at least two"),
        (["--policy", "fifo,fifo"], "`fifo` is named twice"),
        (["--policy", "fifo,htb"], "policy htb: there is no policy `htb`"),
        (["--policy", "fifo,DropTail"], 'write policy = "fifo"'),
        (["--policy", "fifo,virtual-clok"], "did you mean `virtual-clock`"),
        (["--policy", "fifo,fq-codel+red"], "takes no other dropper"),
        (["--scheduler", "fifo,codel"], "`codel` is a dropper"),
        (["--policy", "fifo", "--column", "small"], "`small` is no setting"),
        (["--policy", "fifo", "--column", "a: port.polcy=red"], "did you mean `policy`"),
        (["--policy", "fifo,red", "--groups", "cal"], "did you mean `call`"),
        ([], "at least two"),
    ],
)
def test_what_cannot_be_compared_is_answered_with_what_to_write(options: list[str], said: str) -> None:
    done = call("compare", BLOAT, *options, "--replications", 1, "--set", "duration=6s")
    assert done.exit_code == 1, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_list_is_split_at_the_commas_outside_brackets() -> None:
    assert split("fifo, red(min_th=2p, max_th=9p),{ kind = 'a', b = 1 },") == [
        "fifo",
        "red(min_th=2p, max_th=9p)",
        "{ kind = 'a', b = 1 }",
    ]
    assert of_settings("a: x=1, y=[2, 3]") == ("a", [("x", "1"), ("y", "[2, 3]")])
    assert of_settings("x=1:2") == ("x=1:2", [("x", "1:2")])
    with pytest.raises(TidegateError, match="empty"):
        of_settings(" ")


def test_tables_of_many_policies_hold_a_hundred_columns(tmp_path: Path) -> None:
    """Whatever is compared: policies with parameters, groups with long names, rare losses."""
    rng = random.Random(5)
    pool = ["fifo", "red(min_th=2p, max_th=9p)", "fq-codel", "virtual-clock + red", "drr++ + pie(scope=flow)"]
    pool += ["wf2q-plus", "codel", "strict-priority", "drr", "sfq + codel(target=10ms, scope=flow)"]
    for case in range(4):
        groups = "".join(
            f"""[[flow]]
name = "{"g" * rng.randint(1, 40)}{number}"
from = "s1"
to = "s3"
size = "{rng.randint(50, 1500)}B"
reserve = "10kbit"
source = {{ kind = "poisson", rate = "{rng.choice((9, 90, 900))}kbit" }}
"""
            for number in range(rng.randint(1, 6))
        )
        path = tmp_path / f"{case}.toml"
        path.write_text(CHAIN.split("[[flow]]")[0] + groups)
        policies = ",".join(rng.sample(pool, rng.randint(4, 10)))
        done = call("compare", path, "--policy", policies, "--replications", 2)
        assert done.exit_code == 0, done.stderr
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= 100, policies
        for name in split(policies):
            assert sum(line.startswith(name) for line in lines) >= 6, name


def test_an_interval_below_zero_drags_no_axis_over_empty_decades() -> None:
    estimates = {
        "fifo": [Estimate(0.3, 0.01), Estimate(0.25, 0.01)],
        "red": [Estimate(0.02, 0.09), Estimate(0.03, 0.001)],
    }
    axes = style.new_figure(4, 3).subplots()
    panels.points(axes, ["a", "b"], estimates, log=True)
    style.log_time_axis(axes)
    low, high = axes.get_xlim()
    assert 0.02 / 4 < low < 0.02
    assert 0.31 < high < 0.5
    # Zero has no place on the axis, and takes none.
    estimates["codel"] = [Estimate(0.0, 0.1), Estimate(None, None)]
    axes = style.new_figure(4, 3).subplots()
    panels.points(axes, ["a", "b"], estimates, log=True)
    assert axes.get_xlim() == (low, high)
