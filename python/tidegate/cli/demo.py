"""`tidegate demo`: real traffic across a congested path, under FIFO and under VirtualClock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.comparison import Difference
    from tidegate.results import Results

NOTES = """
± is half the 95 % interval over replications; `protected` and `pays` say only what the intervals of
the paired differences leave no doubt about. A replay is open loop: real downloads would slow down.
The liar is protected too: VirtualClock serves whoever has reserved anything before who has not. To
hold it to its word, give it a ceiling: it then loses what it sends beyond that, downloads and web
lose less, and who keeps a reservation still loses nothing. This shows it:
"""


def command(
    replications: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of runs under each scheduler.")
    ] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the figure is written.")] = Path("demo-out"),
) -> None:
    """Replay an office's traffic under FIFO and under VirtualClock.

    The capture crosses three congested hops, beside cross traffic. It is installed with tidegate: calls, video, web
    pages, downloads, ssh and name lookups of real programs.
    """
    from tidegate import demo, plots
    from tidegate.cli.progress import bar

    began = time.perf_counter()
    with bar(" · ".join(demo.SCHEDULERS)) as progress:
        results = demo.run(replications, progress)
    took = time.perf_counter() - began
    hops = sum(one.packet_hops for one in results.values())
    each = f"{replications} replication{'s' * (replications > 1)}"
    typer.echo(f"A real office behind three congested hops of 10 Mbit/s: {each}")
    typer.echo(f"under each of two schedulers, {hops / 1e6:.1f} million packet-hops in {took:.1f} s.\n")
    _print_table(results)
    typer.echo(NOTES)
    names = ",".join(demo.SCHEDULERS)
    typer.echo(plain(f"  tidegate compare {_shown(demo.SCENARIO)} \\"))
    typer.echo(f"      --scheduler {names} --set flow.liar.ceiling=500kbit\n")
    title = "A real office behind three congested hops: who waits, and who loses packets"
    figure = plots.comparison(results, list(demo.DRAWN), title=title)
    typer.echo(plain(f"The figure is in {plots.save(figure, out / 'office.png')}."))


def _shown(path: Path) -> Path:
    """Return the path as seen from here, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _print_table(results: dict[str, Results]) -> None:
    """One row for each kind: both schedulers, and what the change means."""
    from tidegate.comparison import Difference
    from tidegate.demo import KINDS
    from tidegate.show import with_interval
    from tidegate.summary import estimate, group_estimates, group_figures

    fifo, clock = (group_figures(one.tables["groups"], one.replications) for one in results.values())
    typer.echo(f"{'':8}  {'99 % of the packets within':^33}  {'lost':^31}  VirtualClock")
    typer.echo(f"{'':8}  {'FIFO':>15}  {'VirtualClock':>16}  {'FIFO':>15} {'VirtualClock':>15}")
    under = {kind: (before, clock[kind, flows]) for (kind, flows), before in fifo.items()}
    for name, what in KINDS.items():
        before, after = under[name]
        cells, changes = [], []
        for metric, unit in (("delay_p99", "s"), ("lost", "share")):
            cells += [with_interval(group_estimates(one)[metric], unit) for one in (before, after)]
            pairs = zip(before[metric], after[metric], strict=True)
            changes.append(Difference(*estimate([new - old for old, new in pairs])))
        row = f"{name:8}  {cells[0]:>15}  {cells[1]:>16}  {cells[2]:>15} {cells[3]:>15}"
        typer.echo(f"{row}  {_verdict(*changes):13}  {what}")


def _verdict(p99: Difference, lost: Difference) -> str:
    """Say what VirtualClock did to a kind: what its intervals leave no doubt about."""
    worse = [change.mean > 0 for change in (p99, lost) if change.excludes_zero and change.mean is not None]
    if not worse:
        return "no difference"
    return "protected" if not any(worse) else "pays" if all(worse) else "mixed"
