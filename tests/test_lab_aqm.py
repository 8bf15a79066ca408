"""RED and PIE in the simulator beside recorded means of a Linux kernel."""

import pytest

from conftest import call
from tidegate_lab.testbed import aqm
from tidegate_lab.testbed.aqm import QUEUES, Means

OPEN = {
    "red ecn": ["lost", "marked", "queue"],
    "pie": ["lost", "marked"],
    "fq_pie": ["queue"],
    "pie dq_rate_estimator": ["lost", "marked", "queue"],
}
"""Queues that do not hold, and the figures that are too far apart: `docs/linux.md` says so."""
PACKETS, SEED, REPLICATIONS = 20_000, 1, 10


@pytest.mark.parametrize("name", QUEUES)
def test_means_are_the_kernels(name):
    ours = aqm.in_simulator(QUEUES[name], aqm.arrivals(PACKETS, SEED), SEED, REPLICATIONS)
    kernel = aqm.recorded()[name]
    assert aqm.misses(ours, kernel) == OPEN.get(name, []), ours
    if name != "pie dq_rate_estimator":
        assert ours.lost[0] == pytest.approx(kernel.lost[0], rel=0.03)
        assert ours.queue[0] == pytest.approx(kernel.queue[0], rel=0.02)


def test_linuxs_form_of_pie_is_nearer_to_the_kernel_than_the_rfcs():
    port = aqm.Port(QUEUES["pie"].policy.replace("linux", "rfc"))
    ours = aqm.in_simulator(port, aqm.arrivals(PACKETS, SEED), SEED, REPLICATIONS)
    assert "queue" in aqm.misses(ours, aqm.recorded()["pie"])


def test_means_are_compared_by_their_standard_errors():
    kernel = Means((0.1, 0.003), (0.0, 0.0), (10.0, 0.0))
    assert aqm.misses(Means((0.109, 0.004), (0.0, 0.0), (10.0, 0.0)), kernel) == []
    assert aqm.misses(Means((0.111, 0.004), (0.0, 0.0), (10.1, 0.04)), kernel) == ["lost", "queue"]


def test_only_a_queue_that_exists_is_compared():
    refused = call("lab", "aqm", "--only", "no-such-queue")
    assert refused.exit_code == 1
    assert "no queue has `no-such-queue` in its name" in refused.stderr
