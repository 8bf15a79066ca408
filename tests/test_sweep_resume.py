"""Sweeps that are killed, interrupted and resumed: nothing is lost, and nothing runs twice."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import tidegate
from conftest import start
from sweeping import POLICY, RATE, SHORT, VALUES, Counting, swept
from tidegate import sweeps
from tidegate.sweeps import store
from tidegate.sweeps.workers import Workers

RUNS = 1000

SIX = ["--set", f"{POLICY}=fifo,fq-codel,virtual-clock", "--set", f"{RATE}=32kbit,64kbit"]


def manifest(out):
    return json.loads((out / "manifest.json").read_text())


def stored(out):
    """Return the number of runs whose rows are in a directory: two rows each."""
    return sweeps.load(out).num_rows // 2


def workers_of(pid):
    """Return the processes that a process has started."""
    workers = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(OSError):
            workers |= {int(one) for one in (task / "children").read_text().split()}
    return workers


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "chain.toml"
    path.write_text(SHORT.replace("400ms", "2s"))
    return path


def thousand(scenario, **more):
    return tidegate.sweep(scenario, VALUES, replications=RUNS // 6 + 1, jobs=2, **more)


@pytest.fixture(scope="module")
def table(scenario):
    return thousand(scenario)


def test_a_sweep_that_is_killed_halfway_goes_on_and_runs_nothing_twice(scenario, table, tmp_path):
    out = tmp_path / "out"
    words = ["sweep", scenario, *SIX, "--replications", str(RUNS // 6 + 1), "--jobs", "2", "--out", out]
    process = start(*words)
    wait_until(lambda: any(out.glob("rows/part-*")) or process.poll() is not None)
    workers = workers_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Nobody is left at work.
    assert len(workers) == 2
    wait_until(lambda: not any(map(is_alive, workers)))
    assert manifest(out)["complete"] is False
    before = stored(out)
    assert 0 < before < table.num_rows // 2
    with Counting() as counting:
        assert thousand(scenario, out=out, executor=counting).equals(table)
    assert set(counting.runs.values()) == {1}
    assert len(counting.runs) == table.num_rows // 2 - before
    assert manifest(out)["complete"] is True
    assert sweeps.load(out).equals(table)
    with Counting() as idle:
        assert thousand(scenario, out=out, executor=idle).equals(table)
    assert not idle.runs


def test_a_worker_that_dies_loses_and_repeats_no_row(scenario, table):
    killed = []

    def kill(status):
        if status.done >= (len(killed) + 1) * table.num_rows // 8 and len(killed) < 2:
            # One that was killed is a child until it is waited for.
            killed.append(next(one for one in workers_of(os.getpid()) if is_alive(one)))
            os.kill(killed[-1], signal.SIGKILL)

    assert thousand(scenario, progress=kill).equals(table)
    assert len(set(killed)) == 2


def test_a_task_whose_workers_die_is_given_up():
    with Workers(1) as workers, pytest.raises(tidegate.TidegateError, match=r"ended 3 times.*signal 9"):
        workers.submit(os.kill, 0, signal.SIGKILL).result(timeout=60)


def test_an_error_in_a_worker_is_raised_here():
    with Workers(1) as workers:
        with pytest.raises(ZeroDivisionError):
            workers.submit(divmod, 1, 0).result(timeout=60)
        assert workers.submit(divmod, 7, 2).result(timeout=60) == (3, 1)


def test_an_interrupted_sweep_says_that_it_is_incomplete(tmp_path):
    path, out = tmp_path / "chain.toml", tmp_path / "out"
    path.write_text(SHORT)
    words = ["--set", "duration=300ms,2000h", "--replications", "3", "--jobs", "2", "--out", out]
    process = start("sweep", path, *words)
    wait_until(lambda: len(workers_of(process.pid)) == 2)
    time.sleep(2)
    workers = workers_of(process.pid)
    process.send_signal(signal.SIGINT)
    # Its runs would take hours: that it ends at all is because it was asked to.
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert (
        errors == f"warning: {out} is incomplete; the same command goes on with it\ntidegate: interrupted\n"
    )
    assert not any(map(is_alive, workers))
    assert manifest(out)["complete"] is False
    assert stored(out) >= 1


def test_more_points_and_more_runs_go_on_from_those_that_are_there(tmp_path):
    out = tmp_path / "out"
    swept(values={POLICY: ["fifo", "fq-codel"]}, replications=3, out=out)
    with Counting() as counting:
        more = swept(values=VALUES | {RATE: ["64kbit", "32kbit"]}, replications=4, out=out, executor=counting)
    # Two points had three runs: their rate is the scenario's own.
    assert len(counting.runs) == 6 * 4 - 2 * 3
    assert more.equals(swept(values=VALUES | {RATE: ["64kbit", "32kbit"]}, replications=4))
    assert sweeps.load(out).equals(more)


def test_parts_have_the_settings_of_their_points(tmp_path):
    table = swept(replications=2, out=tmp_path / "out")
    parts = [pq.read_table(part) for part in (tmp_path / "out" / "rows").iterdir()]
    rows = [row for part in parts for row in part.to_pylist()]
    names = (POLICY, RATE, "seed", "group", "delay_p99")
    assert len(rows) == table.num_rows
    assert {tuple(row[name] for name in names) for row in rows} == {
        tuple(row[name] for name in names) for row in table.to_pylist()
    }


def test_runs_of_something_else_are_not_mixed_in_and_not_lost(tmp_path, monkeypatch):
    out = tmp_path / "out"
    table = swept(replications=2, out=out)
    for other in ({"replications": 1}, {"seed": 2}, {"values": {POLICY: ["fifo", "red"]}}):
        with pytest.raises(tidegate.TidegateError, match=r"holds \d+ runs of other points, seeds"):
            swept(**({"replications": 2, "out": out} | other))
        assert sweeps.load(out).equals(table)
    one = swept(replications=1, out=out, force=True)
    assert sweeps.load(out).equals(one)
    assert one.equals(swept(replications=1))
    monkeypatch.setattr("tidegate.sweeps.plan.__version__", "0.0.0")
    with pytest.raises(tidegate.TidegateError, match="another version of tidegate"):
        swept(replications=1, out=out)


def test_a_changed_input_file_is_another_scenario(still, tmp_path):
    out = tmp_path / "out"
    values = {POLICY: ["fifo", "fq-codel"]}
    tidegate.sweep(still, values, replications=1, out=out)
    (tmp_path / "times.txt").write_text("0.5 100\n")
    with pytest.raises(tidegate.TidegateError, match="holds 2 runs of other"):
        tidegate.sweep(still, values, replications=1, out=out)


def test_a_directory_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(tidegate.TidegateError, match="holds no sweep"):
        swept(out=tmp_path)
    with pytest.raises(tidegate.TidegateError, match="holds no sweep"):
        sweeps.load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(tidegate.TidegateError, match="cannot be written"):
        swept(out=tmp_path / "mine.txt")


def test_two_sweeps_do_not_write_to_one_directory(tmp_path):
    out = tmp_path / "out"
    refused = []

    def meanwhile(_):
        if not refused:
            with pytest.raises(tidegate.TidegateError, match="another sweep is writing there") as raised:
                swept(replications=2, out=out)
            refused.append(raised)

    swept(replications=2, out=out, progress=meanwhile)
    assert refused


def test_a_part_that_was_being_written_is_no_part(tmp_path):
    out = tmp_path / "out"
    table = swept(replications=2, out=out)
    (out / "rows" / ".part-000009.parquet").write_bytes(b"PAR1 half")
    assert sweeps.load(out).equals(table)
    assert swept(replications=2, out=out).equals(table)
    assert not list((out / "rows").glob(".*"))
    (out / "rows" / "part-000000.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(tidegate.TidegateError, match="cannot be read"):
        sweeps.load(out)


def test_parts_stay_few(tmp_path, monkeypatch):
    plan_of = {"keys": ["a"], "points": [()], "runs": [10**6]}
    wanted = store.Wanted(name="x", first_seed=0, until=None, **plan_of)
    clock = [0.0]
    monkeypatch.setattr(store.time, "monotonic", lambda: clock[0])
    kept = store.Directory(tmp_path / "out", wanted, "", {}, force=False)
    monkeypatch.setattr(kept, "_write", lambda *_: None)
    for _ in range(3600):
        clock[0] += 10.0
        kept.add("a", [])
    kept.close()
    # Ten hours: one in 10 s up to 1,000 s, and then each a hundredth later than the one before.
    assert 300 < len(kept._parts) < 500
