"""Profiles in `tidegate run`: how much was used, and whether links carry the traffic inside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.cli import screen
from tidegate.show import plural, quantity, with_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.results import Results
    from tidegate.summary import LinkSummary

NEAR = 0.9
"""Share of a link's capacity at or above which its in-traffic is reported."""

MAX_NEAR = 5
"""Most links that are reported."""


MAX_OUTSIDE = 10
"""Flows without any traffic inside a profile of their own that are shown one by one."""


def print_usage(results: Results, console: Any) -> list[str]:
    """Show the usage of profiles, meter by meter, without those of which no traffic came."""
    records = [row for row in results.usage_rows() if row.inside.mean or row.yellow.mean or row.outside.mean]
    if not records:
        return []
    outside = [row for row in records if row.flow and not row.inside.mean]
    left_out = outside if len(outside) > MAX_OUTSIDE else []
    records = [row for row in records if row not in left_out]
    named = {
        "inside": "inside",
        "yellow": "yellow",
        "outside": "outside",
        "congested_inside": "congested inside",
        "congested_outside": "congested outside",
    }
    always = ("inside", "outside")
    shown = [name for name in named if name in always or any(getattr(row, name).mean for row in records)]
    table = screen.table("usage of", "at", *(named[name] for name in shown))
    table.columns[1].justify = "left"
    rows, notes = screen.cut(records, "profile")
    for row in rows:
        table.add_row(
            row.profile or row.flow,
            f"{row.link} ({row.class_name})" if row.class_name else row.link,
            *(with_interval(getattr(row, name), "B", "\n") for name in shown),
        )
    if records:
        console.print(table)
        console.print()
    if left_out:
        notes = [
            *notes,
            f"{plural(len(left_out), 'flow')} with nothing inside a profile not shown: --json has all",
        ]
    return notes


def notes(links: Sequence[LinkSummary]) -> list[str]:
    """Name the links whose in-traffic came near their capacity, or above it."""
    shares = {
        row.link: (row.in_traffic_max.mean or row.in_traffic.mean or 0.0, row.in_traffic.mean)
        for row in links
    }
    near = sorted(
        (link for link, (most, _) in shares.items() if most >= NEAR), key=lambda link: -shares[link][0]
    )
    lines = []
    for link in near[:MAX_NEAR]:
        most, mean = shares[link]
        what = "more than" if most > 1 else "nearly what"
        lines.append(
            f"in-traffic of {link}: {quantity(mean, 'share')} of its capacity, {quantity(most, 'share')} "
            f"in the busiest second: {what} it carries is inside profiles"
        )
    more = len(near) - MAX_NEAR
    return [
        *lines,
        *([f"and {plural(more, 'more link')} above {NEAR:.0%}: --json has all"] if more > 0 else []),
    ]
