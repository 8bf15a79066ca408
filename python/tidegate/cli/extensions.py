"""Commands that other distributions add to `tidegate`, by entry points; `tidegate.commands` says how."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import typer

from tidegate._tidegate import TidegateError, __version__

GROUP = "tidegate.commands"
"""The group of their entry points."""

DISTRIBUTIONS = {"paper": "tidegate-papers", "lab": "tidegate-lab"}
"""Commands of the distributions that are released together with this one."""


@cache
def installed() -> dict[str, EntryPoint]:
    """Return the entry points of all commands that are installed, by name and in the order of the names."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def find(name: str, make: Callable[[str, Any], Any]) -> Any:
    """Return a command, which `make` makes of its name and its module; None if there is none of that name.

    A command whose distribution is not installed, or whose module fails, is one that only says so.
    """
    point = installed().get(name)
    if point is None:
        return _unusable(name, _not_installed(DISTRIBUTIONS[name])) if name in DISTRIBUTIONS else None
    try:
        return make(name, point.load())
    except Exception as error:
        return _unusable(name, _not_loaded(point, error))


def _not_installed(distribution: str) -> str:
    folder = distribution.removeprefix("tidegate-")
    return (
        f"this command is in {distribution}, which is not installed\n"
        f"  help: pip install {distribution}=={__version__}, or ./{folder} in a clone"
    )


def _not_loaded(point: EntryPoint, error: Exception) -> str:
    origin = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    return (
        f"this command is in {origin}, which cannot be loaded: {type(error).__name__}: {error}\n"
        f"  help: install the version of it that is for tidegate {__version__}"
    )


def _unusable(name: str, why: str) -> Any:
    """Return a command that takes any arguments and ends with an error."""

    def command(_: typer.Context) -> NoReturn:
        raise TidegateError(f"{name}: {why}")

    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings: Any = {"ignore_unknown_options": True, "allow_extra_args": True}
    short = why.partition("\n")[0]
    single.command(name, help=short, add_help_option=False, context_settings=settings)(command)
    return typer.main.get_command(single)
