"""The progress of sweeps: which runs are next, the time that is left, and what is shown of it."""

import random

import pytest

import tidegate
from sweeping import SHORT, swept
from tidegate.cli import sweep_progress
from tidegate.sweeps.agenda import Agenda


def carried_out(costs, replications, workers=2, noise=0.3):
    """Carry out an agenda whose runs take these seconds, point by point, on workers that are never idle.

    Returns (share done, seconds left as it says, seconds left in truth) after every batch.
    """
    stream = random.Random(7)
    agenda = Agenda([replications] * len(costs), None, [()] * len(costs))
    busy = [0.0] * workers
    pending = []
    seen = []
    while True:
        while len(pending) < 2 * workers and (turn := agenda.next()) is not None:
            point, taken = turn
            seconds = sum(costs[point] * (1 + noise * (2 * stream.random() - 1)) for _ in taken)
            worker = busy.index(min(busy))
            busy[worker] += seconds
            pending.append((busy[worker], point, len(taken), seconds))
        if not pending:
            return [(share, left, busy_at, max(busy) - busy_at) for share, left, busy_at in seen]
        pending.sort()
        ended, point, number, seconds = pending.pop(0)
        agenda.record(point, number, seconds)
        seen.append((agenda.done / agenda.total, agenda.left(ended), ended))


@pytest.mark.parametrize("spread", [1, 10, 100])
@pytest.mark.parametrize(("points", "replications"), [(24, 20), (200, 10), (1000, 1)])
def test_the_time_that_is_left_is_right_after_a_tenth(points, replications, spread):
    # A product: the last parameter varies fastest, and the first one decides on how long runs take.
    costs = [0.01 * spread ** (number / points) for number in range(points)]
    seen = carried_out(costs, replications)
    share, left, _, truth = next(one for one in seen if one[0] >= 0.1)
    assert share < 0.2
    assert left == pytest.approx(truth, rel=0.2)
    last = seen[-1]
    assert (last[0], last[1]) == (1.0, 0.0)


def test_every_run_is_given_out_once():
    stream = random.Random(3)
    there = [set(stream.sample(range(30), stream.randrange(10))) for _ in range(20)]
    agenda = Agenda([20] * 20, None, there)
    given = [set() for _ in range(20)]
    while (turn := agenda.next()) is not None:
        point, replications = turn
        assert not given[point] & set(replications)
        given[point].update(replications)
        agenda.record(point, len(replications), 0.001 * len(replications))
    assert [one | given for one, given in zip(there, given, strict=True)] == [
        set(range(20)) | one for one in there
    ]
    assert not any(one & given for one, given in zip(there, given, strict=True))
    assert agenda.done == agenda.total == 400


def test_a_point_that_needs_more_runs_gets_them():
    needs = {10: 25, 25: 31, 31: 31}
    agenda = Agenda([10], lambda _, runs: needs[runs], [{0, 12, 26}])
    given = []
    while (turn := agenda.next()) is not None:
        given += turn[1]
        agenda.record(0, len(turn[1]), 0.03 * len(turn[1]))
    assert agenda.runs == [31]
    assert sorted(given) == [number for number in range(31) if number not in (0, 12, 26)]


def test_the_caller_learns_how_far_it_is():
    seen = []
    swept(replications=4, progress=seen.append)
    assert (seen[0].done, seen[0].total, seen[0].left) == (0, 24, None)
    assert (seen[-1].done, seen[-1].total, seen[-1].left) == (24, 24, 0.0)
    assert [one.done for one in seen] == sorted(one.done for one in seen)


def test_without_a_terminal_a_long_sweep_says_now_and_then_how_far_it_is(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(sweep_progress.time, "monotonic", lambda: clock[0])
    with sweep_progress.shown("study", "runs") as show:
        for second in range(101):
            clock[0] = float(second)
            show(second, 1000, None if second < 15 else 3600.0)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "study: 10 of 1,000 runs"
    assert lines[1] == "study: 20 of 1,000 runs, 60 min left"
    assert len(lines) == 10


def test_a_run_that_takes_long_is_no_silence():
    # The report comes while a run goes on.
    seen = []

    def report(status):
        seen.append(status)
        if len(seen) > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tidegate.sweep(SHORT, {"duration": ["2000h", "1000h"]}, jobs=1, progress=report)
    assert {one.done for one in seen} == {0}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 s"), (99, "99 s"), (120, "2 min"), (5900, "98 min"), (7260, "2 h 1 min")],
)
def test_durations_are_short(seconds, shown):
    assert sweep_progress.duration(seconds) == shown
