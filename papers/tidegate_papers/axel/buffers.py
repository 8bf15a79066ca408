"""Tables 11 and 12 for 100 s with a finite buffer at each server: push-out against drop-tail."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate_papers import measures
from tidegate_papers.axel.common import BURSTY, DELAYS, PUBLISHED, WORST, Figures, under, worst
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs

DROP_TAIL = "drop-tail"

BUFFER = "1500p"
"""Buffer of a server: more than the report saw in one while all flows behaved."""

OFFENDER = "misbehaving"

LONG: Overrides = [("duration", "100s")]
WAYS: Mapping[str, Overrides] = {
    MAIN: [*LONG, ("switch.buffer", BUFFER), ("switch.push_out", "longest-queue")],
    DROP_TAIL: [*LONG, ("port.dropper", f'{{ kind = "drop-tail", limit = "{BUFFER}" }}')],
}
"""Push-out rules: the packet that is dropped when a server is full."""


def _name(way: str, policy: str) -> str:
    return f"{policy}, {way}" if way else policy


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    return {
        way: {
            name: values
            for policy in PUBLISHED
            for name, values in _suffered(runs[_name(way, policy)], policy).items()
        }
        for way in WAYS
    }


def _suffered(results: Results, policy: str) -> Figures:
    figures: Figures = {
        f"{what}, {policy}, {WORST}": worst(results, BURSTY, figure) for what, figure in DELAYS.items()
    }
    return figures | {
        f"lost, {policy}, bursty flows": measures.share_lost(results, _is(BURSTY)),
        f"lost, {policy}, all that behave": measures.lost(results, _behaves),
        f"lost, {policy}, the one that does not": measures.share_lost(results, _is(OFFENDER)),
    }


def _is(group: str) -> measures.Choose:
    return lambda row: bool(row["group"] == group)


def _behaves(row: Row) -> bool:
    return bool(row["group"] != OFFENDER)


MEASURE = Measure(
    _figures,
    {
        _name(way, policy): [*under(scheduler), *sets]
        for way, sets in WAYS.items()
        for policy, scheduler in PUBLISHED.items()
    },
)
