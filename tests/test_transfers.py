"""Transfers: their table, quantiles by size, what the command prints, and the figure."""

import itertools
import json
import math
from pathlib import Path

import pytest

import tidegate
from conftest import call
from tidegate import Results, plots

TEXT = """\
version = 1
name = "web"
duration = "6s"
topology = { kind = "dumbbell", pairs = 1, rate = "20mbit", delay = "1ms" }
port = "fq-codel"
"""
CONNECTION = """
[[connection]]
name = "NAME"
count = 200
from = "l1"
to = "r1"
size = "1500B"
transport = "tcp"
data = { kind = "transfers", DATA, arrivals = "poisson", load = 0.3, once = true }
"""
MANY = CONNECTION.replace("NAME", "many").replace("DATA", 'size = "20kB", sizes = "exponential"')
FEW = CONNECTION.replace("NAME", "few").replace("DATA", 'size = ["100B", "30kB"]')


def drawn(results: Results) -> list[str]:
    """The titles of the panels of a figure."""
    return [axes.get_title(loc="left") for axes in plots.overview(results).axes]


@pytest.fixture(scope="module")
def results() -> Results:
    return tidegate.simulate(TEXT + MANY + FEW, replications=2)


def test_every_transfer_has_a_row(results: Results) -> None:
    rows = results.transfers.to_pylist()
    for seed in results.seeds:
        of_run = [row for row in rows if row["seed"] == seed]
        assert {row["group"] for row in of_run} == {"many", "few"}
        assert len({row["connection"] for row in of_run}) == len(of_run)
        assert all(row["number"] == 0 for row in of_run)
        ended = [row for row in of_run if row["end"] is not None]
        assert len(ended) > 300
        for row in ended:
            assert row["start"] <= row["first_byte"] < row["end"]
            assert math.isclose(row["completion"], row["end"] - row["start"], abs_tol=1e-9)
            assert row["slowdown"] > 1 - 1e-9


def test_quantiles_are_of_each_size_or_of_decades(results: Results) -> None:
    few = [row for row in results.transfer_rows() if row.group == "few"]
    assert [(row.smallest, row.largest) for row in few] == [(100, 100), (30_000, 30_000)]
    many = [row for row in results.transfer_rows() if row.group == "many"]
    assert len(many) > 2
    for before, row in itertools.pairwise(many):
        assert before.largest < row.smallest
    rows = results.transfers.to_pylist()
    for summary in (*few, *many):
        assert math.ceil(math.log10(summary.largest)) - math.ceil(math.log10(summary.smallest)) == 0
        within = [
            row
            for row in rows
            if row["group"] == summary.group and summary.smallest <= row["size"] <= summary.largest
        ]
        ended = [row for row in within if row["end"] is not None]
        assert (summary.transfers, summary.unfinished) == (len(ended), len(within) - len(ended))
        for metric in ("completion", "slowdown"):
            values = sorted(row[metric] for row in ended)
            for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
                assert getattr(summary, f"{metric}_{name}") == values[math.ceil(q * len(values)) - 1]
        assert math.isclose(summary.slowdown_mean, sum(row["slowdown"] for row in ended) / len(ended))


def test_transfers_are_printed_drawn_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TEXT + MANY + FEW)
    shown = call("run", tmp_path / "a.toml", "--out", tmp_path / "out")
    assert shown.exit_code == 0
    assert "slowdown: completion time of a transfer over that on the empty network" in shown.stdout
    assert call("plot", tmp_path / "out", "--out", tmp_path / "a.png").exit_code == 0
    loaded = Results.load(tmp_path / "out")
    titles = drawn(loaded)
    assert "Completion times of transfers" in titles
    assert "Slowdown by size" in titles
    document = json.loads(call("run", tmp_path / "a.toml", "--json").stdout)
    assert len(document["transfers"]) == loaded.transfers.num_rows


def test_a_scenario_without_transfers_shows_none() -> None:
    text = TEXT + MANY.replace(MANY[MANY.index("data =") :], "").replace("count = 200", "count = 2")
    results = tidegate.simulate(text)
    assert results.transfers.num_rows == 0
    assert list(results.transfer_rows()) == []
    assert "Slowdown by size" not in drawn(results)
