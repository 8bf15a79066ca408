"""`tidegate schema`: the file formats for editors."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def command(
    gate: Annotated[bool, typer.Option("--gate", help="Print that of gate files instead.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Accepted for uniformity: the output is always JSON.")
    ] = False,
) -> None:
    """Print the JSON Schema of scenario files."""
    from tidegate._tidegate import gate_schema

    del as_json
    typer.echo(gate_schema() if gate else json.dumps(scenario_schema(), indent=2, ensure_ascii=False))


def scenario_schema() -> dict[str, Any]:
    """Return the schema of scenario files, with the section that `tidegate sweep` reads."""
    from tidegate import sweep_section
    from tidegate._tidegate import schema

    found: dict[str, Any] = json.loads(schema())
    found["properties"]["sweep"] = sweep_section.SCHEMA
    return found
