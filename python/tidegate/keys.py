"""The keys of settings, as tables and figures show them."""

from __future__ import annotations

from collections.abc import Sequence


def short(keys: Sequence[str]) -> list[str]:
    """Return the last parts of keys, as many as tell them apart."""
    parts = [key.split(".") for key in keys]
    for number in range(1, max(map(len, parts), default=1)):
        names = [".".join(part[-number:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(keys)
