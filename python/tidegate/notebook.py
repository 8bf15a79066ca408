"""Results as tables in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tidegate.show import NOTHING, signed, with_interval
from tidegate.warned import brief

if TYPE_CHECKING:
    from tidegate.comparison import Comparison
    from tidegate.results import Results

GROUP = {
    "throughput": "bit/s",
    "lost": "share",
    "delay_mean": "s",
    "delay_p99": "s",
    "delay_max": "s",
    "queueing_mean": "s",
}
"""What is shown of a group, with its unit."""

LINK = {
    "throughput": "bit/s",
    "utilisation": "share",
    "queue_mean": "count",
    "queue_max": "count",
    "dropped": "count",
    "wait_mean": "s",
}
"""What is shown of a link, with its unit."""


def results(shown: Results) -> str:
    """Return what a run measured of its groups and links, as HTML."""
    groups = [
        [
            row.group,
            str(row.flows),
            *(with_interval(getattr(row, name), unit) for name, unit in GROUP.items()),
        ]
        for row in shown.groups()
    ]
    links = [
        [row.link, *(with_interval(getattr(row, name), unit) for name, unit in LINK.items())]
        for row in shown.link_rows()
        if row.packets.mean or row.dropped.mean
    ]
    runs = "1 run" if shown.replications == 1 else f"{shown.replications} runs"
    return "".join(
        [
            _paragraph(f"{shown.scenario_name}: {runs} of {shown.duration:g} s from seed {shown.seeds[0]}"),
            _table(["group", "flows", *GROUP], groups),
            _table(["link", *LINK], links),
            *(_paragraph(note) for note in [*shown.notes, *map(brief, shown.warnings)]),
        ]
    )


def comparison(shown: Comparison) -> str:
    """Return a comparison as HTML: every metric of every group under each policy, and the differences."""
    first, *others = shown.policies
    lines = []
    for row in shown.rows:
        unit = row.unit or "share"
        differences = [
            signed(row.differences[name], unit) + (" *" if row.differences[name].excludes_zero else "")
            for name in others
        ]
        values = [with_interval(row.values[name], unit) for name in shown.policies]
        lines.append([row.group, row.metric, *values, *differences])
    headings = ["group", "metric", *shown.policies, *(f"{name} \N{MINUS SIGN} {first}" for name in others)]
    return "".join([_table(headings, lines), *map(_paragraph, [*shown.notes, *map(brief, shown.warnings)])])


def rows(shown: Sequence[Any]) -> str:
    """Return summaries as HTML, in SI base units."""
    names = [field.name for field in fields(shown[0])] if shown else []
    return _table(names, [[_plain(getattr(row, name)) for name in names] for row in shown])


def _plain(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    mean, half_width = value
    if mean is None:
        return NOTHING
    return f"{mean:.6g}" if half_width is None else f"{mean:.6g} ± {half_width:.2g}"


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column names the rows."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in headings)
    body = "".join(f"<tr>{''.join(map(_cell, range(len(line)), line))}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(column: int, text: str) -> str:
    align = "right" if column else "left"
    return f'<td style="text-align: {align}; white-space: nowrap">{html.escape(text)}</td>'


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"
