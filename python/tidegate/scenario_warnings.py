"""Warnings of scenarios, for those who run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

UNREAD = " no effect"
"""In a warning that no policy reads what a flow or a class states: behind the keys and their
owner."""


def brief(warning: str) -> str:
    """Return a warning in one line, without the line of the file that it points to."""
    return f"warning: {warning.partition(chr(10))[0]}"


def of_several(warnings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the warnings of a scenario under several policies, by their names, each once.

    One that holds under some of them only begins with their names. What a flow states for one
    policy, another may ignore: that is compared, and warned of only if it holds under all.
    """
    whose: dict[str, list[str]] = {}
    unread: list[dict[str, str]] = []
    for name, under in warnings.items():
        ignored = {one.partition(UNREAD)[0]: one for one in under if UNREAD in brief(one)}
        unread.append(ignored)
        for one in under:
            if one not in ignored.values():
                whose.setdefault(one, []).append(name)
    notes = [
        one if len(names) == len(warnings) else f"{', '.join(names)}: {one}" for one, names in whose.items()
    ]
    first, *others = unread or [{}]
    return notes + [one for what, one in first.items() if all(what in other for other in others)]
