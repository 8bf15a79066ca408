"""Builds the kernel in virtual time from the distribution's source package, into a cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tidegate import TidegateError

PACKAGE = "linux-source-6.1"
"""The source package of Debian 12, which is used where it is installed, and else downloaded."""
SOURCES = Path("/usr/src") / f"{PACKAGE}.tar.xz"
TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "tar": "tar",
    "ip": "iproute2",
    "tc": "iproute2",
}
"""Programs that a build or a run needs, and the package of Debian that has each."""
HZ = 1000
"""Ticks of the kernel's clock in a second: PIE's updates every 15 ms would otherwise take 20."""
EDITS = (
    ("arch/um/Kconfig", r"(config HZ\n\tint\n\tdefault) \d+", rf"\1 {HZ}"),
    # Where processors have AMX, the kernel below takes a process's registers with those of AMX, or not at
    # all. No process of the guest may use them, so they are zero.
    (
        "arch/x86/um/os-Linux/registers.c",
        r"iov\.iov_base = fp_regs;\s*iov\.iov_len = (FP_SIZE \* sizeof\(unsigned long\));"
        r"(?=\s*if \(ptrace\(PTRACE_SETREGSET)",
        r"static char all[16384];\n"
        r"__builtin_memcpy(all, fp_regs, \1);\n"
        r"iov.iov_base = all;\n"
        r"iov.iov_len = sizeof(all);",
    ),
)
"""Changes of the source: the file, what is in it once, and what is there instead."""
CACHE = "tidegate/lab-kernel"
INTERVAL = 10.0
"""Time between two reports of a step that goes on, in s."""
REPEATABLE = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "tidegate",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
}
"""Time and place of the build, which the kernel would otherwise draw from, too."""


@dataclass(frozen=True)
class Kernel:
    """A kernel in virtual time.

    Attributes:
        program: The kernel, a program.
        getrandom: The library by which it draws from a seed.
        version: Version of its source.
    """

    program: Path
    getrandom: Path
    version: str


def cache() -> Path:
    """Return the folder of the built kernel, by its configuration and the changes of its source."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(_read("kernel.config") + _read("getrandom.c") + f"{PACKAGE} {EDITS}".encode())
    return root / CACHE / digest.hexdigest()[:12]


def find() -> Kernel:
    """Return the kernel.

    Raises:
        TidegateError: It was not built yet.
    """
    place = cache()
    if not (place / "version").exists():
        raise TidegateError(
            "the laboratory's kernel is not built yet\n"
            "  help: run `tidegate lab kernel`, or `make lab-kernel` in a clone; it takes some minutes, once"
        )
    return Kernel(place / "linux", place / "getrandom.so", (place / "version").read_text().strip())


def build(tell: Callable[[str], None]) -> Kernel:
    """Build the kernel into the cache, whole or not at all; nothing is done if it is there.

    Args:
        tell: Gets a line for each step, and one at least every 10 s.

    Raises:
        TidegateError: A tool is missing, or a step failed.
    """
    place = cache()
    if (place / "version").exists():
        return find()
    check_tools()
    place.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="build-", dir=place.parent))
    try:
        source = _unpack(_source(work, tell), work, tell)
        version = _configure(source, tell)
        _step(["make", "ARCH=um", f"-j{os.cpu_count() or 1}", "linux"], source, "building the kernel", tell)
        made = work / "made"
        made.mkdir()
        shutil.copy(source / "linux", made / "linux")
        (made / "getrandom.c").write_bytes(_read("getrandom.c"))
        _step(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", "getrandom.so", "getrandom.c"],
            made,
            "building the library for its seed",
            tell,
        )
        (made / "version").write_text(version + "\n", encoding="utf-8")
        made.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return find()


def check_tools() -> None:
    """Check whether everything is here that a build needs.

    Raises:
        TidegateError: Something is missing, with the packages that have it.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise TidegateError("the laboratory's kernel runs on Linux on x86-64")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        packages = " ".join(dict.fromkeys(TOOLS[tool] for tool in missing))
        raise TidegateError(
            f"the laboratory's kernel needs {', '.join(f'`{tool}`' for tool in missing)}\n"
            f"  help: apt install {packages}"
        )


def _read(name: str) -> bytes:
    return files("tidegate_lab.uml").joinpath(name).read_bytes()


def _source(work: Path, tell: Callable[[str], None]) -> Path:
    """Return the archive of the kernel's source."""
    if SOURCES.exists():
        return SOURCES
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise TidegateError(
            f"the source of the kernel, {SOURCES}, is not here, and there is no apt-get to download it\n"
            f"  help: put that file of Debian's package {PACKAGE} there"
        )
    _step(["apt-get", "download", PACKAGE], work, f"downloading {PACKAGE} (140 MB)", tell)
    (package,) = work.glob("*.deb")
    _step(["dpkg-deb", "-x", str(package), "package"], work, "unpacking the package", tell)
    return work / "package" / SOURCES.relative_to("/")


def _unpack(archive: Path, work: Path, tell: Callable[[str], None]) -> Path:
    _step(["tar", "-xf", str(archive)], work, "unpacking the source (1.3 GB, removed afterwards)", tell)
    (source,) = work.glob("linux-source-*/")
    return source


def _configure(source: Path, tell: Callable[[str], None]) -> str:
    """Configure the kernel, and return its version."""
    for name, pattern, instead in EDITS:
        file = source / name
        text, count = re.subn(pattern, instead, file.read_text(encoding="utf-8"))
        if count != 1:
            raise TidegateError(f"{file} is not as in {PACKAGE}: it is the source of another kernel")
        file.write_text(text, encoding="utf-8")
    wanted = source / "wanted.config"
    wanted.write_bytes(_read("kernel.config"))
    _step(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"], source, "configuring", tell)
    made = (source / ".config").read_text(encoding="utf-8").splitlines()
    missing = [
        line
        for line in _read("kernel.config").decode().splitlines()
        if line.endswith("=y") and line not in made
    ]
    if missing:
        raise TidegateError(f"the kernel cannot be configured with {', '.join(missing)}")
    return subprocess.run(
        ["make", "-s", "ARCH=um", "kernelversion"], cwd=source, capture_output=True, text=True, check=True
    ).stdout.strip()


def _step(words: Sequence[str], place: Path, what: str, tell: Callable[[str], None]) -> None:
    """Carry out a command, and say now and then that it goes on.

    Raises:
        TidegateError: It failed, with the end of what it printed.
    """
    tell(what)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", dir=place) as printed:
        process = subprocess.Popen(
            words,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, **REPEATABLE},
            start_new_session=True,
        )
        try:
            while True:
                try:
                    process.wait(INTERVAL)
                    break
                except subprocess.TimeoutExpired:
                    tell(f"{what}: {time.monotonic() - began:.0f} s")
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if process.returncode != 0:
            printed.seek(0)
            end = "\n".join(f"  {line}" for line in printed.read().splitlines()[-20:])
            raise TidegateError(f"{what} failed: {' '.join(words)}\n{end}")
