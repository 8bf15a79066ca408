"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.replications import Progress


@contextmanager
def bar(title: str) -> Iterator[Progress | None]:
    """Show a bar with the time left on stderr while the block runs, if stderr is a terminal.

    Yields a function to call with the share that is done, 0 to 1; None without a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(plain(title), total=1.0)
        yield lambda share: shown.update(task, completed=share)
