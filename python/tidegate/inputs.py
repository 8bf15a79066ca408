"""The files that a scenario names, and whether they are what they were."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from tidegate import _tidegate


def digests(
    scenario: _tidegate.Scenario, base_dir: Path, known: dict[str, str | None] | None = None
) -> dict[str, str]:
    """Return the SHA-256 of each file that a scenario names, by the name that it has there.

    `known` has digests of an earlier scenario in the same folder, and takes up those of this one.
    """
    # Any text may name a file.
    names = scenario.texts
    known = {} if known is None else known
    known |= {name: _digest(base_dir, name) for name in names if name not in known}
    found = {name: known[name] for name in names}
    return {name: digest for name, digest in found.items() if digest is not None}


def changed(inputs: Mapping[str, str], base_dir: Path) -> tuple[str, ...]:
    """Return the names of the files that are not what they were."""
    return tuple(name for name, digest in inputs.items() if _digest(base_dir, name) != digest)


def _digest(base_dir: Path, name: str) -> str | None:
    """Return the SHA-256 of a file; None where there is no such file."""
    try:
        # Scenarios have many texts: `Path` would take several times as long to join and to look.
        path = os.path.join(base_dir, name)  # noqa: PTH118
        if not os.path.isfile(path):  # noqa: PTH113
            return None
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        # Not every text can be a path, nor every file be read.
        return None
