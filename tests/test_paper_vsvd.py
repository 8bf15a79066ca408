"""The VS/VD paper: its configurations as data, and what single runs of them say."""

import pytest

import tidegate_papers as papers
from tidegate import replications as runs
from tidegate._tidegate import TidegateError, convergence_time, distances, max_min, response_time
from tidegate.source import resolve
from tidegate_papers import paper as data
from tidegate_papers.vsvd import common

FOLDER = data.HERE / "vsvd"


OPTIMUM = 46.656
"""Mbit/s of each VC of the parking lot: a third of the target rate."""


def test_max_min_needs_links_that_exist():
    with pytest.raises(TidegateError, match="flow 0 passes link 3, which does not exist"):
        max_min([1], [[3]])
    with pytest.raises(TidegateError, match="more than 0 s"):
        convergence_time(0.0, [[1.0]], [1.0], [0.0], common.NEAR)
    with pytest.raises(TidegateError, match="every rate has one optimum"):
        response_time(1e-3, [[1.0]], [], 0.1)


def test_convergence_and_distance_of_a_step():
    rate = [10.0] * 30 + [100.0] * 70
    assert convergence_time(1e-3, [rate], [100.0], [0.0] * 100, common.NEAR) == pytest.approx(35e-3)
    assert response_time(1e-3, [rate], [100.0], 0.1) == pytest.approx(31e-3)
    assert distances([rate], [100.0]) == [0.9] * 30 + [0.0] * 70


def test_the_couplings_of_table_2_differ():
    settings = common.couplings()
    assert list(settings) == [*common.SETTINGS, common.PRINTED_B, common.NONE]
    assert len({str(sets) for sets in settings.values()}) == len(settings)


def run(name, coupling):
    return runs.run(resolve(FOLDER / f"{name}.toml", common.couplings()[coupling]), series=True)


@pytest.mark.parametrize("coupling", ["A", "D", common.NONE])
def test_the_parking_lot_comes_to_its_optimum(coupling):
    results = run("parking-lot", coupling)
    vcs = ("vc1", "vc2", "vc3")
    assert common.optima(results, vcs) == pytest.approx([OPTIMUM] * 3)
    for rates in common.acr(results, vcs):
        assert all(rate[-20:].mean() == pytest.approx(OPTIMUM, rel=0.1) for rate in rates)
    (cells,) = common.received(results, vcs)
    # 46.7 Mbit/s for the 180 ms after the first cells have come, and a tenth beside it.
    assert cells == pytest.approx(OPTIMUM * 1e6 / 424 * 0.18 / 1e3, rel=0.25)
    (held,) = common.held(results, "sw2->sw3")
    assert (held > 0) == (coupling != common.NONE)


def test_every_figure_of_the_paper_is_measured():
    paper = papers.load("vsvd")
    assert [one.name for one in paper.experiments][:4] == [
        "two-sources",
        "parking-lot",
        "upstream",
        "transient",
    ]
    assert all(one.where.startswith("section") for one in paper.experiments)
    assert sum(claim.required for claim in paper.claims) > 50
