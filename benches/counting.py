"""Runs of benchmarks: their CPU seconds, and what cachegrind counts of them."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ["cargo", "build", "--release", "--message-format=json"]
BENCHES = (
    ["--benches", "--package", "tidegate-sim"],
    ["--bench", "engine", "--bench", "null_device", "--package", "tidegate-gate", "--features", "bench"],
)
"""The benchmarks by crate. Those of the gate have a feature that no gate has."""
REFUSED = 1
"""Exit code of a benchmark that refuses its arguments."""


def executables() -> dict[str, str]:
    """Build the benchmarks and say where they are, by name."""
    runs = (
        subprocess.run([*BUILD, *which], cwd=ROOT, check=True, capture_output=True, text=True)
        for which in BENCHES
    )
    messages = [json.loads(line) for done in runs for line in done.stdout.splitlines()]
    return {
        message["target"]["name"]: message["executable"]
        for message in messages
        if message.get("executable") and "bench" in message["target"]["kind"]
    }


def run(*command: object) -> str:
    """Run a command and return what it prints."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def cpu_seconds(*command: object) -> tuple[float, str]:
    """User and system seconds of a command, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, printed


def usage(*command: object) -> tuple[float, float]:
    """User and system seconds of a command, whatever its exit code, and the most MB that it held."""
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL) as child:
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def instructions(*command: object) -> tuple[int, str]:
    """Instructions that cachegrind counts, and what the command prints."""
    with tempfile.NamedTemporaryFile() as out:
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out.name}"]
        done = subprocess.run([*tool, *map(str, command)], check=True, capture_output=True, text=True)
        lines = Path(out.name).read_text().splitlines()
    summary = next(line for line in lines if line.startswith("summary:"))
    return int(summary.split()[1]), done.stdout


def misses(*command: object) -> tuple[int, str]:
    """First-level data cache misses that cachegrind counts, and what the command prints."""
    with tempfile.NamedTemporaryFile() as out:
        cache = ["--cache-sim=yes", "--D1=32768,8,64", f"--cachegrind-out-file={out.name}"]
        tool = ["valgrind", "--tool=cachegrind", *cache]
        done = subprocess.run([*tool, *map(str, command)], check=True, capture_output=True, text=True)
        lines = Path(out.name).read_text().splitlines()
    events, summary = (
        next(line for line in lines if line.startswith(start)).split()[1:]
        for start in ("events:", "summary:")
    )
    counted = dict(zip(events, map(int, summary), strict=True))
    return counted["D1mr"] + counted["D1mw"], done.stdout


Command = tuple[object, ...]
Pair = Sequence[Command]
"""One command for a short and for a long run."""
Difference = tuple[int, str, str]
"""Instructions of a longer run less those of a shorter one, and what each prints."""


def differences(
    pairs: Iterable[Pair], counter: Callable[..., tuple[int, str]] = instructions
) -> list[Difference | None]:
    """Count pairs, so that setting up does not count; None for one that is refused."""

    def count(pair: Pair) -> Difference | None:
        try:
            (short, first), (long, second) = (counter(*command) for command in pair)
        except subprocess.CalledProcessError as error:
            # A frame of slots has no room for so many flows.
            if error.returncode != REFUSED:
                raise
            return None
        return long - short, first, second

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(count, pairs))


def per(
    pairs: Iterable[Pair], column: int, counter: Callable[..., tuple[int, str]] = instructions
) -> list[float]:
    """Instructions, or what else is counted, for each unit that runs print in a column."""
    found = [one for one in differences(pairs, counter) if one is not None]
    return [
        more / (int(second.split()[column]) - int(first.split()[column])) for more, first, second in found
    ]
