"""TCP in the simulator beside the figures of a Linux kernel, which were recorded."""

from collections import Counter
from itertools import combinations

import pytest

from conftest import call
from tidegate_lab.testbed import tcp_settings
from tidegate_lab.testbed.tcp_settings import SETTINGS, Figures, misses

OPEN = {
    "10-reno-fifo-10-10-0.5": ["timeouts"],
}
"""Settings that do not hold yet, and the figures that are too far apart: `docs/linux.md` says so."""


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_simulator_does_what_the_kernel_did(setting):
    ours = tcp_settings.in_simulator(setting)
    assert misses(ours, tcp_settings.recorded()[setting.name]) == OPEN.get(setting.name, []), ours


def test_every_pair_of_properties_is_in_a_setting():
    rows = [tuple(vars(setting).values()) for setting in SETTINGS]
    values = [{row[column] for row in rows} for column in range(6)]
    assert [len(each) for each in values] == [3, 3, 3, 2, 3, 2]
    for first, second in combinations(range(6), 2):
        seen = Counter((row[first], row[second]) for row in rows)
        assert len(seen) == len(values[first]) * len(values[second])
    assert len(set(rows)) == len(rows) == 24
    assert set(tcp_settings.recorded()) == {setting.name for setting in SETTINGS}


def test_the_bar_is_a_share_or_a_few():
    kernel = Figures(goodput=1e7, drops=100.0, queueing=0.1, timeouts=0.0)
    near = Figures(goodput=0.971e7, drops=114.0, queueing=0.109, timeouts=2.0)
    far = Figures(goodput=0.969e7, drops=116.0, queueing=0.111, timeouts=3.0)
    assert misses(near, kernel) == []
    assert misses(far, kernel) == ["goodput", "drops", "queueing", "timeouts"]
    few = Figures(goodput=1e7, drops=10.0, queueing=0.0019, timeouts=0.0)
    assert misses(few, Figures(1e7, 0.0, 0.001, 0.0)) == []


def test_the_command_compares_with_the_record():
    done = call("lab", "tcp", "--recorded", "--only", "1-cubic-codel-100")
    assert done.exit_code == 0
    assert "1 of 1 settings hold" in done.stdout
    refused = call("lab", "tcp", "--only", "no-such-setting")
    assert refused.exit_code == 1
    assert "no setting has `no-such-setting` in its name" in refused.stderr
