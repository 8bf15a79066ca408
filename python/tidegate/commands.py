"""Commands of other distributions: how `tidegate NAME` finds them, and what they are made of.

A distribution names its command in the entry points of the group `tidegate.commands`, in
`pyproject.toml`:

    [project.entry-points."tidegate.commands"]
    mine = "my_package.command"

The module holds `command`, a function as Typer takes one, or `app`, a Typer application of several.
It is imported when the command is used and when `tidegate --help` lists it, so it imports what is
large where it uses it. A `TidegateError` ends the command with its message and exit code 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.cli.options import File, Force, Jobs, Json, Report, Seed, Set, overrides, scenario, tell
from tidegate.cli.plain import plain
from tidegate.cli.progress import bar
from tidegate.cli.screen import console, seconds, seeds, table
from tidegate.source import ScenarioLike, Source

if TYPE_CHECKING:
    from tidegate.results import Results

__all__ = [
    "File",
    "Force",
    "Jobs",
    "Json",
    "Report",
    "Seed",
    "Set",
    "Source",
    "bar",
    "check_writable",
    "console",
    "gate",
    "overrides",
    "plain",
    "resolved",
    "scenario",
    "seconds",
    "seeds",
    "show_results",
    "table",
    "tell",
    "write_results",
]


def gate(*arguments: str) -> int:
    """Carry out a command of `tidegate gate` in this process, and return its exit code."""
    from tidegate import _tidegate

    return _tidegate.gate(["tidegate gate", *arguments])


def resolved(scenario: ScenarioLike, sets: list[str] | None = None) -> Source:
    """Return a scenario under the overrides of `--set`.

    Raises:
        TidegateError: It cannot be read, or has a mistake.
    """
    from tidegate.source import resolve

    return resolve(scenario, overrides(sets))


def check_writable(out: Path, source: Source, *, force: bool) -> None:
    """Make sure, before a long run, that `--out` can be written.

    Raises:
        TidegateError: Something else is there, or results of another scenario without `--force`.
    """
    from tidegate import outdir

    outdir.check_writable(out, source, force=force)


def write_results(
    results: Results, out: Path, command: str, *, backend: Mapping[str, Any], force: bool
) -> None:
    """Write results to the directory of `--out`; note the command that made them, and what ran them."""
    from tidegate import outdir

    outdir.write(results, out, command, backend=backend, force=force)


def show_results(results: Results, *, as_json: bool, all_links: bool) -> None:
    """Show results as `tidegate run` does."""
    if as_json:
        from tidegate.cli.document import document

        for part in document(results):
            print(part, end="")
        print()
        return
    from tidegate.cli.run_screen import show

    show(results, all_links=all_links)
