"""Sweeps on a Dask cluster: the same rows as here, also when workers die."""

import logging
import os
import re
import signal

import pytest

import tidegate
from sweeping import SHORT, VALUES, swept
from tidegate import sweeps
from tidegate.sweeps import cluster

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install tidegate[cluster]"
)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler with two workers."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    ) as local:
        yield local.scheduler_address


@pytest.fixture(scope="module")
def table():
    return swept(replications=167)


def test_a_thousand_runs_on_two_workers_have_the_rows_that_they_have_here(scheduler, table, tmp_path):
    out = tmp_path / "out"
    assert swept(replications=167, cluster=scheduler, out=out).equals(table)
    assert sweeps.load(out).equals(table)
    assert table.num_rows == 2 * 1002


def test_an_executor_of_dask_is_one_like_any_other(scheduler):
    with distributed.Client(scheduler) as client:
        assert swept(executor=client.get_executor(), jobs=2).equals(swept())


def test_a_cluster_that_loses_a_worker_loses_and_repeats_no_row(scheduler):
    killed = []

    def kill(status):
        if not killed and status.done >= 100:
            with distributed.Client(scheduler) as client:
                killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    longer = {"replications": 60, "values": VALUES | {"duration": "1s"}}
    expected = swept(**longer)
    assert swept(**longer, cluster=scheduler, progress=kill).equals(expected)
    assert len(killed) == 2
    with distributed.Client(scheduler) as client:
        client.wait_for_workers(2, timeout=60)
        assert killed[0] not in client.run(os.getpid).values()


def test_tasks_go_by_the_names_of_scenario_and_point(scheduler):
    seen = set()

    def look(_):
        if not seen:
            with distributed.Client(scheduler) as client:
                seen.update(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))

    tidegate.sweep(SHORT, {"duration": ["20s", "40s"]}, replications=20, cluster=scheduler, progress=look)
    assert {name for name, _ in seen} == {"tidegate chain"}
    assert all(re.fullmatch(r"duration=[24]0s #\d+(-\d+)? \w+", label) for _, label in seen)


def test_an_error_of_a_run_is_raised_here(scheduler, still, tmp_path):
    def remove(_):
        (tmp_path / "times.txt").unlink(missing_ok=True)

    with pytest.raises(tidegate.TidegateError, match=r"times\.txt"):
        tidegate.sweep(still, {"port.policy": ["fifo", "red"]}, cluster=scheduler, progress=remove)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "no scheduler of Dask answers there"),
        ("127.0.0.1:9", "write it as tcp://HOST:PORT or slurm:partition=short"),
        ("slurm:", "names no partition"),
        ("slurm:partition=a,corse=2", "`corse=2` is not a setting"),
        ("slurm:partition=a,jobs=no", "`jobs` is a number of at least 1, not no"),
    ],
)
def test_mistakes_in_an_address_are_told(address, message, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", "1s")
    with pytest.raises(tidegate.TidegateError) as raised:
        swept(cluster=address)
    assert message in str(raised.value)


SBATCH = """\
#!/bin/sh
cp "$1" "$0.job"
setsid sh "$0.job" > "$0.log" 2>&1 &
echo "Submitted batch job $!"
"""

SCANCEL = """\
#!/bin/sh
kill -- "-$1"
"""


@pytest.mark.filterwarnings("ignore:\\s*Port 8787 is already in use")
def test_jobs_of_slurm_carry_runs_out(tmp_path, monkeypatch):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    # A partition of this computer.
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    table = swept(cluster="slurm:partition=here,jobs=1,cores=2,memory=2GB")
    assert table.equals(swept())
    assert (tmp_path / "sbatch.log").exists()


@pytest.mark.filterwarnings("ignore:\\s*Port 8787 is already in use")
def test_jobs_of_slurm_are_asked_for_as_it_is_written():
    jobqueue = pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    jobs, settings = cluster.slurm_settings(
        "slurm:partition=short,jobs=8,cores=4,walltime=02:00:00,account=me"
    )
    assert jobs == 8
    with jobqueue.SLURMCluster(
        job_name="tidegate", scheduler_options={"dashboard_address": None}, **settings
    ) as made:
        script = made.job_script()
    for line in ("-J tidegate", "-p short", "-A me", "--cpus-per-task=4", "-t 02:00:00", "--mem=8G"):
        assert f"#SBATCH {line}\n" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 4 " in script
