"""Replications: seeds, jobs, progress and stopping."""

import _thread
import threading

import pytest

import tidegate
from tidegate import TidegateError


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
    shares = []
    tidegate.simulate(chain, replications=3, jobs=1, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


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
        ({"seed": -1}, r"`seed` \(-1\) is not from 0 to"),
        ({"seed": 2**63 - 1, "replications": 2}, "the last of 2 seeds from"),
    ],
)
def test_arguments_out_of_range_are_refused(chain, arguments, message):
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.simulate(chain, **arguments)


@pytest.mark.parametrize(
    "sets",
    [
        "port.scheduler=fifo",
        {"port.scheduler": "fifo"},
        7,
        ["port.scheduler=fifo"],
        [("port.scheduler",)],
        [("duration", 3)],
        [(1, "a")],
        [None],
    ],
)
def test_overrides_that_are_no_pairs_of_text_get_one_message(chain, sets):
    for attempt in (
        lambda: tidegate.simulate(chain, sets=sets),
        lambda: tidegate.load(chain, sets),
        lambda: tidegate.max_min(chain, sets=sets),
        lambda: tidegate.simulate(tidegate.load(chain), sets=sets),
        lambda: tidegate.compare(chain, ["fifo", "wfq"], sets=sets),
    ):
        with pytest.raises(TidegateError, match="`sets` is a list of pairs of text, as in"):
            attempt()


@pytest.mark.parametrize(
    "sets",
    [
        [("flow.a.source", '{ kind = "poisson", rate = "300kbit" }'), ("flow.a.size", "500B")],
        [
            ("flow.a.source", '{ kind = "on-off", rate = "300kbit", peak = "1mbit", burst = 3 }'),
            ("flow.a.size", "500B"),
        ],
        [("flow.a.every", "100ms")],
        [("link", "x")],
    ],
)
def test_what_the_note_about_identical_runs_names_makes_them_differ(still, sets):
    note = tidegate.simulate(still, replications=2).notes[0]
    assert "all 2 runs are identical" in note
    named = ("`poisson`", "`on-off`", "`every`", "`loss`")
    assert all(one in note for one in named)
    if sets[0][0] == "link":
        text = still.read_text().replace(
            'topology = { kind = "chain", switches = 2, rate = "500kbit" }',
            'topology = "nodes"\nnode = [{ name = "s1" }, { name = "s2" }]\n'
            'link = [{ from = "s1", to = "s2", rate = "500kbit", loss = 0.2 }]',
        )
        still.write_text(text)
        sets = []
    assert not tidegate.simulate(still, replications=2, sets=sets).identical


def test_overrides_are_arguments_too(chain):
    short = tidegate.simulate(chain, scheduler="wfq", duration="2s", **{"switch.buffer": "3p"})
    sets = [("port.scheduler", "wfq"), ("duration", "2s"), ("switch.buffer", "3p")]
    same = tidegate.simulate(chain, sets=sets)
    assert (short.fingerprints, short.overrides) == (same.fingerprints, same.overrides)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replication": 3}, "--set replication=3: this scenario has no key `replication`"),
        ({"scheduler": "fifoo"}, "there is no scheduler `fifoo`"),
    ],
)
def test_an_argument_that_is_none_is_named(chain, values, message):
    with pytest.raises(tidegate.TidegateError, match=message):
        tidegate.simulate(chain, **values)
