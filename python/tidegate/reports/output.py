"""The file of a report, which is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tidegate._tidegate import TidegateError

ENDINGS = (".html", ".htm")


def check(path: str | os.PathLike[str]) -> None:
    """Make sure, before a long run, that a report can be written to `path`; leaves no trace.

    Raises:
        TidegateError: The name is not that of a page, something else is there, or nothing can be
            written there.
    """
    target = _target(path)
    above = next(parent for parent in target.parents if parent.exists())
    try:
        probe = _beside(above / target.name)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _cannot(path, error) from error


def write(path: str | os.PathLike[str], text: str) -> Path:
    """Write a report to `path`, and missing folders above it; return the absolute path.

    Raises:
        TidegateError: As `check`, or the disk is full.
    """
    target = _target(path)
    fresh = _beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            # A byte of a file's name that is no UTF-8 is a lone surrogate in a text.
            with fresh.open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot(path, error) from error
    return target


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that is written: a link stays one."""
    target = Path(os.path.realpath(path))
    if target.suffix.lower() not in ENDINGS:
        raise TidegateError(f"{os.fspath(path)}: a report is a page, so its name ends in .html")
    if target.exists() and not target.is_file():
        raise TidegateError(f"{os.fspath(path)}: is not a regular file, so it is not overwritten")
    return target


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")


def _cannot(path: str | os.PathLike[str], error: OSError) -> TidegateError:
    return TidegateError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}")
