"""Several flows that send too fast, each by a factor of its own (section 3.2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from tidegate import Results
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import NEVER, Figures, ms, named

TIMES = (1.5, 2, 3, 5)
"""Sending rates of offenders as multiples of their reserved rates."""

BELOW = "below capacity"
ALONE = "no offenders"
SETTINGS = {
    MAIN: (),
    BELOW: (("flow.normal.count", "8"),),
    ALONE: tuple((f"flow.offender-{round(100 * times)}.start", NEVER) for times in TIMES),
}

PER_CENT = 100.0


def _group(times: float) -> str:
    return f"offender-{round(100 * times)}"


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns = {name: _suffered(runs[name]) for name in (MAIN, BELOW)}
    normal = named("normal")
    alone = runs[ALONE]
    columns[MAIN] |= {
        "losses of normal flows": measures.lost(runs[MAIN], normal),
        "throughput of a normal flow changed": changed(runs[MAIN], alone),
        "queueing delay added, normal flows": minus(
            *(ms(measures.queueing(results, normal)) for results in (runs[MAIN], alone))
        ),
    }
    return columns


def _suffered(results: Results) -> Figures:
    figures: Figures = {"queueing delay, normal flows": _delay(results, "normal")}
    for times in TIMES:
        figures[f"queueing delay, {times:g} times"] = _delay(results, _group(times))
        figures[f"lost, {times:g} times"] = measures.share_lost(results, named(_group(times)))
    for less, more in pairwise(TIMES):
        for what in ("queueing delay", "lost"):
            over = minus(figures[f"{what}, {more:g} times"], figures[f"{what}, {less:g} times"])
            figures[f"{what}, {more:g} times, over {less:g} times"] = over
    return figures


def _delay(results: Results, group: str) -> Values:
    return ms(measures.queueing(results, named(group)))


def changed(results: Results, without: Results) -> Values:
    """Return the largest change of a normal flow's throughput against the same packets, in per cent."""
    pairs = zip(
        measures.flows(results, named("normal")), measures.flows(without, named("normal")), strict=True
    )
    return [
        max(
            (
                PER_CENT * abs(one["throughput"] / other["throughput"] - 1)
                for one, other in zip(rows, others, strict=True)
                if other["throughput"]
            ),
            default=None,
        )
        for rows, others in pairs
    ]


def _panels(runs: Runs) -> tuple[Panel, ...]:
    factors = (1, *TIMES)
    groups = ("normal", *(_group(times) for times in TIMES))
    settings = {BELOW: BELOW, MAIN: "beyond capacity"}
    return (
        Panel(
            "What waits",
            "rate over the reserved one",
            "queueing delay (ms)",
            tuple(
                Curve(name, factors, [_delay(runs[setting], group) for group in groups])
                for setting, name in settings.items()
            ),
            log_y=True,
        ),
        Panel(
            "What is lost",
            "rate over the reserved one",
            "share of packets (%)",
            tuple(
                Curve(name, factors, [measures.share_lost(runs[setting], named(group)) for group in groups])
                for setting, name in settings.items()
            ),
        ),
    )


OFFENDERS = Measure(_figures, SETTINGS, panels=_panels)
