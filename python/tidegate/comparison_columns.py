"""The columns of a comparison: one scenario under several policies, or under other settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidegate._tidegate import TidegateError
from tidegate.policies import DropperKind, SchedulerKind
from tidegate.source import Overrides
from tidegate.toml import value_to_toml

Policy = str | SchedulerKind | DropperKind
"""A policy in one line, as in a scenario, or the record of a scheduler or of a dropper."""

PATH = "port.policy"
"""Where a policy is set: at the ports of switches that do not state their own."""

_OPENING = {"(": ")", "{": "}", "[": "]"}


def split(text: str) -> list[str]:
    """Split a list at its commas, except within brackets and quotes; empty parts are left out."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _OPENING.values():
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append("")
            continue
        parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def of_policies(policies: Iterable[Policy], path: str = PATH) -> list[tuple[str, Overrides]]:
    """Return a column for each policy: its name and what sets it."""
    return [
        (policy, [(path, policy)])
        if isinstance(policy, str)
        else (_label(policy), [(path, value_to_toml(policy.to_dict(), "policy"))])
        for policy in policies
    ]


def of_settings(text: str) -> tuple[str, Overrides]:
    """Return the column that `NAME: KEY=VALUE, KEY=VALUE` describes; its settings name one without a name.

    Raises:
        TidegateError: A setting has no `=`.
    """
    name, colon, rest = text.partition(":")
    named = bool(colon) and "=" not in name
    sets = []
    for given in split(rest if named else text):
        key, equals, value = given.partition("=")
        if not equals or not key.strip():
            raise TidegateError(
                f"--column {text}: `{given}` is no setting\n"
                "  help: write it as in --column 'small: port.policy=red, switch.buffer=20p'"
            )
        sets.append((key.strip(), value.strip()))
    label = name.strip() if named else text.strip()
    if not label:
        raise TidegateError("--column is empty; write it as in --column 'small: switch.buffer=20p'")
    return label, sets


def on_each(columns: Sequence[tuple[str, Overrides]], on: Sequence[str]) -> list[tuple[str, Overrides]]:
    """Return a column for each of these on each of several backends; without any, one for each backend.

    On one backend columns keep their names.
    """
    if len(on) == 1:
        return list(columns)
    if not columns:
        return [(name, ()) for name in on]
    return [(f"{label} on {name}", sets) for label, sets in columns for name in on]


def unique(columns: Sequence[tuple[str, Overrides]]) -> dict[str, Overrides]:
    """Return the columns by their names.

    Raises:
        TidegateError: There are fewer than two, or two have one name.
    """
    if len(columns) < 2:
        raise TidegateError("a comparison needs at least two policies, as in `fifo,fq-codel`")
    names = [name for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            raise TidegateError(f"`{name}` is named twice")
    return dict(columns)


def about_column(error: TidegateError, name: str, sets: Overrides) -> TidegateError:
    """Return the error about a column's setting as an error about the column, as its user has named it."""
    message = str(error)
    for key, value in sets:
        kind = key.rpartition(".")[2] if value == name else "column"
        message = message.replace(f"--set {key}={value}: ", f"{kind} {name}: ", 1)
    return TidegateError(message)


def _label(policy: SchedulerKind | DropperKind) -> str:
    table: Mapping[str, object] = policy.to_dict()
    given = ", ".join(f"{key}={value}" for key, value in table.items() if key != "kind")
    return f"{table['kind']}({given})" if given else str(table["kind"])
