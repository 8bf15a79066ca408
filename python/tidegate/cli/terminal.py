"""Rich's console and table, for text that others have chosen: names of scenarios, flows and files."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.cli.plain import plain


class PlainConsole(Console):
    """A console to which text cannot do anything."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print; control characters in text are replaced."""
        super().print(*map(_plain, objects), **settings)

    def on_broken_pipe(self) -> None:
        """Hand on that the reader has left, which is no bad input; rich would exit with 1."""
        raise BrokenPipeError


class PlainTable(Table):
    """A table in whose cells text cannot do anything."""

    def add_row(self, *cells: Any, **settings: Any) -> None:
        """Add a row; control characters in text are replaced."""
        super().add_row(*map(_plain, cells), **settings)

    def add_column(self, header: Any = "", *others: Any, **settings: Any) -> None:
        """Add a column; control characters in its heading are replaced."""
        super().add_column(_plain(header), *others, **settings)


def _plain(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value
