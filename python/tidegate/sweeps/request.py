"""A sweep as it is asked for: by arguments, and by the section `[sweep]` of its scenario."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate import sweep_section
from tidegate._tidegate import TidegateError
from tidegate.policies import Record
from tidegate.source import Overrides, ScenarioLike, Source, checked
from tidegate.sweeps.design import Design, is_range
from tidegate.toml import value_to_toml

Value = str | int | float | bool | Record | Mapping[str, object]
"""One value of a parameter: as `--set` takes it, a number, or the record of a policy."""

Values = Mapping[str, Value | Iterable[Value]]
"""The values of each parameter, by its key; a single one is fixed."""

KEYS = ("set", "design", "points", "design_seed", "csv", "replications", "until")
"""Keys of the section."""

FIXED = ("point", "replication", "seed", "fingerprint", "group", "flows", "scenario", "place")
"""Columns of the table that no parameter can be named as."""


@dataclass(frozen=True)
class Request:
    """A sweep, its section taken into account.

    Attributes:
        design: Its parameters.
        fixed: Settings that hold at every point.
        replications: Number of runs of each point, or the most of them; None where nothing is said.
        until: When the runs of a point end; None for after a fixed number.
    """

    design: Design
    fixed: Overrides
    replications: int | None
    until: str | None


def request(
    scenario: ScenarioLike | Source,
    values: Values | None = None,
    *,
    design: str | None = None,
    points: int | None = None,
    design_seed: int | None = None,
    csv: str | os.PathLike[str] | None = None,
    replications: int | None = None,
    until: str | None = None,
    sets: Overrides = (),
) -> Request:
    """Put together what arguments ask for and what the section of the scenario does; arguments prevail.

    Raises:
        TidegateError: The section has a mistake, or there is nothing to vary.
    """
    section, folder = _section(scenario)
    of_section = section.get("set", {})
    swept, fixed = _texts({**of_section, **(values or {})})
    chosen = section.get("csv") if csv is None else csv
    if chosen is not None and csv is None:
        chosen = folder / chosen
    if not swept and chosen is None:
        raise TidegateError(
            "nothing is varied\n"
            "  help: give values as in --set port.policy=fifo,fq-codel, or in a section [sweep.set]"
        )
    for key in swept:
        if key in FIXED:
            raise TidegateError(f"`{key}` cannot be varied: it is a column of the table itself")
    made = Design(
        swept,
        kind=design or section.get("design", "product"),
        points=section.get("points") if points is None else points,
        seed=section.get("design_seed", 1) if design_seed is None else design_seed,
        csv=None if chosen is None else Path(chosen),
    )
    return Request(
        made,
        (*fixed, *checked(sets)),
        section.get("replications") if replications is None else replications,
        section.get("until") if until is None else until,
    )


def _section(scenario: ScenarioLike | Source) -> tuple[dict[str, Any], Path]:
    """Return the section of a scenario, without mistakes, and the folder at which its paths start."""
    match scenario:
        case str() if "\n" in scenario:
            text, folder, shown = scenario, Path.cwd(), "[sweep]"
        case str() | os.PathLike():
            try:
                text = Path(scenario).read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                # The reader of scenarios says why.
                return {}, Path.cwd()
            folder, shown = Path(scenario).parent, f"{scenario}: [sweep]"
        case _:
            return {}, Path.cwd()
    _, section = sweep_section.split(text)
    if section is None:
        return {}, folder
    kinds = {"set": dict, "design": str, "csv": str, "until": str}
    for key, value in section.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            help_ = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(KEYS)}"
            raise TidegateError(f"{shown} has no key `{key}`\n  help: {help_}")
        kind = kinds.get(key, int)
        if not isinstance(value, kind) or isinstance(value, bool):
            what = {dict: "a table", str: "text", int: "a whole number"}[kind]
            raise TidegateError(f"{shown}: `{key}` is {what}, not {value!r}")
    return section, folder


def _texts(values: Values) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return the values that are varied, and the settings that are fixed, as texts."""
    swept: dict[str, list[str]] = {}
    fixed: list[tuple[str, str]] = []
    for key, given in values.items():
        match given:
            case str() if is_range(given):
                swept[key] = [given]
            case str() | int() | float() | Record() | Mapping():
                fixed.append((key, _text(key, given)))
            case Iterable():
                swept[key] = [_text(key, one) for one in given]
            case _:
                raise TidegateError(f"`{key}`: a value is text, a number or a record, not {given!r}")
    return swept, fixed


def _text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    return value_to_toml(value.to_dict() if isinstance(value, Record) else value, key)
