"""Files that a replay writes: whole or not at all, and never over what a person has changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.atomic_dir import MANIFEST

MARK = "# Written by `tidegate replay`, which replaces it only while it is unchanged: sha256 "
"""Start of the first line; the digest is of all that follows that line."""


def refuse_changed(path: Path) -> None:
    """Make sure that a file may be written at this place.

    Raises:
        TidegateError: Something is there that no replay has written, or that was changed since.
    """
    if os.path.lexists(path) and not _is_ours(path):
        raise TidegateError(
            f"{path}: has been edited since a replay wrote it, so it is not overwritten\n"
            "  help: --force overwrites it, --scenario FILE.toml writes to another file"
        )


def refuse_capture(path: Path, capture: Path) -> None:
    """Make sure that a file to write is not the capture, by whatever name.

    Raises:
        TidegateError: It is.
    """
    with suppress(OSError):
        if path.samefile(capture):
            raise TidegateError(
                f"{path}: is the capture, and is never overwritten\n"
                "  help: --scenario FILE.toml writes to another file"
            )


def refuse_other_results(folder: Path, names: Collection[str], capture: Path) -> None:
    """Make sure that after this replay a folder holds the results of this replay and no others.

    Args:
        folder: Where the results of each scheduler get a folder of their own.
        names: The names of these folders.
        capture: The capture that is played.

    Raises:
        TidegateError: The folder is or holds results that this replay would not replace, or those
            of another capture.
    """
    if not folder.is_dir():
        return
    for place in (folder, *sorted(folder.iterdir())):
        manifest = _manifest(place)
        if manifest is None:
            continue
        scenario = str(manifest.get("scenario"))
        if place == folder or place.name not in names or not scenario.startswith(f"{capture.name} at "):
            raise TidegateError(
                f"{place}: holds results of another run, and those of this one are kept apart from them\n"
                "  help: name another directory with --out, or remove that one"
            )


def _manifest(place: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder that tidegate has written; None for anything else."""
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    ours = isinstance(manifest, dict) and str(manifest.get("format")).startswith("tidegate ")
    return manifest if ours else None


def write(path: Path, text: str, *, force: bool = False) -> Path:
    """Write a file that a replay may replace later, whole or not at all; missing folders are made.

    Args:
        path: File to write.
        text: Its contents, the first line apart.
        force: Replace whatever file is there.

    Raises:
        TidegateError: Something else is there, or it cannot be written, as on a full disk.
    """
    if not force:
        refuse_changed(path)
    whole = f"{MARK}{_digest(text.encode())}\n{text}"
    # A symlink is followed: its target is replaced, and it still leads there.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if target.exists() and not target.is_file():
            raise TidegateError(f"{path}: is not a regular file")
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(whole, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise TidegateError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return path


def stem(capture: Path) -> str:
    """Return the name that a capture's files have: `a.1` for `a.1.pcap`."""
    return capture.stem or "replay"


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            first = file.readline(len(MARK) + 80)
            return first == f"{MARK}{_digest(file.read())}\n".encode()
    except OSError:
        return False


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
