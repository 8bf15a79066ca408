"""Options that several commands have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tidegate._tidegate import TidegateError
from tidegate.cli.plain import plain
from tidegate.source import ScenarioLike, of_text

STDIN = "-"
"""File name that stands for standard input."""

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Scenario file; - for standard input.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one value, for example --set flow.voice.source.rate=128kbit. May be repeated.",
        show_default=False,
    ),
]
Python = Annotated[
    list[Path] | None,
    typer.Option(
        "--python",
        metavar="FILE.py",
        help="Python file that defines policies, which then have their names. May be repeated.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Seed of the first replication; by default the scenario's own.", show_default=False
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Runs in parallel; by default one per processor.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace results of another scenario in DIR.")]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="Write a report of the results to this page.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, in SI base units.")]


def define(files: list[Path] | None) -> None:
    """Define the policies of the files of `--python`.

    Raises:
        TidegateError: One cannot be read, or raises an exception.
    """
    if files:
        from tidegate.policy import load_policies

        for file in files:
            load_policies(file)


def overrides(sets: list[str] | None) -> list[tuple[str, str]]:
    """Return what `--set` was given, as (path, value).

    Raises:
        TidegateError: One of them has no `=`, or nothing before it.
    """
    pairs = []
    for given in sets or []:
        path, equals, value = given.partition("=")
        if not equals or not path.strip():
            raise TidegateError(f"--set {given}: write it as key=value, as in port.scheduler=fifo")
        pairs.append((path.strip(), value))
    return pairs


def listed(option: str, given: str) -> list[str]:
    """Return the names in a list such as `a,b`.

    Raises:
        TidegateError: There is none.
    """
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise TidegateError(f"{option} names nothing; write it as {option} a,b")
    return names


def scenario(file: Path) -> ScenarioLike:
    """Return the scenario in a file, or on standard input.

    Raises:
        TidegateError: The scenario on standard input has a mistake.
    """
    return of_text(sys.stdin.read(), name="stdin").scenario if str(file) == STDIN else file


def no_stdin(file: Path) -> None:
    """Make sure that a file is named, which is read more than once.

    Raises:
        TidegateError: Standard input is.
    """
    if str(file) == STDIN:
        raise TidegateError("-: standard input cannot be read here; name a file")


def tell(warnings: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Show warnings and notes about a scenario on stderr, beside whatever is on stdout."""
    for kind, texts in (("warning", warnings), ("note", notes)):
        for text in texts:
            typer.echo(plain(f"{kind}: {text}"), err=True)
