"""The first process of a kernel in virtual time: mounts what a program expects, and does the job."""

from __future__ import annotations

import ctypes
import importlib
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

MOUNTS = (
    ("proc", "proc", "/proc", ""),
    ("sys", "sysfs", "/sys", ""),
    ("run", "tmpfs", "/run", ""),
    ("dev", "devtmpfs", "/dev", ""),
    ("bpf", "bpf", "/sys/fs/bpf", ""),
)
RESULTS = "/run/results"
"""Where the folder of the job is in the guest, which sees all other files as they are and can write
to none of them."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

BEGIN = 1_000_000_000
"""A job begins at a multiple of this time since the boot, in ns. The time until then depends on the folders
in which Python searches for modules, and what the job does must not."""

CLOCK_MONOTONIC, TIMER_ABSTIME = 1, 1
SYS_REBOOT = 169
MAGIC = (0xFEE1DEAD, 0x28121969, 0x4321FEDC)
"""The arguments by which reboot(2) switches the machine off."""

_libc = ctypes.CDLL(None, use_errno=True)


def main(module: str, place: str) -> None:
    """Carry out `module.main(RESULTS)` and switch the machine off; `done` is printed if all went well."""
    try:
        for source, kind, target, options in MOUNTS:
            _mount(source, kind, target, options)
        Path(RESULTS).mkdir()
        _mount("results", "hostfs", RESULTS, place)
        os.environ.update(PATH=PATH, TMPDIR="/run")
        job = importlib.import_module(module).main
        _await_next(BEGIN)
        job(RESULTS)
        print("done", flush=True)
    except BaseException as failure:
        print(_explained(failure), flush=True)
    os.sync()
    _libc.syscall(SYS_REBOOT, *(ctypes.c_ulong(word) for word in MAGIC), None)
    sys.exit(1)


def _await_next(step: int) -> None:
    """Sleep until the next multiple of a time since the boot, in ns."""
    when = -(-time.monotonic_ns() // step) * step
    until = (ctypes.c_long * 2)(*divmod(when, 1_000_000_000))
    number = _libc.clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, until, None)
    if number != 0:
        raise OSError(number, os.strerror(number))


def _explained(failure: BaseException) -> str:
    if isinstance(failure, subprocess.CalledProcessError):
        return f"{failure.cmd}: {failure.stderr or failure.stdout}"
    return traceback.format_exc()


def _mount(source: str, kind: str, target: str, options: str) -> None:
    done = _libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode())
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{kind} on {target}: {os.strerror(number)}")
