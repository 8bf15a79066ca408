"""The progress of a sweep: a bar with the time left on a terminal, and lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from tidegate.cli.plain import plain

SILENCE = 10.0
"""Seconds between two lines."""

Show = Callable[[int, int, float | None], None]
"""Takes the number that is done, that of all, and the seconds that are left, if they are known."""


@contextmanager
def shown(title: str, noun: str) -> Iterator[Show]:
    """Show on stderr how far something is while the block runs.

    Args:
        title: Name of the scenario.
        noun: Counted things, in the plural.
    """
    if not sys.stderr.isatty():
        yield _lines(title, noun)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(plain(title), total=None, state="")
        yield lambda done, total, left: bar.update(
            task, completed=done, total=total, state=_state(noun, done, total, left)
        )


def _lines(title: str, noun: str) -> Show:
    spoke = time.monotonic()

    def show(done: int, total: int, left: float | None) -> None:
        nonlocal spoke
        if time.monotonic() - spoke >= SILENCE:
            spoke = time.monotonic()
            typer.echo(plain(f"{title}: {_state(noun, done, total, left)}"), err=True)

    return show


def _state(noun: str, done: int, total: int, left: float | None) -> str:
    state = f"{done:,} of {total:,} {noun}"
    return state if left is None else f"{state}, {duration(left)} left"


def duration(seconds: float) -> str:
    """Return a time as people say it: `40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
