"""Runs the tests of the Rust workspace, as many test binaries at once as there are cores.

python tests/binaries.py [options of cargo test …] [-- arguments of the test binaries …]

`cargo test` runs one binary after the other, and leaves cores without work behind every long test. Those of
the gate follow real time, so they run one by one, and the others have only the time that these leave. A
binary has one line when it ends, and all that it printed where it failed, which does not stop the others.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REAL_TIME = "tidegate-gate"
"""The package whose tests come before all others whenever they have something to do."""


@dataclass(frozen=True)
class Binary:
    """An executable with tests, the package it belongs to, and where cargo would start it."""

    path: Path
    package: str
    directory: Path

    @property
    def name(self) -> str:
        """The package and the file without cargo's hash."""
        return f"{self.package} {self.path.name.rsplit('-', 1)[0]}"


def built(options: Sequence[str]) -> list[Binary]:
    """Build the tests, and list their binaries in cargo's order; exit with cargo's code if it fails."""
    command = ["cargo", "test", *options, "--no-run", "--message-format=json-render-diagnostics"]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if found.returncode:
        sys.exit(found.returncode)
    binaries = []
    for line in found.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            manifest = Path(message["manifest_path"])
            # "…#tidegate-core@0.1.0", or "…/tidegate-core#0.1.0" where the directory has the package's name.
            source, _, version = message["package_id"].rpartition("#")
            package = version.split("@")[0] if "@" in version else source.rsplit("/", 1)[-1]
            binaries.append(Binary(Path(message["executable"]), package, manifest.parent))
    return binaries


def verdict(code: int, printed: str) -> str:
    """The end of a binary in a few words, and what it printed where it failed."""
    if code:
        return f"FAILED with exit code {code}\n{printed.strip()}\n"
    counts = re.findall(r"^test result: ok\. (\d+) passed; 0 failed; (\d+) ignored", printed, re.MULTILINE)
    passed, ignored = (sum(map(int, column)) for column in zip(*counts, strict=True)) if counts else (0, 0)
    return f"{passed} passed" + f", {ignored} ignored" * (ignored > 0)


def run(binary: Binary, arguments: Sequence[str]) -> bool:
    """Run one binary as cargo would, print its line, and say if it passed."""
    begun = time.monotonic()
    with subprocess.Popen(
        [binary.path, *arguments],
        cwd=binary.directory,
        env=os.environ | {"CARGO_MANIFEST_DIR": str(binary.directory)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        if binary.package != REAL_TIME:
            take_what_is_left(process.pid)
        printed, _ = process.communicate()
    seconds = time.monotonic() - begun
    print(f"{binary.name}, {seconds:.1f} s: {verdict(process.returncode, printed)}", flush=True)
    return process.returncode == 0


def take_what_is_left(process: int) -> None:
    """Let a process run only while no other wants to, where the system can do that."""
    if hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process, os.SCHED_IDLE, os.sched_param(0))


def main(options: Sequence[str], arguments: Sequence[str]) -> int:
    """Run all binaries, then the examples in docstrings; return the exit code."""
    binaries = built(options)
    alone = [one for one in binaries if one.package == REAL_TIME]
    others = [one for one in binaries if one.package != REAL_TIME]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = pool.map(lambda one: run(one, arguments), others)
        failed = [one.name for one in alone if not run(one, arguments)]
        failed += [one.name for one, good in zip(others, passed, strict=True) if not good]
    if subprocess.run(["cargo", "test", *options, "--doc", "--", *arguments]).returncode:
        failed.append("examples in docstrings")
    print(
        f"{len(binaries)} test binaries and the examples in docstrings: {', '.join(failed) or 'none'} failed."
    )
    return bool(failed)


if __name__ == "__main__":
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    try:
        sys.exit(main(sys.argv[1:split], sys.argv[split + 1 :]))
    except KeyboardInterrupt:
        sys.exit(130)
