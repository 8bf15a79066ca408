"""Tables and paragraphs of HTML, as notebooks show results."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from tidegate.show import NOTHING, with_interval


def figures(shown: Iterable[Any], texts: Sequence[str], units: Mapping[str, str]) -> str:
    """Return summaries as HTML: some fields as they are, and means with their intervals in these units."""
    lines = [
        [
            *(str(getattr(row, name)) for name in texts),
            *(with_interval(getattr(row, name), unit) for name, unit in units.items()),
        ]
        for row in shown
    ]
    return table([*texts, *units], lines)


def rows(shown: Sequence[Any]) -> str:
    """Return summaries as HTML, in SI base units."""
    names = [field.name for field in fields(shown[0])] if shown else []
    return table(names, [[_plain(getattr(row, name)) for name in names] for row in shown])


def _plain(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    mean, half_width = value
    if mean is None:
        return NOTHING
    return f"{mean:.6g}" if half_width is None else f"{mean:.6g} ± {half_width:.2g}"


def table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML; its first column names the rows."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in headings)
    body = "".join(f"<tr>{''.join(map(_cell, range(len(line)), line))}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(column: int, text: str) -> str:
    align = "right" if column else "left"
    return f'<td style="text-align: {align}; white-space: nowrap">{html.escape(text)}</td>'


def paragraph(text: str) -> str:
    """Return a paragraph of plain text as HTML."""
    return f"<p>{html.escape(text)}</p>"
