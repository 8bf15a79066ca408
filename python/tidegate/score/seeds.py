"""The seeds of a suite."""

from __future__ import annotations

import hashlib

PUBLIC = "tidegate score"
"""The text from which public seeds are drawn."""

COUNT = 3
"""Runs of each trial."""


def seeds(suite: str, text: str) -> tuple[int, ...]:
    """Return the seeds of a suite that are drawn from a text: SHA-256 of both, 62 bits for each seed."""
    drawn = (hashlib.sha256(f"{suite}\n{text}\n{number}".encode()).digest() for number in range(COUNT))
    return tuple(int.from_bytes(one[:8], "big") >> 2 for one in drawn)
