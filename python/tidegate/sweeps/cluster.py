"""Workers of other computers: a Dask scheduler that runs already, or jobs of a SLURM partition.

Dask is imported here alone, and comes with `pip install tidegate[cluster]`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate._tidegate import TidegateError
from tidegate.sweeps.batch import Batch

if TYPE_CHECKING:
    from distributed import Client

CONNECT = "15s"
"""Time in which a scheduler must answer."""

FRESH = 2.0
"""Seconds for which the number of workers is taken as known."""

SLURM = {"partition": "queue", "account": "account", "walltime": "walltime", "memory": "memory"}
"""Settings of `slurm:` that dask-jobqueue takes as they are, with its names for them."""

EXAMPLE = "slurm:partition=short,jobs=8,cores=4,memory=8GB,walltime=02:00:00"


class DaskExecutor(Executor):
    """Carries batches out on the workers of a Dask scheduler.

    A worker that dies is the scheduler's concern: it gives its batches to others. Tasks have the
    scenario's name as their group, and the point and the replications in their key.

    Args:
        client: A client of the scheduler.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._token = secrets.token_hex(4)
        self._pending: dict[Future[Any], Any] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._number, self._counted = 1, 0.0

    @property
    def number(self) -> int:
        """Batches that are carried out at a time: workers may come and go."""
        if time.monotonic() - self._counted >= FRESH:
            self._number = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._number

    def submit(self, task: Callable[..., Any], /, *args: Any, **settings: Any) -> Future[Any]:
        """Have a worker carry out a function of a batch; return its future."""
        (batch,) = args
        assert isinstance(batch, Batch)
        self._count += 1
        key = (f"tidegate {batch.name}", f"{batch.label} {self._token}{self._count}")
        mine: Future[Any] = Future()
        theirs = self._client.submit(task, batch, key=key, pure=False, **settings)
        with self._lock:
            self._pending[mine] = theirs
        theirs.add_done_callback(lambda done: self._finish(mine, done))
        return mine

    def _finish(self, mine: Future[Any], theirs: Any) -> None:
        with self._lock:
            self._pending.pop(mine, None)
        try:
            mine.set_result(theirs.result())
        except TidegateError as error:
            mine.set_exception(error)
        except BaseException as error:
            message = f"the cluster cannot go on: {type(error).__name__}: {error}"
            mine.set_exception(TidegateError(message))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take back what is not done; workers and scheduler stay."""
        del wait, cancel_futures
        with self._lock:
            pending, self._pending = list(self._pending.values()), {}
        if pending:
            self._client.cancel(pending)


@contextmanager
def connected(address: str) -> Iterator[DaskExecutor]:
    """Connect to a cluster for the length of the block.

    Args:
        address: `tcp://HOST:PORT` of a scheduler, or `slurm:` and settings as in `EXAMPLE`.

    Raises:
        TidegateError: Dask is not installed, the address is unusable, or nobody answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise _missing("distributed") from None
    if address.startswith("slurm:"):
        with _slurm(address) as cluster, Client(cluster) as client:
            yield from _executor(client)
        return
    if "://" not in address:
        raise TidegateError(f"--cluster {address}: write it as tcp://HOST:PORT or {EXAMPLE}")
    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise TidegateError(f"--cluster {address}: no scheduler of Dask answers there: {error}") from error
    with client:
        yield from _executor(client)


def _executor(client: Client) -> Iterator[DaskExecutor]:
    executor = DaskExecutor(client)
    try:
        yield executor
    finally:
        executor.shutdown()


@contextmanager
def _slurm(address: str) -> Iterator[Any]:
    """Start a scheduler here, and workers as jobs of SLURM."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise _missing("dask-jobqueue") from None
    jobs, settings = slurm_settings(address)
    with SLURMCluster(job_name="tidegate", **settings) as cluster:
        cluster.scale(jobs=jobs)
        yield cluster


def slurm_settings(address: str) -> tuple[int, dict[str, Any]]:
    """Return the number of jobs, and the settings of each as dask-jobqueue names them.

    Raises:
        TidegateError: A setting is unknown or not as it should be.
    """
    given: dict[str, str] = {}
    for part in filter(None, address.removeprefix("slurm:").split(",")):
        key, _, value = part.partition("=")
        if key not in (*SLURM, "jobs", "cores") or not value or key in given:
            raise TidegateError(f"--cluster {address}: `{part}` is not a setting\n  help: as in {EXAMPLE}")
        given[key] = value
    if "partition" not in given:
        raise TidegateError(f"--cluster {address}: names no partition\n  help: as in {EXAMPLE}")
    counts = {}
    for key in ("jobs", "cores"):
        text = given.pop(key, "1")
        if not text.isdecimal() or not int(text):
            raise TidegateError(f"--cluster {address}: `{key}` is a number of at least 1, not {text}")
        counts[key] = int(text)
    cores = counts["cores"]
    given.setdefault("memory", f"{2 * cores}GB")
    # A process for each core: runs of one process share little.
    settings: dict[str, Any] = {SLURM[key]: value for key, value in given.items()}
    return counts["jobs"], {"cores": cores, "processes": cores, **settings}


def _missing(package: str) -> TidegateError:
    return TidegateError(
        f"--cluster needs {package}, which is not installed\n  help: pip install 'tidegate[cluster]'"
    )
