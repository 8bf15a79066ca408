"""The `tidegate` command.

Each subcommand is a module of this package, or of another distribution, and is imported when it is
used.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

COMMANDS = (
    "demo",
    "run",
    "compare",
    "sweep",
    "score",
    "check",
    "bound",
    "attack",
    "plan",
    "replay",
    "contract",
    "credit",
    "explain",
    "fairness",
    "plot",
    "draw",
    "report",
    "diff",
    "gate",
    "schema",
    "reference",
)
"""In the order of `--help`, before those that other distributions add.

The module of the same name holds `command`, or an `app` of commands.
"""

BAD_INPUT = 1
INTERRUPTED = 130
BROKEN_PIPE = 141


class LazyGroup(TyperGroup):
    """A group of commands that imports a command when it is used, and turns errors into one message."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, without an import of any."""
        del ctx
        from tidegate.cli import extensions

        return list(dict.fromkeys((*COMMANDS, *extensions.installed())))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command; None if there is none of that name."""
        if cmd_name in COMMANDS:
            return _made(cmd_name, import_module(f"tidegate.cli.{cmd_name}"))
        from tidegate.cli import extensions

        command = extensions.find(cmd_name, _made)
        if command is None:
            # Names only: one of them is suggested.
            names: Any = dict.fromkeys(self.list_commands(ctx))
            self.commands = names
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an error becomes one message and an exit code."""
        from tidegate._tidegate import TidegateError

        try:
            value = super().invoke(ctx)
            sys.stdout.flush()
            return value
        except TidegateError as error:
            _end(str(error), BAD_INPUT)
        except KeyboardInterrupt:
            _end("interrupted", INTERRUPTED)
        except BrokenPipeError:
            # Buffered output has nowhere to go; the interpreter must not complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except UnicodeError as error:
            _end(f"this cannot be read or written as text: {error}", BAD_INPUT)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _end(f"{where}{error.strerror or error}", BAD_INPUT)
        except MemoryError:
            _end("not enough memory", BAD_INPUT)


def _made(name: str, module: Any) -> Any:
    """Return the command of a module."""
    if hasattr(module, "app"):
        group = typer.main.get_group(module.app)
        group.name = name
        for one in group.commands.values():
            _name_arguments(one)
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, **getattr(module, "SETTINGS", {}))(module.command)
    command = typer.main.get_command(single)
    _name_arguments(command)
    return command


def _name_arguments(command: Any) -> None:
    """Leave the types of arguments out of the help of a command: `FILE`, not `FILE <path>`."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = _no_type


def _no_type(**_: Any) -> None:
    return None


def _end(message: str, code: int) -> None:
    from tidegate.cli.plain import plain

    typer.echo(plain(f"tidegate: {message}"), err=True)
    raise typer.Exit(code) from None


def _version(wanted: bool) -> None:
    if wanted:
        from tidegate._tidegate import __version__

        typer.echo(f"tidegate {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Help as that of `tidegate gate`, which the gate prints itself.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def tidegate(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Traffic management for packet networks: simulate it, check it, run it on a real link."""


def main() -> None:
    """Run the command line."""
    # A stream that was closed when the process began is not there.
    sys.stdout, sys.stderr = (one or _nowhere() for one in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        # Names may hold what the stream cannot: a byte that is no UTF-8, or a letter that is no
        # Latin-1.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="tidegate")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
