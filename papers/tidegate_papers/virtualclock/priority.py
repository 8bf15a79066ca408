"""Head starts: levels of priority, and a flow with a head start that sends too fast (section 3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import minus
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import Figures, ms, named

HEAD_STARTS = (0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
"""P of the flows `high` in seconds; that of `highest` is twice as long."""

GROUPS = {"normal": "no head start", "high": "P", "highest": "2 P"}

EQUAL = "no head starts"

TIMES = (1, 1.2, 1.5, 2, 3, 5)
"""Sending rates of the flow `fast` as multiples of its own; it has an envelope when it keeps its
rate."""

ENVELOPE = '{ rate = "20kbit", burst = "3000B", queue = "20p" }'


def _head_start(seconds: float) -> str:
    return MAIN if seconds == 2 else EQUAL if seconds == 0 else f"P = {seconds:g} s"


def _level_settings() -> dict[str, Overrides]:
    return {
        _head_start(seconds): [
            ("flow.high.head_start", f"{seconds:g}s"),
            ("flow.highest.head_start", f"{2 * seconds:g}s"),
        ]
        for seconds in HEAD_STARTS
    }


def _levels(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    columns = {name: _by_level(runs[name]) for name in (MAIN, EQUAL)}
    figures = columns[MAIN]
    for slower, faster in (("normal", "P = 2 s"), ("P = 2 s", "P = 4 s")):
        over = minus(figures[f"queueing delay, {slower}"], figures[f"queueing delay, {faster}"])
        figures[f"queueing delay, {slower}, over {faster}"] = over
    return columns


def _by_level(results: Results) -> Figures:
    figures: Figures = {}
    for group, name in (("normal", "normal"), ("high", "P = 2 s"), ("highest", "P = 4 s")):
        figures[f"queueing delay, {name}"] = _delay(results, group)
        figures[f"99 % of queueing delay, {name}"] = ms(measures.queueing_p99(results, group))
    return figures


def _delay(results: Results, group: str) -> Values:
    return ms(measures.queueing(results, lambda row: bool(row["group"] == group)))


def _level_panels(runs: Runs) -> tuple[Panel, ...]:
    curves = tuple(
        Curve(name, HEAD_STARTS, [_delay(runs[_head_start(one)], group) for one in HEAD_STARTS])
        for group, name in GROUPS.items()
    )
    return (Panel("Flows with the head start", "P (s)", "queueing delay (ms)", curves),)


def _times(times: float) -> str:
    return "its rate" if times == 1 else f"{times:g} times its rate"


def _abuse_settings() -> dict[str, Overrides]:
    kept: Overrides = [("flow.fast.envelope", ENVELOPE)]
    return {
        _times(times): [("flow.fast.source.times", f"{times:g}"), *(kept if times == 1 else ())]
        for times in TIMES
    }


def _abused(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for times in TIMES:
        name = _times(times)
        fast, normal = (_delay(runs[name], group) for group in ("fast", "normal"))
        figures[f"queueing delay, {name}"] = fast
        figures[f"queueing delay of the others, {name}"] = normal
        figures[f"over the others, {name}"] = minus(fast, normal)
    worst = runs[_times(TIMES[-1])]
    figures["losses of the others"] = measures.lost(worst, named("normal"))
    return {MAIN: figures}


def _abuse_panels(runs: Runs) -> tuple[Panel, ...]:
    curves = tuple(
        Curve(name, TIMES, [_delay(runs[_times(times)], group) for times in TIMES])
        for group, name in (("fast", "with a head start of 2 s"), ("normal", "the others"))
    )
    return (
        Panel(
            "A flow beside 16 others", "rate over the reserved one", "queueing delay (ms)", curves, log_y=True
        ),
    )


LEVELS = Measure(_levels, _level_settings(), panels=_level_panels)
ABUSED = Measure(_abused, _abuse_settings(), panels=_abuse_panels)
