"""Commands of other distributions: how `tidegate NAME` finds them, and what they are made of.

A distribution names its command in the entry points of the group `tidegate.commands`, in
`pyproject.toml`:

    [project.entry-points."tidegate.commands"]
    mine = "my_package.command"

The module holds `command`, a function as Typer takes one, or `app`, a Typer application of several.
It is imported when the command is used and when `tidegate --help` lists it, so it imports what is
large where it uses it. A `TidegateError` ends the command with its message and exit code 1.
"""

from tidegate.cli.options import File, Force, Jobs, Json, Seed, Set, overrides, scenario, tell
from tidegate.cli.plain import plain
from tidegate.cli.progress import bar
from tidegate.cli.screen import console, seconds, seeds, table

__all__ = [
    "File",
    "Force",
    "Jobs",
    "Json",
    "Seed",
    "Set",
    "bar",
    "console",
    "overrides",
    "plain",
    "scenario",
    "seconds",
    "seeds",
    "table",
    "tell",
]
