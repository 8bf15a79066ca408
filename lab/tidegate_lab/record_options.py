"""Options of commands that compare with a record of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Recorded = Annotated[
    bool, typer.Option("--recorded", help="Take the kernel's part from a record.", show_default=False)
]
Record = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the record to this file, with what the kernel has done now.",
        show_default=False,
    ),
]
