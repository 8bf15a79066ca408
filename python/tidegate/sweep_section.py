"""The section `[sweep]` of a scenario file, which the rest of the scenario does not depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.toml import loads

_NUMBER = {"type": "integer", "minimum": 1}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "The points at which `tidegate sweep` runs the scenario.",
    "additionalProperties": False,
    "properties": {
        "set": {
            "type": "object",
            "description": "Values of each parameter, by its path as in --set",
        },
        "design": {
            "enum": ["product", "zip", "random", "latin-hypercube"],
            "description": "Which values are set together",
            "default": "product",
        },
        "points": {**_NUMBER, "description": "Number of points that are drawn"},
        "design_seed": {"type": "integer", "default": 1, "description": "Seed with which points are drawn"},
        "csv": {"type": "string", "description": "A file with more parameters and a point in each line"},
        "replications": {**_NUMBER, "description": "Runs of each point; with `until` the most of them"},
        "until": {
            "type": "string",
            "description": "A figure and half its 95 % interval, at which a point has runs enough",
        },
    },
}
"""JSON Schema of the section."""

_HEADING = re.compile(r"\s*\[\[?\s*sweep\s*[.\]]")
_ANY_HEADING = re.compile(r"\s*\[")


def split(text: str) -> tuple[str, dict[str, Any] | None]:
    """Return the text of a scenario without its section `[sweep]`, and that section; None if there is none.

    Lines keep their numbers. The keys of its table `set` are paths, quoted or not, in the order of the text.

    Raises:
        TidegateError: Other sections stand between the tables of the section.
    """
    if "sweep" not in text:
        return text, None
    try:
        whole = loads(text)
    except TidegateError:
        # The reader of scenarios gives the place.
        return text, None
    section = whole.pop("sweep", None)
    if section is None:
        return text, None
    for without in _candidates(text):
        try:
            if loads(without) == whole:
                break
        except TidegateError:
            continue
    else:
        raise TidegateError(
            "`sweep` is not a section of its own\n"
            "  help: write it as [sweep], with its tables such as [sweep.set] right below it"
        )
    if isinstance(section.get("set"), dict):
        paths = dict(_paths(section["set"]))
        start = text.index("sweep")
        section["set"] = dict(sorted(paths.items(), key=lambda one: text.find(one[0], start)))
    return without, section


def _paths(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of every value in nested tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _candidates(text: str) -> Iterator[str]:
    """Yield the text with the lines blank from the first heading on, up to each place where it may end."""
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    for start in starts[:1]:
        # A line of a long list may look like a heading.
        ends = [
            number
            for number, line in enumerate(lines[start:], start)
            if _ANY_HEADING.match(line) and number not in starts
        ]
        for end in [*ends, len(lines)]:
            blank = ["\n"] * (end - start)
            yield "".join([*lines[:start], *blank, *lines[end:]])
