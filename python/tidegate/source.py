"""Where a scenario comes from: a file, text, or Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate import _tidegate, policies, sweep_section
from tidegate._tidegate import TidegateError
from tidegate.toml import to_toml

__all__ = ["LoadedScenario", "Overrides", "ScenarioLike", "load"]

LoadedScenario = _tidegate.Scenario
"""A scenario that was read without a mistake: what `load` returns."""

Overrides = Sequence[tuple[str, str]]
"""Settings of `--set`: a path such as `flow.voice.source.rate` and its value, in order."""

ScenarioLike = str | os.PathLike[str] | policies.Scenario | _tidegate.Scenario
"""A path, TOML text (text of more than one line), a scenario built in Python, or a loaded one."""

LONGEST_SHOWN = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True)
class Source:
    """A loaded scenario, with all that is needed to read it again under other settings.

    Attributes:
        scenario: The scenario, overrides applied.
        base_dir: Folder at which relative paths in it start.
        overrides: Values set over its text.
        file: Name of its file in messages; None if it was not read from one.
    """

    scenario: _tidegate.Scenario
    base_dir: Path
    overrides: tuple[tuple[str, str], ...] = ()
    file: str | None = None

    def overridden(self, sets: Overrides) -> Source:
        """Return the same scenario under further overrides.

        Raises:
            TidegateError: An override names something unknown or has an unusable value.
        """
        pairs = checked(sets)
        file = self.file or f"{self.scenario.name}.toml"
        scenario = _tidegate.Scenario.parse(self.scenario.toml, file, self.base_dir, pairs)
        return Source(scenario, self.base_dir, (*self.overrides, *pairs), self.file)


def checked(sets: Overrides) -> list[tuple[str, str]]:
    """Return overrides as pairs of text.

    Raises:
        TidegateError: They are something else.
    """
    right = 'a list of pairs of text, as in [("port.scheduler", "fifo"), ("duration", "10s")]'
    if isinstance(sets, str | bytes | Mapping) or not isinstance(sets, Iterable):
        raise TidegateError(f"`sets` is {right}, and not {_short(sets)}")
    pairs = []
    for one in sets:
        match one:
            case (str() as path, str() as value):
                pairs.append((path, value))
            case _:
                raise TidegateError(f"`sets` is {right}: {_short(one)} is no such pair")
    return pairs


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def load(path: str | os.PathLike[str], sets: Overrides = ()) -> _tidegate.Scenario:
    """Read the scenario file at `path` and check all of it.

    `sets` are overrides such as `("port.scheduler", "fifo")`, applied in order.

    Raises:
        TidegateError: The file cannot be read or has a mistake; the message gives the place and
            what is right.
    """
    without = _without_sweep(Path(path))
    if without is None:
        return _tidegate.Scenario.load(Path(path), checked(sets))
    return _tidegate.Scenario.parse(without, str(path), Path(path).parent, checked(sets))


def has_sweep(path: Path) -> bool:
    """Return whether a scenario file has a section `[sweep]`.

    Raises:
        TidegateError: It has one that cannot be told from the rest.
    """
    return _without_sweep(path) is not None


def _without_sweep(path: Path) -> str | None:
    """Return the text of a file without its section `[sweep]`; None if it has none, or cannot be read."""
    try:
        without, section = sweep_section.split(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError):
        return None
    except TidegateError as error:
        raise TidegateError(f"{path}: {error}") from None
    return None if section is None else without


def resolve(scenario: ScenarioLike | Source, sets: Overrides = ()) -> Source:
    """Return `scenario`, in whatever form it is given, as a loaded one.

    Relative paths start at the folder of the file that it was read from, otherwise at the working
    directory.

    Raises:
        TidegateError: It cannot be read or has a mistake.
        TypeError: It is none of the forms of `ScenarioLike`.
    """
    match scenario:
        case Source():
            return scenario.overridden(sets) if checked(sets) else scenario
        case _tidegate.Scenario():
            loaded = Source(scenario, scenario.base_dir.absolute())
            return loaded.overridden(sets) if checked(sets) else loaded
        case policies.Scenario():
            return of_text(to_toml(scenario.to_dict()), sets)
        case str() if "\n" in scenario:
            return of_text(scenario, sets)
        case str() | os.PathLike():
            path = Path(scenario)
            pairs = checked(sets)
            return Source(load(path, pairs), path.absolute().parent, tuple(pairs), str(path))
        case _:
            raise TypeError(
                f"a scenario is a path, TOML text or a tidegate.Scenario, not {type(scenario).__name__}"
            )


def of_text(text: str, sets: Overrides = (), name: str = "scenario") -> Source:
    """Return a scenario that is given as its text; relative paths in it start at the working directory.

    Raises:
        TidegateError: It has a mistake.
    """
    here, pairs = Path.cwd(), checked(sets)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TidegateError(f"the text of a scenario cannot hold {text[error.start]!a}") from None
    without, _ = sweep_section.split(text)
    return Source(_tidegate.Scenario.parse(without, name, here, pairs), here, tuple(pairs))
