"""Directories that are written whole or not at all.

A directory is written next to its place and exchanged in one step with the one that is there. A
reader finds a whole directory at any time, and the last of several writers prevails. Its
`manifest.json` lists its contents, and only an earlier directory of the same kind is replaced.

While it is written, its writer holds a lock on it. What a process that was killed has left there
has no lock, and the next writer at the same place removes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate._tidegate import TidegateError

__all__ = ["DirectoryFormat"]

MANIFEST = "manifest.json"

MAX_ATTEMPTS = 100
"""Attempts to put a directory in its place while others come and go there."""

DIGITS = 12
"""Hexadecimal digits in the name of a directory that is being written."""

AT_FDCWD = -100
RENAME_EXCHANGE = 2
"""A flag of `renameat2(2)`."""

PathLike = str | os.PathLike[str]
Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class DirectoryFormat:
    """A kind of directory: what its manifest calls it, and which files it has.

    Attributes:
        format: Its name in the manifest.
        version: Version of its format.
        owns: Whether a file of this name is part of it, the manifest apart.
        foreign: Contents of an earlier directory with the first manifest that one with the second
            must not replace, in a few words; None for nothing.
    """

    format: str
    version: int
    owns: Callable[[str], bool]
    foreign: Callable[[Manifest, Manifest], str | None] = lambda _, __: None

    def manifest(self, directory: PathLike) -> dict[str, Any] | None:
        """Return the manifest of such a directory; None if there is none that tidegate wrote."""
        try:
            manifest = json.loads((Path(directory) / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return manifest if isinstance(manifest, dict) and manifest.get("format") == self.format else None

    def check_writable(
        self, directory: PathLike, manifest: Manifest | None = None, *, force: bool = False
    ) -> None:
        """Make sure that such a directory can be written at this place; leaves no trace.

        Call it before a run, so that an hour's work is not lost at its end. With a `manifest`, or
        as much of it as is known, what is there must not be foreign to it, unless `force` is given.

        Raises:
            TidegateError: Something else is there, or nothing can be written there.
        """
        target = Path(os.path.realpath(directory))
        with _one_message(directory):
            self._refuse_strangers(target, directory)
            self._refuse_foreign(target, directory, None if force else manifest)
            above = next(parent for parent in target.parents if os.path.lexists(parent))
            clear(target)
            probe = _sibling(above / target.name)
            probe.mkdir()
            probe.rmdir()

    def write(
        self, directory: PathLike, manifest: Manifest, fill: Callable[[Path], None], *, force: bool = True
    ) -> Path:
        """Write such a directory, whole or not at all; return its absolute path.

        Missing parent folders are created, and an earlier directory in its place is replaced,
        unless it is foreign and `force` is false. `fill` writes the files into a new directory that
        it is given.

        Raises:
            TidegateError: Something else is there, or it cannot be written, as on a full disk.
        """
        target = Path(os.path.realpath(directory))
        with _one_message(directory):
            self._refuse_strangers(target, directory)
            self._refuse_foreign(target, directory, None if force else manifest)
            made = [parent for parent in target.parents if not parent.exists()]
            clear(target)
            try:
                with _locked(target) as fresh:
                    try:
                        fill(fresh)
                        self._write_manifest(fresh, manifest)
                        self._put(fresh, target, directory)
                    finally:
                        # Either an incomplete directory or the one that was there before.
                        shutil.rmtree(fresh, ignore_errors=True)
            except BaseException:
                for parent in made:
                    with suppress(OSError):
                        parent.rmdir()
                raise
        return target

    def _put(self, fresh: Path, target: Path, shown: PathLike) -> None:
        """Exchange `fresh` with what is at `target`, if anything is; on failure nothing has changed."""
        for _ in range(MAX_ATTEMPTS):
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

    def _write_manifest(self, directory: Path, manifest: Manifest) -> None:
        whole = {
            "format": self.format,
            "format_version": self.version,
            **manifest,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
        # A byte of a file's name that is no UTF-8 is a lone surrogate here, and its escape is one
        # of JSON's.
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

    def _refuse_foreign(self, target: Path, shown: PathLike, manifest: Manifest | None) -> None:
        """Refuse to replace an earlier directory that is foreign."""
        earlier = self.manifest(target)
        if manifest is None or earlier is None:
            return
        foreign = self.foreign(earlier, manifest)
        if foreign is not None:
            raise TidegateError(
                f"{shown}: holds {foreign}\n  help: name another directory, or replace them with --force"
            )


def _words(kind: DirectoryFormat) -> str:
    """`tidegate results` are results of tidegate."""
    return f"{kind.format.removeprefix('tidegate ')} of tidegate"


@contextmanager
def _one_message(directory: PathLike) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TidegateError(f"{directory}: cannot be written: {error.strerror or error}") from error


def _sibling(target: Path, ending: str = "tmp") -> Path:
    """Return an unused place beside `target`; that of a process which was killed is not in its way."""
    return target.parent / f".{target.name}.{secrets.token_hex(DIGITS // 2)}.{ending}"


@contextmanager
def _locked(target: Path) -> Iterator[Path]:
    """Make a new directory beside `target`, and lock it for the block; a lock ends with its process.

    Raises:
        OSError: It cannot be made.
    """
    for _ in range(MAX_ATTEMPTS):
        fresh = _sibling(target)
        fresh.mkdir(parents=True)
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(_opened(fresh))
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (FileNotFoundError, BlockingIOError):
                # Another writer has taken it for a leftover.
                continue
            except OSError:
                # Where nothing can be locked, nothing is taken for a leftover either.
                pass
            if fresh.is_dir():
                yield fresh
                return
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(target))


@contextmanager
def _opened(place: Path) -> Iterator[int]:
    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def clear(target: Path) -> None:
    """Remove what processes that were killed have left beside `target`; what is being written stays."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{{DIGITS}}}\.tmp")
    try:
        beside = [path for path in target.parent.iterdir() if name.fullmatch(path.name)]
    except OSError:
        return
    for path in beside:
        # One that is locked is being written.
        with suppress(OSError), _opened(path) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)


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
    # Nobody removes this one: for a moment it is all that there is of the earlier directory.
    aside = _sibling(other, "old")
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)
