"""Completion times and slowdowns of transfers by size, as `tidegate run` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.results import Results


def print_sizes(results: Results, console: Any) -> list[str]:
    """Show the quantiles of completion times and slowdowns by size, where there are transfers.

    Returns notes for below the table.
    """
    from tidegate.cli import screen
    from tidegate.show import quantity

    every = results.transfer_rows()
    if not every:
        return []
    table = screen.table(
        "transfers",
        "size up to",
        "ended",
        *(f"{which} time" for which in ("p50", "p95", "p99")),
        *(f"{which} slowdown" for which in ("p50", "p95", "p99")),
    )
    rows, notes = screen.cut(every, "range of sizes")
    for row in rows:
        table.add_row(
            row.group,
            quantity(row.largest, "B"),
            f"{row.transfers}/{row.transfers + row.unfinished}" if row.unfinished else str(row.transfers),
            *(quantity(time, "s") for time in (row.completion_p50, row.completion_p95, row.completion_p99)),
            *(
                quantity(slowdown, "count")
                for slowdown in (row.slowdown_p50, row.slowdown_p95, row.slowdown_p99)
            ),
        )
    console.print(table)
    console.print()
    together = ", of all runs together" if results.replications > 1 else ""
    return [*notes, f"slowdown: completion time of a transfer over that on the empty network{together}"]
