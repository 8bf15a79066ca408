"""Rich's console and table, for text that others have chosen: names of scenarios, flows and files."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from tidegate.cli.plain import plain


class PlainConsole(Console):
    """A console to which text cannot do anything."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print; control characters in text are replaced."""
        super().print(*map(_plain, objects), **settings)

    def on_broken_pipe(self) -> None:
        """Pass on that the reader has closed the pipe, which is not bad input; rich would exit with 1."""
        raise BrokenPipeError


class PlainTable(Table):
    """A table in whose cells text cannot do anything; where it is too wide, each row is a list."""

    def __init__(self, *headers: Any, **settings: Any) -> None:
        super().__init__(*headers, **settings)
        self._lines: list[tuple[Any, ...]] = []

    def add_row(self, *cells: Any, **settings: Any) -> None:
        """Add a row; control characters in text are replaced."""
        line = tuple(map(_plain, cells))
        self._lines.append(line)
        super().add_row(*line, **settings)

    def add_column(self, header: Any = "", *others: Any, **settings: Any) -> None:
        """Add a column; control characters in its heading are replaced."""
        super().add_column(_plain(header), *others, **settings)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or in a terminal that is too narrow, a list of each row: nothing is cut off."""
        if self.__rich_measure__(console, options).minimum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        headings = [str(column.header).replace("\n", " ") for column in self.columns]
        for name, *cells in self._lines:
            # A line without a name goes on with what the line above is about.
            yield Text(f"{headings[0].strip()} {str(name).strip()}" if name else "", style="bold")
            for heading, cell in zip(headings[1:], cells, strict=False):
                if cell:
                    yield Text(f"  {heading}: ".replace("  : ", "  ") + str(cell).replace("\n", " "))


def _plain(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value
