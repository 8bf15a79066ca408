"""Figures of sweeps: the points and intervals that are drawn, and over which parameter."""

import pytest

import tidegate
from conftest import call
from sweeping import POLICY, RATE, swept
from tidegate import plots, sweeps

FACTORS = {"throughput": 1e3, "delay_p99": 1e-3, "delay_mean": 1e-3, "lost": 0.01}

RATES = ["128kbit", "8kbit", "32kbit", "64kbit"]


def drawn(axes):
    """Return (x, mean, half interval) of every point of every line by its name."""
    found = {}
    for bars in axes.containers:
        data, _, (ends,) = bars
        segments = [segment[:, 1] for segment in ends.get_segments()]
        found[bars.get_label()] = [
            (x, y, (high - low) / 2) for (x, y), (low, high) in zip(data.get_xydata(), segments, strict=True)
        ]
    return found


def test_every_mean_is_drawn_with_its_interval():
    table = swept(values={RATE: RATES, POLICY: ["fifo", "fq-codel"]}, replications=5)
    figure = plots.sweep(table)
    axes = figure.axes
    assert len(axes) == 2 * 4
    assert axes[0].get_title(loc="left") == "Throughput"
    assert axes[-1].get_xlabel() == "rate"
    assert axes[-1].get_xscale() == "log"
    assert {label.get_text() for label in axes[-1].get_xticklabels()} == set(RATES)
    expected = {
        (row["group"], row[POLICY], float(tidegate.parse_rate(row[RATE]))): row
        for row in sweeps.summary(table).to_pylist()
    }
    panels = [(group, metric) for group in ("voice", "data") for metric in FACTORS]
    for place, (group, metric) in zip(axes, panels, strict=True):
        factor = FACTORS[metric]
        lines = drawn(place)
        assert set(lines) == {"fifo", "fq-codel"}
        for policy, points in lines.items():
            assert [x for x, _, _ in points] == [8e3, 32e3, 64e3, 128e3]
            for x, mean, half_width in points:
                row = expected[group, policy, x]
                assert mean * factor == pytest.approx(row[metric])
                assert half_width * factor == pytest.approx(row[f"{metric}_ci95"], rel=1e-9, abs=1e-9)


def test_names_are_an_axis_of_their_own():
    table = swept(values={POLICY: ["fifo", "fq-codel", "red"]}, replications=2)
    axes = plots.sweep(table, ["voice"]).axes
    assert [label.get_text() for label in axes[-1].get_xticklabels()] == ["fifo", "fq-codel", "red"]
    with pytest.raises(tidegate.TidegateError, match="no group `voise`"):
        plots.sweep(table, ["voise"])


def test_points_that_are_drawn_at_random_are_not_joined():
    values = {RATE: "8kbit..128kbit", "switch.buffer": "5p..50p"}
    table = swept(values=values, design="latin-hypercube", points=30, replications=1)
    (bars,) = plots.sweep(table).axes[0].containers
    assert len(bars[0].get_xdata()) == 30
    assert bars[0].get_linestyle() == "None"


def test_the_command_draws_a_sweep(tmp_path):
    swept(replications=2, out=tmp_path / "out")
    done = call("plot", tmp_path / "out", "--out", tmp_path / "figure.png")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "figure.png").stat().st_size > 20_000
