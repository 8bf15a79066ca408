"""`tidegate lab`: experiments on Linux, in network namespaces and in a kernel in virtual time."""

from __future__ import annotations

import json
from typing import Any

import typer
from typer.core import TyperGroup

from tidegate import TidegateError, commands
from tidegate_lab import (
    aqm_command,
    experiment_command,
    hosts_command,
    kernel_command,
    losses_command,
    policies_command,
    run_command,
    segments_command,
    tcp_command,
)
from tidegate_lab.names import NAMES


class Laboratory(TyperGroup):
    """The commands of the laboratory, and a command for each experiment."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command.

        Raises:
            TidegateError: There is none of that name.
        """
        command = super().get_command(ctx, cmd_name)
        if command is None:
            raise TidegateError(
                f"there is no experiment `{cmd_name}`\n  help: it is one of {', '.join(NAMES)}; "
                "a scenario is run by `tidegate lab run FILE`"
            )
        return command


app = typer.Typer(
    cls=Laboratory,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Run scenarios in a Linux kernel, and experiments with the gate.",
)
app.command("run")(run_command.command)
app.command("kernel")(kernel_command.command)
app.command("tcp")(tcp_command.command)
app.command("losses")(losses_command.command)
app.command("segments")(segments_command.command)
app.command("policies")(policies_command.command)
app.command("aqm")(aqm_command.command)
app.command("hosts")(hosts_command.command)
for _name, _about in NAMES.items():
    app.command(_name, short_help=_about)(experiment_command.command)


@app.callback(invoke_without_command=True)
def start(ctx: typer.Context, as_json: commands.Json = False) -> None:
    """Run scenarios in a Linux kernel, and experiments with the gate.

    The kernel runs in virtual time; the gate runs there or in network namespaces.
    """
    if ctx.invoked_subcommand is None:
        _list(as_json)


def _list(as_json: bool) -> None:
    if as_json:
        rows = [{"experiment": name, "about": about} for name, about in NAMES.items()]
        typer.echo(json.dumps({"experiments": rows}, ensure_ascii=False))
        return
    table = commands.table("experiment", "")
    table.columns[-1].justify = "left"
    for name, about in NAMES.items():
        table.add_row(name, about)
    console = commands.console()
    console.print(table)
    console.print()
    console.print("  `tidegate lab run FILE` runs a scenario in a Linux kernel in virtual time", style="dim")
