"""Boots the kernel in virtual time with a module of Python as its first process."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

from tidegate import TidegateError
from tidegate_lab.uml.build import Kernel

START = 1_700_000_000_000_000_000
"""The time of day at which every kernel boots, in ns since 1970."""
MEMORY = 2048
"""Memory of the kernel, in MiB: with less, TCP would be short of it now and then. A file without
blocks stands for it here, so what is not used costs nothing."""
PROGRESS = re.compile(r"^progress (\d+(?:\.\d+)?)\r?$", re.MULTILINE)
"""A line by which the guest tells the share of its work that is done, in per cent."""
HERE = "/proc/self/cwd"
"""The working directory of the kernel, as its guest finds it among this machine's files."""
DONE = "done"
"""The line of a guest that has done its work."""
INTERVAL = 0.2
"""Time between two looks at whether to stop, in s."""
KEPT_LINES = 40
"""Lines of the console that an error shows."""


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """Make a folder for a job and its results, which is removed afterwards."""
    place = Path(tempfile.mkdtemp(prefix="tidegate-lab-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(
    kernel: Kernel,
    module: str,
    place: Path,
    *,
    seed: int = 0,
    memory: int = MEMORY,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Boot `kernel` and carry out `module`, whose `main` gets the folder `place`; wait for its end.

    The guest sees the files of this machine, and can write to `place` only.

    Args:
        kernel: The kernel.
        module: Name of a module that this interpreter can import.
        place: The folder of the job: what the module writes there stays.
        seed: Seed of all that the kernel draws.
        memory: Memory of the guest in MiB.
        progress: Called with the share that is done, 0 to 1.
        stop: Ends the kernel when it is set.

    Raises:
        CancelledError: `stop` was set.
        TidegateError: The kernel could not be started, or the module failed; with the last lines of
            the console.
        KeyboardInterrupt: Ctrl-C; the kernel has been stopped by then.
    """
    init = place / "init"
    init.write_text(_init(module, place), encoding="utf-8")
    init.chmod(0o755)
    # The kernel draws from its command line, too, so that has no name of a folder in it.
    words = [
        str(kernel.program),
        f"mem={memory}M",
        "rootfstype=hostfs",
        "ro",
        f"init={HERE}/init",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "time-travel=inf-cpu",
        f"time-travel-start={START}",
        "uml_dir=./",
        "umid=kernel",
    ]
    # A file, not a pipe: at a pipe that is read, the machine's time would interrupt the kernel's.
    console = place / "console"
    with console.open("wb") as written, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as taken:
        process = subprocess.Popen(
            words,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                "LD_PRELOAD": str(kernel.getrandom),
                "TIDEGATE_LAB_SEED": str(seed),
                "TMPDIR": _memory(place, memory),
            },
        )
        _await(process, taken, console, progress, stop)
    lines = [line.strip() for line in _text(console).splitlines() if not PROGRESS.match(line)]
    if DONE not in lines:
        said = "\n".join(f"  {line}" for line in lines[-KEPT_LINES:])
        raise TidegateError(f"the kernel in virtual time ended before its work was done; it printed:\n{said}")


def _stay(process: subprocess.Popen[bytes], taken: socket.socket) -> None:
    """Keep a kernel on a processor that no other kernel has, if there is one; `taken` says so to the others.

    Kernel and programs of a guest take turns, and wake each other twice as fast on one processor.
    """
    for processor in sorted(os.sched_getaffinity(0)):
        # A name without a file is free again when this process ends, however it ends. The kernel may
        # have ended, or the processor may be no longer ours.
        with contextlib.suppress(OSError):
            taken.bind(f"\0tidegate-lab-processor-{processor}")
            os.sched_setaffinity(process.pid, {processor})
            return


def _await(
    process: subprocess.Popen[bytes],
    taken: socket.socket,
    console: Path,
    progress: Callable[[float], None] | None,
    stop: threading.Event | None,
) -> None:
    """Wait for the end of a kernel; nothing of it is left when this returns or raises."""
    try:
        _stay(process, taken)
        while process.poll() is None:
            if stop is not None and stop.is_set():
                raise CancelledError
            if progress is not None and (told := PROGRESS.findall(_text(console))):
                progress(float(told[-1]) / 100)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(INTERVAL)
    finally:
        _stop(process)


def _text(console: Path) -> str:
    return console.read_text(encoding="utf-8", errors="replace")


def _memory(place: Path, memory: int) -> str:
    """Return where the file stands that is the guest's memory: not on a disk, if there is room elsewhere."""
    shared = Path("/dev/shm")
    fits = shared.is_dir() and shutil.disk_usage(shared).free > (memory << 20)
    return str(shared if fits else place)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the kernel: each of its processes is one here."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _init(module: str, place: Path) -> str:
    """Return the first process of the guest: a script, because a kernel takes no long command line."""
    return (
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path[:0] = {[path for path in sys.path if path]!r}\n"
        "from tidegate_lab.uml import guest\n"
        f"guest.main({module!r}, {str(place)!r})\n"
    )
