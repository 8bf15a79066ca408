"""The scenario's own words on its subject: the comment at the start of its text."""

from __future__ import annotations

from itertools import groupby

from tidegate.reports.blocks import Text

COMMAND = ("    ", "tidegate ")
"""Starts of a line that is a command."""


def about(text: str) -> list[Text]:
    """Return the comment at the start of a scenario as paragraphs, without commands."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].removeprefix(" ").rstrip())
    parts = groupby(lines, key=lambda line: bool(line) and not line.startswith(COMMAND))
    return [Text(" ".join(part)) for is_text, part in parts if is_text]
