"""Classes in `tidegate run`: the throughput of each at each link, and the part that it has borrowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.results import Results


def print_classes(results: Results, console: Any) -> list[str]:
    """Show the classes of links, without those in which nothing was sent or dropped.

    Returns notes for below the table.
    """
    from tidegate.cli import screen
    from tidegate.show import with_interval

    busy = [row for row in results.class_rows() if row.packets.mean or row.dropped.mean]
    if not busy:
        return []
    columns = {"throughput": "bit/s", "utilisation": "share", "borrowed": "bit/s", "dropped": "count"}
    if any(row.marked.mean for row in busy):
        columns["marked"] = "count"
    table = screen.table("class", "at", *columns)
    table.columns[1].justify = "left"
    rows, notes = screen.cut(busy, "class")
    for row in rows:
        cells = (with_interval(getattr(row, name), unit, "\n") for name, unit in columns.items())
        table.add_row(row.class_name, row.link, *cells)
    console.print(table)
    console.print()
    return [*notes, "borrowed: throughput of a class beyond its reservation"]
