"""Where a scenario comes from: a file, text, or Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate import _tidegate, policies
from tidegate._tidegate import TidegateError
from tidegate.toml import to_toml

Overrides = Sequence[tuple[str, str]]
"""What `--set` gives: a path such as `flow.voice.source.rate` and its value, in order."""

ScenarioLike = str | os.PathLike[str] | policies.Scenario | _tidegate.Scenario
"""A path, TOML text (text of more than one line), a scenario built in Python, or a loaded one."""


@dataclass(frozen=True)
class Source:
    """A loaded scenario, with all that is needed to read it again under other settings.

    Attributes:
        scenario: The scenario, overrides applied.
        base_dir: Folder at which relative paths in it start.
        overrides: Values set over its text.
    """

    scenario: _tidegate.Scenario
    base_dir: Path
    overrides: tuple[tuple[str, str], ...] = ()

    def overridden(self, sets: Overrides) -> Source:
        """Return the same scenario under further overrides.

        Raises:
            TidegateError: An override names something unknown or has an unusable value.
        """
        scenario = _tidegate.Scenario.parse(
            self.scenario.toml, f"{self.scenario.name}.toml", self.base_dir, [*sets]
        )
        return Source(scenario, self.base_dir, (*self.overrides, *sets))


def load(path: str | os.PathLike[str], sets: Overrides = ()) -> _tidegate.Scenario:
    """Read the scenario file at `path` and check all of it.

    `sets` are overrides such as `("port.scheduler", "fifo")`, applied in order.

    Raises:
        TidegateError: The file cannot be read or has a mistake; the message gives the place and what is
            right.
    """
    return _tidegate.Scenario.load(Path(path), list(sets))


def resolve(scenario: ScenarioLike, sets: Overrides = ()) -> Source:
    """Return `scenario`, in whatever form it is given, as a loaded one.

    Relative paths start at the folder of the file that it was read from, otherwise at the working
    directory.

    Raises:
        TidegateError: It cannot be read or has a mistake.
        TypeError: It is none of the forms of `ScenarioLike`.
    """
    match scenario:
        case _tidegate.Scenario():
            loaded = Source(scenario, scenario.base_dir.absolute())
            return loaded.overridden(sets) if sets else loaded
        case policies.Scenario():
            return _parsed(to_toml(scenario.to_dict()), sets)
        case str() if "\n" in scenario:
            return _parsed(scenario, sets)
        case str() | os.PathLike():
            path = Path(scenario)
            return Source(load(path, sets), path.absolute().parent, tuple(sets))
        case _:
            raise TypeError(
                f"a scenario is a path, TOML text or a tidegate.Scenario, not {type(scenario).__name__}"
            )


def _parsed(text: str, sets: Overrides) -> Source:
    here = Path.cwd()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TidegateError(f"the text of a scenario cannot hold {text[error.start]!a}") from None
    return Source(_tidegate.Scenario.parse(text, "scenario", here, list(sets)), here, tuple(sets))
