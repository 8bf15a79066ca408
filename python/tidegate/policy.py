"""Policies that are written in Python, and have a name in scenarios.

Times are whole ticks of 10 ps (`TICKS`), so that nothing is rounded but what a policy rounds itself.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, ClassVar, Self

from tidegate._tidegate import Contract, TidegateError
from tidegate._tidegate import Scenario as LoadedScenario

__all__ = ["NEVER", "TICKS", "Policy", "QueuePolicy", "load_policies"]

TICKS = 100_000_000_000
"""Ticks in a second."""

NEVER = 2**63 - 1
"""A time later than any, and a rank behind any."""

Value = int | float | str

Declaration = tuple[str, str, dict[str, Any], list[str], Callable[[str, dict[str, Any]], Any]]
"""A name, a line about it, its parameters' defaults, the keys that it reads, and its maker."""

_classes: dict[str, type[Policy]] = {}
_files: dict[str, PolicyFile] = {}
"""The file in which each class was defined, by its name; none for a program's own."""

_carried_out: set[PolicyFile] = set()
_under_way: list[PolicyFile] = []


@dataclass(frozen=True)
class PolicyFile:
    """A Python file that defines policies.

    Attributes:
        path: Its path, for messages.
        text: Its text.
    """

    path: str
    text: str


class Policy:
    """A policy that is written in Python: what those of every role have in common.

    A class that states a `name` is registered when it is defined.

    Attributes:
        name: Its name in scenarios: lower-case letters, digits and `-`.
        parameters: Its parameters and their defaults, whole numbers, numbers or text. An object has
            an attribute for each, with the value that a scenario states.
        reads: Keys of a flow's contract that it uses, such as `reserve`.
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Value]] = {}
    reads: ClassVar[Sequence[str]] = ()
    _role: ClassVar[str] = ""
    _fixed: ClassVar[tuple[str, ...]] = ("_role", "parameters", "reads")
    """Attributes that stay when a class is defined again."""

    @classmethod
    def _register(cls, declaration: Declaration) -> None:
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__ and cls.name:
            _register(cls)

    def __new__(cls, **parameters: Value) -> Self:  # noqa: D102
        self = super().__new__(cls)
        for key, value in {**cls.parameters, **parameters}.items():
            setattr(self, key, value)
        return self

    def __init__(self, **parameters: Value) -> None:
        """Prepare the object; its parameters are attributes already."""


class QueuePolicy(Policy):
    """A policy of a port's queues: what schedulers and droppers have in common."""

    def rate_set(self, now: int, rate: float | None) -> None:
        """Learn the rate of the port's link in bit/s, before the first flow and when it changes."""

    def opened(self, now: int, flow: int, contract: Contract) -> None:
        """Learn of a flow, or of a change of its contract. Flows are numbered from 0 at each port."""


def _register(cls: type[Policy]) -> None:
    """Give a class its name in scenarios; one that has it already is replaced, as in a notebook.

    Raises:
        TidegateError: The name is taken, a parameter is named as a method is, or parameters are of
            another kind than before.
    """
    for key in cls.parameters:
        if callable(getattr(cls, key, None)):
            raise TidegateError(f"`{cls.name}` has a parameter `{key}`, which is a method of its class")
    before = _classes.get(cls.name)
    if before is not None and _declared(before) != _declared(cls):
        raise TidegateError(
            f"`{cls.name}` was defined before in another role, or with other `parameters`, `reads`, "
            "`marks` or `colours`: give it another name, or start Python again"
        )
    _classes[cls.name] = cls
    _files.pop(cls.name, None)
    if _under_way:
        _files[cls.name] = _under_way[-1]
    if before is None:
        help_text = (cls.__doc__ or cls.__name__).strip().splitlines()[0]
        try:
            cls._register((cls.name, help_text, dict(cls.parameters), list(cls.reads), _make))
        except TidegateError:
            del _classes[cls.name]
            raise


def _declared(cls: type[Policy]) -> tuple[object, ...]:
    return tuple(getattr(cls, name) for name in cls._fixed)


def _make(name: str, parameters: Mapping[str, Value]) -> Policy:
    return _classes[name](**parameters)


def load_policies(file: str | os.PathLike[str]) -> None:
    """Carry out a Python file that defines policies; a second time does nothing.

    Raises:
        TidegateError: The file cannot be read, or raises an exception.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TidegateError(f"{file}: {error}") from error
    define(PolicyFile(str(Path(file).resolve()), text))


def define(file: PolicyFile) -> None:
    """Define the policies of a file, unless it is done.

    Raises:
        TidegateError: The file raises an exception.
    """
    if file in _carried_out:
        return
    module = ModuleType(f"tidegate_policies_{len(_carried_out)}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    _under_way.append(file)
    try:
        exec(compile(file.text, file.path, "exec"), module.__dict__)
    except Exception as error:
        # An exception may come from a library that the file calls; a mistake in its text has no frame.
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file.path]
        line = error.lineno if isinstance(error, SyntaxError) and not lines else lines[-1]
        kind = "" if isinstance(error, TidegateError) else f"{type(error).__name__}: "
        raise TidegateError(f"{file.path}:{line}: {kind}{error}") from error
    finally:
        _under_way.pop()
    _carried_out.add(file)


def files_of(scenario: LoadedScenario) -> tuple[PolicyFile, ...]:
    """Return the files that define the policies in Python that a scenario names, used or not.

    Raises:
        TidegateError: One of them is not defined in a file, and so no other process has it.
    """
    toml = scenario.toml
    named = [name for name in _classes if re.search(rf"(?<![\w-]){name}(?![\w-])", toml)]
    # Most scenarios name none of them, and need not be looked at more closely.
    if not named:
        return ()
    used = {name for name in _policies(json.loads(scenario.network_json())) if name in _classes}
    for name in sorted(used):
        if name not in _files:
            raise TidegateError(
                f"`{name}` is defined in the program itself, and the processes of a sweep "
                "do not have it: put it in a file of its own, and load that with `tidegate.load_policies`"
            )
    return tuple(dict.fromkeys(_files[name] for name in named if name in _files))


def _policies(described: Any) -> Iterator[str]:
    """Return the names of the policies in a description of a network."""
    match described:
        case {"name": str() as name, "values": values}:
            yield name
            yield from _policies(values)
        case dict():
            for value in described.values():
                yield from _policies(value)
        case list():
            for value in described:
                yield from _policies(value)
