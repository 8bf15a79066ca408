"""Tables of `tidegate run` for links with credit-based flow control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.results import Results

MAX_STALLS = 5
"""Most stalls that are shown; `--out` keeps all in the table `stalls`."""


def print_links(results: Results, console: Any) -> list[str]:
    """Show how much the receivers of links with credit held and how much credit cost, without idle links."""
    from tidegate.cli import screen
    from tidegate.show import plural, quantity

    links: dict[str, list[dict[str, Any]]] = {}
    for row in results.credit.to_pylist():
        links.setdefault(row["link"], []).append(row)
    if not links:
        return []
    busy = {link: rows for link, rows in links.items() if any(row["queue_max"] for row in rows)}
    table = screen.table("link with credit", "VCs", "memory", "max queue", "overhead", "dropped")
    for link, rows in list(busy.items())[: screen.MAX_ROWS]:
        costs = [row["overhead"] for row in rows if row["overhead"] is not None]
        table.add_row(
            link,
            str(rows[0]["vcs"]),
            plural(rows[0]["memory"], "packet"),
            str(max(row["queue_max"] for row in rows)),
            quantity(sum(costs) / len(costs), "share") if costs else "",
            str(sum(row["dropped_packets"] for row in rows)),
        )
    console.print(table)
    console.print()
    notes = [
        "max queue: most packets at the receiver at once; overhead: bytes of credit cells per byte of data"
    ]
    if len(busy) > screen.MAX_ROWS:
        notes.append(
            f"and {plural(len(busy) - screen.MAX_ROWS, 'more link')} with credit: table credit of --out"
        )
    return notes


def stalls(results: Results) -> list[str]:
    """Say which VCs have stalled, and since when."""
    rows = results.stalls.to_pylist()
    lines = []
    for row in rows[:MAX_STALLS]:
        whose = f" (flow {row['flow']})" if row["flow"] else ""
        until = "" if row["until"] is None else f", until {row['until']:.4g} s"
        run = f" in run {row['replication']}" if results.replications > 1 else ""
        lines.append(f"{row['what']} on {row['link']}{whose}{run}: since {row['since']:.4g} s{until}")
    if rows:
        lines.append("a VC stalls when data or credit cells are lost: state `check` in the link's `credit`")
    if len(rows) > MAX_STALLS:
        lines.append(f"and {len(rows) - MAX_STALLS} more: table stalls of --out")
    return lines
