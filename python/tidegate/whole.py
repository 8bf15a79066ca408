"""Directories that are written whole or not at all.

A directory is written next to its place and exchanged in one step with the one that is there. A reader finds
a whole directory at any time, and the last of several writers prevails. Its `manifest.json` lists its
contents, and only an earlier directory of the same kind is replaced.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate._tidegate import TidegateError

MANIFEST = "manifest.json"

MOST_ATTEMPTS = 100
"""Attempts to put a directory in its place while others come and go there."""

AT_FDCWD = -100
RENAME_EXCHANGE = 2
"""Of `renameat2(2)`."""

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Kind:
    """A kind of directory.

    Attributes:
        format: What its manifest calls it.
        version: Version of its format.
        owns: Whether a file of this name is part of it, the manifest apart.
    """

    format: str
    version: int
    owns: Callable[[str], bool]

    def manifest(self, directory: PathLike) -> dict[str, Any] | None:
        """Return the manifest of such a directory; None if there is none that tidegate wrote."""
        try:
            manifest = json.loads((Path(directory) / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return manifest if isinstance(manifest, dict) and manifest.get("format") == self.format else None

    def check_writable(self, directory: PathLike) -> None:
        """Make sure that such a directory can be written at this place; leaves no trace.

        Call it before a run, so that an hour's work is not lost at its end.

        Raises:
            TidegateError: Something else is there, or nothing can be written there.
        """
        target = Path(os.path.realpath(directory))
        with _one_message(directory):
            self._refuse_strangers(target, directory)
            above = next(parent for parent in target.parents if os.path.lexists(parent))
            probe = _sibling(above / target.name)
            probe.mkdir()
            probe.rmdir()

    def write(
        self, directory: PathLike, manifest: Mapping[str, object], fill: Callable[[Path], None]
    ) -> Path:
        """Write such a directory, whole or not at all; return its absolute path.

        Missing parent folders are created, and an earlier directory in its place is replaced. `fill` writes
        the files into a new directory that it is given.

        Raises:
            TidegateError: Something else is there, or it cannot be written, as on a full disk.
        """
        target = Path(os.path.realpath(directory))
        with _one_message(directory):
            self._refuse_strangers(target, directory)
            made = [parent for parent in target.parents if not parent.exists()]
            fresh = _sibling(target)
            try:
                fresh.mkdir(parents=True)
                fill(fresh)
                self._write_manifest(fresh, manifest)
                self._put(fresh, target, directory)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                for parent in made:
                    with suppress(OSError):
                        parent.rmdir()
                raise
            # What was there before.
            shutil.rmtree(fresh, ignore_errors=True)
        return target

    def _put(self, fresh: Path, target: Path, shown: PathLike) -> None:
        """Exchange `fresh` with what is at `target`, if anything is; on failure nothing has changed."""
        for _ in range(MOST_ATTEMPTS):
            try:
                # Nothing there, or an empty directory: else it fails.
                fresh.rename(target)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            self._refuse_strangers(target, shown)
            try:
                exchange(fresh, target)
                return
            except FileNotFoundError:
                # It has gone meanwhile.
                continue
        raise TidegateError(f"{shown}: cannot be written, because other programs keep writing there")

    def _write_manifest(self, directory: Path, manifest: Mapping[str, object]) -> None:
        whole = {
            "format": self.format,
            "format_version": self.version,
            **manifest,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
        # A byte of a file's name that is no UTF-8 is a lone surrogate here, and its escape is one of JSON's.
        encoded = text.encode("utf-8", errors="backslashreplace")
        (directory / MANIFEST).write_bytes(encoded + b"\n")

    def _refuse_strangers(self, target: Path, shown: PathLike) -> None:
        """Refuse to replace anything but an earlier directory of this kind or an empty one."""
        if not os.path.lexists(target):
            return
        if not target.is_dir():
            raise TidegateError(f"{shown}: is a file; name a directory that is new or holds earlier results")
        inside = {entry.name for entry in target.iterdir()}
        if inside and self.manifest(target) is None:
            raise TidegateError(f"{shown}: exists and holds no {_words(self)}; name another directory")
        strangers = sorted(name for name in inside if name != MANIFEST and not self.owns(name))
        if strangers:
            raise TidegateError(
                f"{shown}: would be replaced, but also holds {', '.join(strangers[:3])}"
                f"{' …' if len(strangers) > 3 else ''}; move that or name another directory"
            )


def _words(kind: Kind) -> str:
    """`tidegate results` are results of tidegate."""
    return f"{kind.format.removeprefix('tidegate ')} of tidegate"


@contextmanager
def _one_message(directory: PathLike) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TidegateError(f"{directory}: cannot be written: {error.strerror or error}") from error


def _sibling(target: Path) -> Path:
    """Return an unused place beside `target`; that of a process which was killed is not in its way."""
    return target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"


def exchange(one: Path, other: Path) -> None:
    """Exchange two directories in one step: `renameat2` of Linux, for which Python has no function.

    Where the file system does not support that, they are renamed one after the other.

    Raises:
        OSError: One of them is not there, or cannot be renamed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    paths = (AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other))
    if libc.renameat2(*paths, RENAME_EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(code, os.strerror(code), str(other))
    aside = _sibling(other)
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)
