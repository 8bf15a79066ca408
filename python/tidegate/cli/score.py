"""`tidegate score`: points of a policy in a suite."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli.options import Jobs, Json, Python
from tidegate.cli.plain import plain

if TYPE_CHECKING:
    from tidegate.score import Score

UNITS = {
    "goodput": "bit/s",
    "queueing_p99": "s",
    "probe_queueing_p99": "s",
    "probe_lost": "share",
    "smallest_share": "share",
    "short_speed": "share",
    "long_speed": "share",
    "ended": "share",
    "throughput": "bit/s",
    "delay_max": "s",
    "bound": "s",
    "lost": "share",
}
"""Units of figures; the others have none."""


def command(
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY", help='Policy in one line, as in "virtual-clock + red".', show_default=False
        ),
    ],
    suite: Annotated[
        str,
        typer.Option(metavar="SUITE", help="One of aqm, fair, fct and guarantee.", show_default=False),
    ],
    python: Python = None,
    secret: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Draw the seeds from this text, which the author of the policy does not know.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Score a policy in a suite of trials, from 0 to 100."""
    from tidegate.cli.progress import bar
    from tidegate.score import score

    with bar(f"{policy}, {suite}") as progress:
        done = score(policy, suite, python=python or (), secret=secret, jobs=jobs, progress=progress)
    if as_json:
        # Public seeds are known, and secret ones are to stay secret.
        document = {"points": done.points, **asdict(done)}
        if secret is not None:
            del document["seeds"]
        typer.echo(json.dumps(document, sort_keys=True))
        return
    show(done)


def show(done: Score) -> None:
    """Show a score on the terminal."""
    from tidegate.cli import screen
    from tidegate.score import SUITES
    from tidegate.score.measures import EACH
    from tidegate.show import plural, quantity

    suite = SUITES[done.suite]
    console = screen.console()
    runs = plural(len(done.seeds), "seed")
    console.print(f"{done.policy} · {suite.name}: {suite.about} · {runs}", style="bold")
    console.print()
    names = [name for name in done.outcomes[0].figures if not name.startswith(EACH)]
    table = screen.table("trial", *(name.replace("_", " ") for name in names), "points")
    for outcome in done.outcomes:
        figures = (quantity(outcome.figures[name], UNITS.get(name, "count")) for name in names)
        table.add_row(outcome.trial, *figures, f"{100 * outcome.points:.1f}")
    console.print(table)
    console.print()
    for trial in suite.trials:
        console.print(plain(f"  {trial.name}: {trial.about}"), style="dim")
    console.print()
    console.print(f"score {100 * done.points:.1f} of 100")
