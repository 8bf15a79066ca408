"""Processes of this computer that carry out runs: an executor as those of `concurrent.futures`.

A process is started once and does one batch after the other. It imports tidegate alone, not the
program that asked for it, so that a script needs no guard around its main part.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tidegate._tidegate import TidegateError

ATTEMPTS = 3
"""Processes that a task may end before it is given up."""

CODE = "from tidegate.sweeps.workers import work; work()"

PACKAGES = Path(__file__).resolve().parents[2]
"""Folder in which a worker finds the same tidegate."""


class Workers(Executor):
    """Processes that carry out functions that can be pickled.

    A process that dies is replaced, and its task is carried out again; other tasks are not
    concerned.

    Args:
        number: Processes, each of which is started with its first task.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="tidegate")
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._ended = threading.Event()

    def submit(self, task: Callable[..., Any], /, *args: Any, **settings: Any) -> Future[Any]:
        """Have a process carry out a function; return its future."""
        return self._threads.submit(self._carry_out, pickle.dumps((task, args, settings)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes: with `wait` after their tasks, otherwise now."""
        if not wait:
            self._ended.set()
            for process in list(self._processes):
                process.kill()
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures or not wait)
        for process in list(self._processes):
            self._end(process)

    def _carry_out(self, task: bytes) -> Any:
        """Hand a task to a process, and return what it returns or raise what it raises."""
        for _ in range(ATTEMPTS):
            process = self._process()
            try:
                _stream(process.stdin).write(task)
                _stream(process.stdin).flush()
                done, value = pickle.load(_stream(process.stdout))
            except (OSError, EOFError, pickle.UnpicklingError):
                code = self._end(process)
                if self._ended.is_set():
                    break
                continue
            self._idle.put(process)
            if done:
                return value
            raise value
        if self._ended.is_set():
            raise TidegateError("the workers have been stopped")
        raise TidegateError(
            f"a worker process ended {ATTEMPTS} times during one task, at last {_how(code)}; "
            "runs that take too much memory end so"
        )

    def _process(self) -> subprocess.Popen[bytes]:
        """Return an idle process, or a new one."""
        with suppress(queue.Empty):
            return self._idle.get_nowait()
        paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [sys.executable, "-c", CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # Ctrl-C is for the process that waits for the results.
            start_new_session=True,
        )
        self._processes.add(process)
        if self._ended.is_set():
            process.kill()
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the end of a process whose input has ended; return its code."""
        self._processes.discard(process)
        with suppress(OSError):
            _stream(process.stdin).close()
        _stream(process.stdout).close()
        return process.wait()


def work() -> None:
    """Carry out what comes on standard input, one task after the other, until it ends."""
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    results = os.fdopen(os.dup(1), "wb")
    # Text that a task prints is not a result.
    os.dup2(2, 1)
    threading.Thread(target=_read, args=[tasks], daemon=True).start()
    while True:
        task, args, settings = tasks.get()
        answer: tuple[bool, Any]
        try:
            answer = (True, task(*args, **settings))
        except Exception as error:
            answer = (False, error)
        try:
            results.write(pickle.dumps(answer))
            results.flush()
        except OSError:
            os._exit(0)


def _read(tasks: queue.SimpleQueue[Any]) -> None:
    """Pass on what comes on standard input; end the process with it, also within a long run."""
    while True:
        try:
            tasks.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


def _how(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
