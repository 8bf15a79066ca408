"""`tidegate demo`: real traffic across a congested path, under FIFO and under VirtualClock."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.options import Json
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.comparison import Difference
    from tidegate.results import Results
    from tidegate.summary import Estimate

NOTES = """
± is half the 95 % interval over replications; `protected` and `pays` say only what the intervals of
the paired differences leave no doubt about. A replay is open loop: real downloads would slow down.
The liar is protected too: VirtualClock serves flows with a reservation before flows without one. To
hold it to its word, give it a ceiling: it then loses what it sends beyond that, downloads and web
lose less, and flows that keep their reservations still lose nothing. This shows it:
"""


def command(
    replications: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of runs under each scheduler.")
    ] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for the figure.")] = Path("demo-out"),
    as_json: Json = False,
) -> None:
    """Replay office traffic under FIFO and under VirtualClock.

    The capture crosses three congested hops with cross traffic. It is installed with tidegate and
    holds calls, video, web pages, downloads, ssh and name lookups of real programs.
    """
    from tidegate import demo, plots
    from tidegate.cli.progress import bar

    began = time.perf_counter()
    with bar(" · ".join(demo.SCHEDULERS)) as progress:
        results = demo.run(replications, progress)
    took = time.perf_counter() - began
    title = "A real office behind three congested hops: delays and losses by kind of traffic"
    figure = plots.save(plots.comparison(results, list(demo.DRAWN), title=title), out / "office.png")
    rows = _rows(results)
    if as_json:
        typer.echo(json.dumps({"figure": str(figure), "kinds": [row.document() for row in rows]}))
        return
    hops = sum(one.packet_hops for one in results.values())
    each = f"{replications} replication{'s' * (replications > 1)}"
    typer.echo(f"A real office behind three congested hops of 10 Mbit/s: {each}")
    typer.echo(f"under each of two schedulers, {hops / 1e6:.1f} million packet-hops in {took:.1f} s.\n")
    _print_table(rows)
    typer.echo(NOTES)
    names = ",".join(demo.SCHEDULERS)
    typer.echo(plain(f"  tidegate compare {_shown(demo.SCENARIO)} \\"))
    typer.echo(f"      --scheduler {names} --set flow.liar.ceiling=500kbit\n")
    typer.echo(plain(f"The figure is in {figure}."))


def _shown(path: Path) -> Path:
    """Return the path as seen from here, if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@dataclass(frozen=True)
class Row:
    """A kind of flow under both schedulers, FIFO first."""

    kind: str
    p99: list[Estimate]
    lost: list[Estimate]
    verdict: str

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints: seconds and shares, null where nothing was measured."""
        figures = {
            name: [{"mean": one.mean, "ci95": one.half_width} for one in under]
            for name, under in (("delay_p99", self.p99), ("lost", self.lost))
        }
        return {"kind": self.kind, **figures, "verdict": self.verdict}


def _rows(results: dict[str, Results]) -> list[Row]:
    from tidegate.comparison import Difference
    from tidegate.demo import KINDS
    from tidegate.summary import estimate, group_estimates, group_figures

    fifo, clock = (group_figures(one.tables["groups"], one.replications) for one in results.values())
    under = {kind: (before, clock[kind, flows]) for (kind, flows), before in fifo.items()}
    rows = []
    for kind in KINDS:
        changes = []
        for metric in ("delay_p99", "lost"):
            pairs = zip(*(figures[metric] for figures in under[kind]), strict=True)
            both = [new - old for old, new in pairs if old is not None and new is not None]
            changes.append(Difference(*estimate(both)))
        p99, lost = (
            [group_estimates(figures)[metric] for figures in under[kind]] for metric in ("delay_p99", "lost")
        )
        rows.append(Row(kind, p99, lost, _verdict(*changes)))
    return rows


def _print_table(rows: list[Row]) -> None:
    """One row for each kind: both schedulers, and what the change means."""
    from tidegate.demo import KINDS
    from tidegate.show import with_interval

    typer.echo(f"{'':8}  {'99 % of the packets within':^33}  {'lost':^31}  VirtualClock")
    typer.echo(f"{'':8}  {'FIFO':>15}  {'VirtualClock':>16}  {'FIFO':>15} {'VirtualClock':>15}")
    for row in rows:
        p99 = [with_interval(one, "s") for one in row.p99]
        lost = [with_interval(one, "share") for one in row.lost]
        figures = f"{p99[0]:>15}  {p99[1]:>16}  {lost[0]:>15} {lost[1]:>15}"
        typer.echo(f"{row.kind:8}  {figures}  {row.verdict:13}  {KINDS[row.kind]}")


def _verdict(p99: Difference, lost: Difference) -> str:
    """Say what VirtualClock did to a kind: what its intervals leave no doubt about."""
    worse = [change.mean > 0 for change in (p99, lost) if change.excludes_zero and change.mean is not None]
    if not worse:
        return "no difference"
    return "protected" if not any(worse) else "pays" if all(worse) else "mixed"
