"""Goodput, retransmissions and completion times of connections, as `tidegate run` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.summary import GroupSummary


def print_connections(every: Sequence[GroupSummary], console: Any) -> list[str]:
    """Show goodput, retransmissions and completion times of connections' groups, where there are any.

    Returns notes for below the tables.
    """
    from tidegate.cli import screen
    from tidegate.show import with_interval

    groups = [row for row in every if row.goodput.mean is not None]
    if not groups:
        return []
    finite = any(row.transfers.mean for row in groups)
    times = ("transfers", "mean time", "p95 time", "p99 time") if finite else ()
    table = screen.table("connection", "goodput", "sent again", "timeouts", *times)
    rows, notes = screen.cut(groups, "connection")
    for row in rows:
        cells = [
            with_interval(row.goodput, "bit/s", "\n"),
            with_interval(row.retransmissions, "count", "\n"),
            with_interval(row.timeouts, "count", "\n"),
        ]
        if finite:
            cells.append(with_interval(row.transfers, "count", "\n"))
            taken = (row.transfer_mean, row.transfer_p95, row.transfer_p99)
            cells += [with_interval(one, "s", "\n") for one in taken]
        table.add_row(row.group, *cells)
    console.print(table)
    console.print()
    if finite:
        notes.append("time: from the start of a transfer until all of it was acknowledged")
    return [*notes, "goodput: data that reached the application, each byte once"]
