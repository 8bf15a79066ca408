"""TOML text and dictionaries: scenarios that were built in Python, and those that were run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tidegate._tidegate import TidegateError, toml_as_json

__all__ = ["loads", "to_toml"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def loads(text: str) -> dict[str, Any]:
    """Return a TOML text as a dictionary: every text that tidegate reads, which is TOML 1.1.

    Raises:
        TidegateError: It is not TOML.
    """
    table: dict[str, Any] = json.loads(toml_as_json(text))
    return table


def to_toml(table: Mapping[str, object]) -> str:
    """Return the TOML text of `table`: its keys in order, then its lists of tables as `[[key]]`.

    Values are text, whole numbers, floats, truth values, and lists and dictionaries of them.

    Raises:
        TidegateError: A value is of another type.
    """
    sections = {key: value for key, value in table.items() if _is_section(value)}
    lines = [_entry(key, value, key) for key, value in table.items() if key not in sections]
    for key, rows in sections.items():
        assert isinstance(rows, (list, tuple))
        for row in rows:
            lines += [
                "",
                f"[[{_key(key)}]]",
                *(_entry(name, item, f"{key}.{name}") for name, item in row.items()),
            ]
    return "\n".join(lines) + "\n"


def value_to_toml(value: object, where: str) -> str:
    """Return `value` as it is written behind a key; `where` names it in an error message.

    Raises:
        TidegateError: TOML has no such value.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(value_to_toml(item, where) for item in value)}]"
        case Mapping():
            inside = ", ".join(_entry(key, item, f"{where}.{key}") for key, item in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case _:
            raise TidegateError(f"`{where}`: a scenario cannot hold {value!r}, a {type(value).__name__}")


def _is_section(value: object) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for one character that TOML wants escaped too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _entry(key: str, value: object, where: str) -> str:
    return f"{_key(key)} = {value_to_toml(value, where)}"
