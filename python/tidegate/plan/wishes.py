"""The sections `[[wish]]` and `[[match]]` of a requirements file, which the rest of it does not depend on."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tidegate import _tidegate
from tidegate._tidegate import TidegateError, parse_rate, parse_time
from tidegate.toml import loads

KEYS = ("name", "flows", "delay", "total")

SECTIONS = ("wish", "match")

_SECTION = re.compile(r"\s*\[\[\s*(wish|match)\s*\]\]")
_HEADING = re.compile(r"\s*\[\[?\s*[A-Za-z]")
_UNIT = re.compile(r"([0-9.]+)([a-z]+)")
_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}


@dataclass(frozen=True)
class Wish:
    """One wish of a requirements file.

    Attributes:
        name: Its name, unique in the file.
        flows: Indices of the flows that it is of, in the order of the scenario.
        delay: Longest delay of each packet, in s; None for a wish of a rate.
        total: Rate that the flows get together, in bit/s; None for a wish of a delay.
    """

    name: str
    flows: tuple[int, ...]
    delay: Fraction | None
    total: int | None


class Text:
    """A requirements file: its text, the scenario in it, and the places of its wishes.

    Args:
        text: The text of the file.
        name: Name of the file, for messages.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._lines = text.splitlines()
        self._blocks = _blocks(self._lines)
        inside = {line for _, block in self._blocks for line in block}
        self.scenario = "".join("\n" if ix in inside else f"{line}\n" for ix, line in enumerate(self._lines))
        try:
            whole = loads(text)
        except TidegateError as error:
            # The reader of scenarios gives the place.
            _tidegate.Scenario.parse(text, name)
            raise TidegateError(f"{name}: {error}") from None
        self.tables: dict[str, list[dict[str, Any]]] = {key: whole.pop(key, []) for key in SECTIONS}
        if not self.tables["wish"]:
            raise TidegateError(
                f"{name}: this file has no wish\n  help: write each as [[wish]] with its keys below"
            )
        try:
            is_apart = loads(self.scenario) == whole and all(
                isinstance(tables, list) and len(tables) == len(self._of(key))
                for key, tables in self.tables.items()
            )
        except TidegateError:
            is_apart = False
        if not is_apart:
            help_ = "write each as [[wish]] with its keys right below"
            raise TidegateError(f"{name}: wishes and matches are sections\n  help: {help_}")

    def _of(self, section: str) -> list[list[int]]:
        """Return the lines of each section of a name."""
        return [block for one, block in self._blocks if one == section]

    def error(
        self, number: int, key: str | None, message: str, help_: str, section: str = "wish"
    ) -> TidegateError:
        """Return the error of a value, in the section of a number from 0, or of the whole section."""
        block = self._of(section)[number]
        if key is not None:
            pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=\s*(.*?)\s*(?:#.*)?$")
            for line in block:
                if found := pattern.match(self._lines[line]):
                    return self._at(line, found.span(1), message, help_)
        return self._at(block[0], (0, len(self._lines[block[0]])), message, help_)

    def unknown(self, number: int, key: str) -> TidegateError:
        """Return the error of a key that wishes do not have, in the wish of a number from 0."""
        message, help_ = f"a wish has no key `{key}`", f"it is one of {', '.join(KEYS)}"
        pattern = re.compile(rf"\s*([\"']?{re.escape(key)}[\"']?)\s*[=.]")
        for line in self._of("wish")[number]:
            if found := pattern.match(self._lines[line]):
                return self._at(line, found.span(1), message, help_)
        return self.error(number, None, message, help_)

    def error_at(self, key: str, message: str, help_: str) -> TidegateError:
        """Return the error of a key of the file."""
        pattern = re.compile(rf"\s*\[*\s*({re.escape(key)})\b")
        for line, shown in enumerate(self._lines):
            if found := pattern.match(shown):
                return self._at(line, found.span(1), message, help_)
        return TidegateError(f"{self.name}: {message}\n  help: {help_}")

    def _at(self, line: int, span: tuple[int, int], message: str, help_: str) -> TidegateError:
        start, end = span
        shown = self._lines[line].replace("\t", " ")
        margin = " " * len(str(line + 1))
        return TidegateError(
            f"{self.name}:{line + 1}:{start + 1}: {message}\n"
            f"  {line + 1} | {shown}\n"
            f"  {margin} | {' ' * start}{'^' * max(end - start, 1)}\n"
            f"  help: {help_}"
        )


def _blocks(lines: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return the lines of each section that is no scenario's."""
    blocks: list[tuple[str, list[int]]] = []
    is_inside = False
    for number, line in enumerate(lines):
        if found := _SECTION.match(line):
            blocks.append((found[1], []))
            is_inside = True
        elif _HEADING.match(line):
            is_inside = False
        if is_inside:
            blocks[-1][1].append(number)
    return blocks


def read(text: Text, flows: Sequence[str], groups: Sequence[str]) -> tuple[Wish, ...]:
    """Return the wishes of a file.

    Args:
        text: The file.
        flows: Name of each flow of its scenario.
        groups: Name of the group of each flow.

    Raises:
        TidegateError: A wish has a mistake; the message has its place.
    """
    members: dict[str, list[int]] = {}
    for index, (flow, group) in enumerate(zip(flows, groups, strict=True)):
        members.setdefault(group, []).append(index)
        if flow != group:
            members.setdefault(flow, []).append(index)
    wishes: list[Wish] = []
    for number, table in enumerate(text.tables["wish"]):
        for key in table:
            if key not in KEYS:
                raise text.unknown(number, key)
        named, chosen = _flows(text, number, table, members)
        delay, total, aim = _aim(text, number, table)
        name = table.get("name", f"{', '.join(named)} {aim}")
        if not isinstance(name, str) or not name:
            raise text.error(number, "name", "`name` must be text", 'as in name = "calls"')
        if any(wish.name == name for wish in wishes):
            place = "name" if "name" in table else None
            message = f"there is another wish `{name}`"
            raise text.error(number, place, message, "names are unique: give it a `name`")
        wishes.append(Wish(name, chosen, delay, total))
    return tuple(wishes)


def matches(text: Text, groups: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return which packets of a gate are a flow's: the other keys of each section `[[match]]`, by its `flow`.

    Args:
        text: The file.
        groups: Names of the groups of flows.

    Raises:
        TidegateError: A section has no flow, or one that is unknown or has another section.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, table in enumerate(text.tables["match"]):
        flow = table.pop("flow", None)
        if flow not in groups:
            help_ = f"it is one of {', '.join(dict.fromkeys(groups))}"
            raise text.error(number, "flow", "`flow` must name a flow of the file", help_, "match")
        if flow in found:
            raise text.error(
                number, "flow", f"`{flow}` has another [[match]]", "write one for each flow", "match"
            )
        found[flow] = table
    return found


def _flows(
    text: Text, number: int, table: Mapping[str, Any], members: Mapping[str, list[int]]
) -> tuple[list[str], tuple[int, ...]]:
    right = 'the name of a flow, or a list of names, as in flows = ["voice", "video"]'
    if "flows" not in table:
        raise text.error(number, None, "this wish has no `flows`", right)
    named = [table["flows"]] if isinstance(table["flows"], str) else table["flows"]
    if not isinstance(named, list) or not named or not all(isinstance(one, str) for one in named):
        raise text.error(number, "flows", "`flows` must name flows", right)
    chosen: list[int] = []
    for name in named:
        if name not in members:
            near = difflib.get_close_matches(name, members, n=1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            some = ", ".join(list(members)[:8])
            raise text.error(number, "flows", f"there is no flow `{name}`", f"{hint}there are {some}")
        chosen += members[name]
    if len(set(chosen)) < len(chosen):
        raise text.error(number, "flows", "`flows` names a flow twice", "name each once")
    return named, tuple(sorted(chosen))


def _aim(text: Text, number: int, table: Mapping[str, Any]) -> tuple[Fraction | None, int | None, str]:
    both = 'delay = "20ms" for each packet, or total = "100mbit" for all flows together'
    given = [key for key in ("delay", "total") if key in table]
    if len(given) != 1:
        message = (
            "this wish has both `delay` and `total`" if given else "this wish has no `delay` and no `total`"
        )
        raise text.error(number, given[1] if given else None, message, both)
    key = given[0]
    value = table[key]
    try:
        if not isinstance(value, str):
            raise TidegateError(f"`{key}` must be text with its unit")
        delay = _time(value) if key == "delay" else None
        total = parse_rate(value) if key == "total" else None
    except TidegateError as error:
        message, _, _ = str(error).partition("\n")
        raise text.error(number, key, message, both) from None
    if delay == 0:
        raise text.error(number, key, "a delay must be above zero", both)
    return delay, total, f"{'≤' if delay else '≥'} {value}"


def _time(value: str) -> Fraction:
    """Return a time in s as it is written, exactly."""
    parse_time(value)
    found = _UNIT.fullmatch(value)
    assert found
    return Fraction(Decimal(found[1])) * _SECONDS[found[2]]
