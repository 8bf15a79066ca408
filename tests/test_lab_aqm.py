"""RED and PIE in the simulator beside recorded means of a Linux kernel."""

import pytest

from conftest import call
from tidegate_lab.testbed import aqm
from tidegate_lab.testbed.aqm import QUEUES, Means

OPEN = {"fq_pie": ["lost"]}
"""Queues that do not hold, and the figures that are too far apart: `docs/linux.md` says so."""
PACKETS, SEED, REPLICATIONS = 20_000, 1, 10


@pytest.mark.parametrize("name", QUEUES)
def test_means_are_the_kernels(name):
    ours = aqm.in_simulator(QUEUES[name], aqm.arrivals(PACKETS, SEED), SEED, REPLICATIONS)
    kernel = aqm.recorded()[name]
    assert aqm.misses(ours, kernel) == OPEN.get(name, []), ours
    assert ours.lost[0] == pytest.approx(kernel.lost[0], rel=0.02)
    assert ours.queue[0] == pytest.approx(kernel.queue[0], rel=0.02)


@pytest.mark.parametrize(
    ("name", "form", "apart"),
    [
        ("pie", "rfc", {"queue"}),
        ("pie dq_rate_estimator", "rfc", {"lost", "marked", "queue"}),
        ("red ecn", "paper", {"lost", "marked"}),
    ],
)
def test_the_form_of_the_paper_or_the_rfc_is_not_linuxs(name, form, apart):
    port = aqm.Port(QUEUES[name].policy.replace("linux", form))
    ours = aqm.in_simulator(port, aqm.arrivals(PACKETS, SEED), SEED, REPLICATIONS)
    assert apart <= set(aqm.misses(ours, aqm.recorded()[name]))


def test_means_are_compared_by_their_standard_errors():
    kernel = Means((0.1, 0.003), (0.0, 0.0), (10.0, 0.0))
    assert aqm.misses(Means((0.109, 0.004), (0.0, 0.0), (10.0, 0.0)), kernel) == []
    assert aqm.misses(Means((0.111, 0.004), (0.0, 0.0), (10.1, 0.04)), kernel) == ["lost", "queue"]


def test_only_a_queue_that_exists_is_compared():
    refused = call("lab", "aqm", "--only", "no-such-queue")
    assert refused.exit_code == 1
    assert "no queue has `no-such-queue` in its name" in refused.stderr
