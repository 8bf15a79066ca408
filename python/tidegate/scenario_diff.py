"""Differences between two scenarios, key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate import _tidegate
from tidegate._tidegate import TidegateError, parse_rate, parse_time
from tidegate.source import ScenarioLike, resolve

__all__ = ["Difference", "differences"]


@dataclass(frozen=True)
class Difference:
    """A key that has other values in two scenarios.

    Attributes:
        key: The path of the key, as overrides have it: `flow.voice.source.rate`.
        first: Its value in the first scenario; None if it states none.
        second: Its value in the second.
    """

    key: str
    first: str | None
    second: str | None


def differences(first: ScenarioLike, second: ScenarioLike) -> list[Difference]:
    """Return the keys in which two scenarios differ, in alphabetical order.

    Flows, links and other lists are compared by name, in whatever order they stand. Quantities are
    equal if they mean the same, such as `1mbit` and `1000kbit`. A key that is left out differs from
    one that states its default.

    Raises:
        TidegateError: A scenario cannot be read or has a mistake.
    """
    one, other = (dict(_leaves(_data(scenario), "")) for scenario in (first, second))
    return [
        Difference(key, one.get(key), other.get(key))
        for key in sorted({*one, *other})
        if _meaning(one.get(key)) != _meaning(other.get(key))
    ]


def _data(scenario: ScenarioLike) -> Any:
    return json.loads(_tidegate.toml_as_json(resolve(scenario).scenario.toml))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Return the paths of the values below a path, and the values as text."""
    match value:
        case dict() if value:
            for key, below in value.items():
                yield from _leaves(below, f"{path}.{key}" if path else key)
        case list() if value and all(isinstance(one, dict) for one in value):
            for nth, one in enumerate(value, start=1):
                yield from _leaves(one, f"{path}.{_name(one, nth)}")
        case _:
            yield path, value if isinstance(value, str) else json.dumps(value)


def _name(entry: dict[str, Any], nth: int) -> str:
    """Return what tells an entry of a list from the others: its name, its ends, or its number."""
    if "name" in entry:
        return str(entry["name"])
    if "from" in entry and "to" in entry:
        return f"{entry['from']}->{entry['to']}"
    return str(nth)


def _meaning(text: str | None) -> object:
    """Return a value that is equal for texts that mean the same quantity."""
    for unit, parse in (("bit/s", parse_rate), ("s", parse_time)):
        try:
            return unit, parse(text or "")
        except TidegateError:
            continue
    return text
