"""A plan's gate in a Linux kernel in virtual time, where that is built, against the certificate."""

import os
from dataclasses import replace

import numpy as np
import pytest

from conftest import call
from tidegate_lab.gate_in_kernel import planned, trial

VERIFY = os.environ.get("TIDEGATE_VERIFY")


@pytest.mark.usefixtures("kernel")
def test_no_packet_of_a_plan_is_above_its_certified_bound():
    outcome = planned.carry_out(60.0 if VERIFY else 2.0)
    assert [row.name for row in outcome.rows] == ["voice", "sensor", "backup"]
    for row in outcome.rows:
        assert (row.figures["lost"], row.figures["late"]) == (0, 0), row
        # Beside floods packets wait, which they would not on a line of their own.
        assert 0.2 * row.figures["bound"] < row.figures["delay"] <= row.figures["bound"]
    assert all(bar.holds for bar in outcome.bars)


def test_late_and_lost_packets_are_counted():
    class Ring:
        def __init__(self, rows):
            self.time = np.array([time for time, _, _ in rows])
            self._columns = {36: [port for _, port, _ in rows], 42: [number for *_, number in rows]}

        def big_endian(self, place, _):
            return np.array(self._columns[place])

    group = planned.Planned("voice", 5004, [(100_000, 428, 214)], 0.02)
    sent = Ring([(0, 5004, 0), (10, 9, 0), (1_000_000, 5004, 1), (2_000_000, 5004, 2)])
    left = Ring([(20_000_000, 5004, 0), (21_600_000, 5004, 1), (30_000_000, 9, 0)])
    run = trial.Run(sent, left, 0, [])
    found = planned.figures(run, group)
    assert (found["packets"], found["lost"], found["late"]) == (3, 1, 1)
    assert found["delay"] == pytest.approx(0.0206)
    assert planned.figures(run, replace(group, bound=0.021))["late"] == 0


def test_members_send_no_more_than_their_buckets():
    group = planned.Planned("voice", 5004, [(100_000, 428, 214), (50_000, 642, 214)], 0.02)
    rows = planned.conforming(group, 20.0, np.random.default_rng(1))
    assert (np.diff(rows[:, 0]) >= 0).all()
    assert rows[:, 4].tolist() == list(range(len(rows)))
    for member, (rate, burst, _) in enumerate(group.buckets):
        mine = rows[rows[:, 2] == planned.SOURCES + member]
        times, sizes = mine[:, 0].astype(np.int64) * 1e-9, mine[:, 1]
        sent = np.cumsum(sizes)
        # Over any interval: no more than the burst and what the rate brings, but for whole nanoseconds.
        ahead = sent - times * rate / 8
        least = np.minimum.accumulate(ahead - sizes)
        assert (ahead - least <= burst + 1e-3).all()
        assert sent[-1] > 0.3 * 20 * rate / 8


def test_the_command_is_listed():
    printed = call("lab")
    assert "plan" in printed.stdout
