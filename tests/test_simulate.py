"""Replications: seeds, jobs, progress and stopping."""

import _thread
import threading

import pytest

import tidegate


def test_jobs_change_nothing(chain):
    one = tidegate.simulate(chain, replications=3, jobs=1)
    two = tidegate.simulate(chain, replications=3, jobs=2)
    assert one.fingerprints == two.fingerprints
    assert all(one.tables[name].equals(two.tables[name]) for name in one.tables)


def test_recording_series_changes_nothing(chain):
    without = tidegate.simulate(chain)
    with_series = tidegate.simulate(chain, series=True)
    assert without.fingerprints == with_series.fingerprints
    assert without.series.num_rows == 0
    assert with_series.series.num_rows > 0


def test_replication_k_has_the_seed_plus_k(chain):
    three = tidegate.simulate(chain, replications=3, seed=7)
    assert three.seeds == (7, 8, 9)
    assert len(set(three.fingerprints)) == 3
    assert tidegate.simulate(chain, seed=9).fingerprints == three.fingerprints[2:]
    columns = (three.flows[name].unique().to_pylist() for name in ("replication", "seed"))
    assert list(zip(*columns, strict=True)) == [(0, 7), (1, 8), (2, 9)]


def test_progress_ends_at_one_and_never_goes_back(chain):
    told = []
    tidegate.simulate(chain, replications=3, jobs=1, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_an_interrupt_stops_every_thread(endless):
    interrupt = threading.Timer(0.5, _thread.interrupt_main)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        tidegate.simulate(endless, replications=4, jobs=2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tidegate")]


def test_a_failing_progress_report_stops_every_thread(endless):
    def fail(share):
        raise RuntimeError(f"at {share}")

    with pytest.raises(RuntimeError):
        tidegate.simulate(endless, progress=fail)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tidegate")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replications": 0}, "replications must be at least 1, not 0"),
        ({"replications": -3}, "replications must be at least 1, not -3"),
        ({"jobs": 0}, "jobs must be at least 1, not 0"),
        ({"seed": -1}, "seeds are from 0 to"),
        ({"seed": 2**63 - 1, "replications": 2}, "seeds are from 0 to"),
    ],
)
def test_arguments_out_of_range_are_refused(chain, arguments, message):
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.simulate(chain, **arguments)
