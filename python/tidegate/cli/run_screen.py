"""The results of a scenario on the terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.results import Results
    from tidegate.summary import GroupSummary, LinkSummary

REFUSALS = {"refused": "refused", "change refused": "changes refused"}
"""Answers of the table `signals` that are refusals, and their wording."""

MAX_REFUSALS = 5
"""Most groups whose refusals are shown; `--out` keeps all in the table `signals`."""

MAX_NON_RESPONSIVE = 5
"""Most non-responsive flows that are shown; `--out` keeps all in the table `non_responsive`."""

MAX_FINGERPRINTS = 4
"""Fingerprints that are shown; `--json` and `--out` hold all."""


def show(results: Results, *, all_links: bool = False) -> None:
    """Show the results of a scenario on the terminal."""
    from tidegate.cli import classes, credit_tables, provisioning, screen, transfers, transports, workahead

    console = screen.console()
    speed = results.packet_hops / results.wall_seconds
    console.print(
        f"{results.scenario_name} · {screen.seeds(results.seeds)} · {screen.runs(results)} "
        f"in {screen.seconds(results.wall_seconds)} · {speed:,.0f} packet-hops/s",
        style="bold",
    )
    console.print()
    groups = results.groups()
    links = results.link_rows()
    notes = [
        *_print_groups(results, groups, console),
        *transports.print_connections(groups, console),
        *transfers.print_sizes(results, console),
        *_print_links(links, console, all_links),
        *classes.print_classes(results, console),
        *provisioning.print_usage(results, console),
        *provisioning.notes(links),
        *_non_responsive(results),
        *credit_tables.print_links(results, console),
        *credit_tables.stalls(results),
        *_print_gate(results, console),
        *workahead.print_increases(results, console),
        *results.notes,
    ]
    if results.has_intervals:
        notes.append("± is half the 95 % interval of the mean over replications")
    if results.warmup > 0:
        notes.append(
            "throughput: of groups what was sent after the warm-up, of links all that left them after it"
        )
    for note in notes:
        console.print(f"  {note}", style="dim")
    console.print()
    more = results.replications - MAX_FINGERPRINTS
    shown = " ".join(results.fingerprints[:MAX_FINGERPRINTS])
    console.print(f"fingerprint {shown}{f' and {more} more' if more > 0 else ''}")


def _print_groups(results: Results, groups: Sequence[GroupSummary], console: Any) -> list[str]:
    from tidegate.cli import screen
    from tidegate.show import with_interval

    # Only where there are several flows, or they are monitored or set up: the largest delay makes
    # room.
    several = any(row.jain.mean is not None for row in groups)
    monitored = any(row.warned.mean is not None for row in groups)
    set_up = results.signals.num_rows > 0
    roomy = not (several or monitored or set_up)
    table = screen.table(
        "group",
        "flows",
        *(["Jain"] if several else []),
        *(["refused"] if set_up else []),
        "throughput",
        "lost",
        *(["warned"] if monitored else []),
        "mean delay",
        "p99 delay",
        *(["max delay"] if roomy else []),
        "queueing",
    )
    rows, notes = screen.cut(groups, "group")
    for row in rows:
        table.add_row(
            row.group,
            str(row.flows),
            *([with_interval(row.jain, "count", "\n")] if several else []),
            *([with_interval(row.refused, "share", "\n")] if set_up else []),
            with_interval(row.throughput, "bit/s", "\n"),
            with_interval(row.lost, "share", "\n"),
            *([with_interval(row.warned, "share", "\n")] if monitored else []),
            *(
                with_interval(figure, "s", "\n")
                for figure in (
                    row.delay_mean,
                    row.delay_p99,
                    *([row.delay_max] if roomy else []),
                    row.queueing_mean,
                )
            ),
        )
    console.print(table)
    console.print()
    if several:
        notes.append("Jain: index of the shares of a group's flows, 1 for equal ones")
    if monitored:
        notes.append("warned: share of checks at which a flow was too far ahead")
    return [*notes, *_refusals(results)]


def _refusals(results: Results) -> list[str]:
    """Say how many requests of each group were refused, and why the first was."""
    import pyarrow.compute as pc

    from tidegate.arrow_arrays import text_array

    signals = results.signals.arrow
    refused = signals.filter(pc.is_in(signals["answer"], value_set=text_array([*REFUSALS])))
    kinds = list(zip(refused["group"].to_pylist(), refused["answer"].to_pylist(), strict=True))
    lines = []
    for (group, answer), count in list(Counter(kinds).items())[:MAX_REFUSALS]:
        [first] = refused.slice(kinds.index((group, answer)), 1).to_pylist()
        lines.append(
            f"{group}: {count} {REFUSALS[answer]}, first {first['flow']} at {first['time']:.4g} s "
            f"on link {first['link']}: {first['reason']}"
        )
    more = len(set(kinds)) - MAX_REFUSALS
    return [*lines, *([f"and {more} more groups: table signals of --out"] if more > 0 else [])]


def _print_links(everything: Sequence[LinkSummary], console: Any, all_links: bool) -> list[str]:
    from tidegate.cli import screen
    from tidegate.show import plural, with_interval

    busy = [row for row in everything if all_links or row.packets.mean or row.dropped.mean]
    idle = len(everything) - len(busy)
    table = screen.table(
        "link", "throughput", "utilisation", "mean queue", "max queue", "dropped", "mean wait"
    )
    rows, notes = screen.cut(busy, "link")
    for row in rows:
        table.add_row(
            row.link,
            with_interval(row.throughput, "bit/s", "\n"),
            with_interval(row.utilisation, "share", "\n"),
            *(
                with_interval(figure, "count", "\n")
                for figure in (row.queue_mean, row.queue_max, row.dropped)
            ),
            with_interval(row.wait_mean, "s", "\n"),
        )
    console.print(table)
    console.print()
    return [*notes, f"{plural(idle, 'idle link')} not shown; --all-links shows all"] if idle else notes


def _non_responsive(results: Results) -> list[str]:
    """Name the flows that did not respond to congestion, the number of runs, and the times."""
    from tidegate.show import plural

    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.non_responsive.to_pylist():
        found.setdefault((row["flow"], row["link"]), []).append(row)
    lines = []
    for (flow, link), rows in found.items():
        named, released = (
            [row[what] for row in rows if row[what] is not None] for what in ("named", "released")
        )
        runs = len({row["replication"] for row in rows})
        where = f" in {runs} of {results.replications} runs" if results.replications > 1 else ""
        until = (
            f", {plural(len(released), 'release')}, first at {min(released):.4g} s"
            if released
            else ", not released"
        )
        lines.append(f"{flow}: non-responsive on {link}{where}, first named at {min(named):.4g} s{until}")
    more = len(lines) - MAX_NON_RESPONSIVE
    return [
        *lines[:MAX_NON_RESPONSIVE],
        *([f"and {more} more flows: table non_responsive of --out"] if more > 0 else []),
    ]


def _print_gate(results: Results, console: Any) -> list[str]:
    """Show the results of the gate's own flows, without those that got nothing."""
    from tidegate.cli import screen
    from tidegate.show import with_interval

    busy = [row for row in results.gate_rows() if row.arrived.mean]
    if not busy:
        return []
    table = screen.table("gate's flow", "direction", "flows", "throughput", "packets", "dropped")
    rows, notes = screen.cut(busy, "flow of the gate")
    for row in rows:
        table.add_row(
            row.flow,
            row.direction,
            with_interval(row.flows, "count"),
            with_interval(row.throughput, "bit/s"),
            with_interval(row.arrived, "count"),
            with_interval(row.dropped, "count"),
        )
    console.print(table)
    console.print()
    return [*notes, "the gate's throughput counts charged bytes"]
