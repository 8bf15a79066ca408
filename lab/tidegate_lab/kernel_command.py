"""`tidegate lab kernel`: builds the kernel in virtual time."""

from __future__ import annotations

import typer


def command() -> None:
    """Build the Linux kernel in which scenarios run.

    It is user-mode Linux, built from Debian's source package into a cache: some five minutes on two
    cores and 2 GB of disk, once. Needs no root.
    """
    from tidegate_lab.uml import build

    kernel = build.build(lambda step: typer.echo(f"kernel: {step}", err=True))
    typer.echo(f"Linux {kernel.version} in virtual time: {kernel.program}")
