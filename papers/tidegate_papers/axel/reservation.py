"""Reservations for a delay, and Axel over W and r (section 5 leaves both for later)."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.axel.common import (
    BURSTY,
    BURSTY_GROUPS,
    DELAYS,
    POLICIES,
    RATE,
    SERVERS,
    SMOOTH,
    WORST,
    Figures,
    in_ms,
    queueing_max,
    settings,
    under,
    worst,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs

Earlier = Mapping[str, Columns]

DEPTH = 96_000
"""W of a flow in bytes."""

BURSTY_FLOWS = 4
SMOOTH_FLOWS = 11
"""Flows at each server."""

AXEL = "Axel"

TIMES = (1, 1.5, 2, 3, 5, 10)
"""Reservations of a bursty flow as multiples of its mean rate; ten times is its peak rate."""

PER_CENT = 100.0


def _times(times: float) -> str:
    return f"VirtualClock, {times:g} r"


def reserving(times: float) -> Overrides:
    """Return what stamps bursty flows as VirtualClock does when they reserve so many times their mean rate.

    That is PeakVC with this peak rate, to which the reservations that a link has room for do not
    matter.
    """
    if times == 1:
        return under(POLICIES["VirtualClock"])
    return [*under(POLICIES["PeakVC"]), *_of_bursty("peak", f"{round(times * RATE)}bit")]


def _of_bursty(key: str, value: str) -> Overrides:
    return [(f"flow.{group}.{key}", value) for group in BURSTY_GROUPS]


def _p99(results: Results) -> Values:
    return [in_ms(value) for value in measures.queueing_p99(results, BURSTY)]


def _longest(results: Results) -> Values:
    return worst(results, BURSTY, queueing_max)


def _reserved(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"99 %, {name}"] = _p99(results)
        figures[f"longest, {name}"] = _longest(results)
    for times in TIMES:
        figures[f"booked, {_times(times)}"] = _booked(runs[_times(times)], times)
    return {MAIN: figures | {f"booked, {AXEL}": _booked(runs[AXEL], 1)}}


def _booked(results: Results, times: float) -> Values:
    """Return how much of a server is booked when bursty flows reserve so many times r, in per cent."""
    return [
        PER_CENT * (times * BURSTY_FLOWS + SMOOTH_FLOWS) * RATE / float(rate or 0.0)
        for rate in measures.link(results, SERVERS[0], "rate")
    ]


def _reserved_panels(runs: Runs) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            title,
            "reserved, times r",
            "queueing delay (ms)",
            (
                Curve("VirtualClock", TIMES, [delay(runs[_times(times)]) for times in TIMES]),
                Curve("Axel, reserving r", TIMES, [delay(runs[AXEL])] * len(TIMES), points=False),
            ),
            log_x=True,
            log_y=True,
            least=1.0,
        )
        for title, delay in (("99 % of the packets", _p99), ("The slowest packet", _longest))
    )


def _admitted(runs: Runs, _: Earlier) -> Columns:
    return {MAIN: {f"bursty flows admitted, {name}": _let_in(results) for name, results in runs.items()}}


def _let_in(results: Results) -> Values:
    """Return how many bursty flows were set up."""
    return [sum(1 - row["refused"] for row in rows) for rows in measures.flows(results, _is_bursty)]


def _is_bursty(row: Row) -> bool:
    return bool(row["group"] == BURSTY)


def _admitted_panels(runs: Runs) -> tuple[Panel, ...]:
    flows = [_let_in(runs[_times(times)]) for times in TIMES]
    curve = Curve("VirtualClock", TIMES, flows)
    level = Level(BURSTY_FLOWS, "bursty flows at each of the report's servers", right=True)
    panel = Panel(
        "Beside eleven smooth flows",
        "reserved, times r",
        "bursty flows admitted",
        (curve,),
        log_x=True,
        levels=(level,),
    )
    return (panel,)


SHARES = (1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
"""W that bursty flows state, as shares of what they keep to."""

RATES = (0.8, 0.9, 1, 1.1, 1.2, 1.3)
"""Rates that bursty flows reserve, as shares of r; the link has room for 1.3."""


def _share_of_w(share: float) -> str:
    return f"W times {share:g}"


def _share_of_r(share: float) -> str:
    return f"r times {share:g}"


def _stated() -> dict[str, Overrides]:
    sweep = [("duration", "30s"), *under(POLICIES[AXEL])]
    stated: dict[str, Overrides] = {
        _share_of_w(share): [*sweep, *_of_bursty("workahead", f"{round(share * DEPTH)}B")] for share in SHARES
    }
    for share in RATES:
        stated[_share_of_r(share)] = [*sweep, *_of_bursty("reserve", f"{round(share * RATE)}bit")]
    return stated


def _over_contracts(runs: Runs, _: Earlier) -> Columns:
    return {
        MAIN: {
            f"{what}, {group}, {name}": worst(results, group, figure)
            for name, results in runs.items()
            for group in (BURSTY, SMOOTH)
            for what, figure in DELAYS.items()
        }
    }


def _contract_panels(runs: Runs) -> tuple[Panel, ...]:
    sweeps = (
        ("stated W, times what is kept to", SHARES, _share_of_w),
        ("r, times the mean rate", RATES, _share_of_r),
    )
    return tuple(
        Panel(
            f"Axel, {WORST}",
            axis,
            "queueing delay (ms)",
            tuple(
                Curve(f"{group}, {what}", shares, [worst(runs[name(one)], group, figure) for one in shares])
                for group in (BURSTY, SMOOTH)
                for what, figure in DELAYS.items()
            ),
            log_x=shares is SHARES,
            log_y=True,
            least=0.1,
        )
        for axis, shares, name in sweeps
    )


MEASURES = {
    "admitted": Measure(
        _admitted,
        {_times(times): [(f"flow.{BURSTY}.reserve", f"{round(times * RATE)}bit")] for times in TIMES},
        panels=_admitted_panels,
    ),
    "reservation": Measure(
        _reserved,
        {_times(times): reserving(times) for times in TIMES} | settings({AXEL: POLICIES[AXEL]}),
        panels=_reserved_panels,
    ),
    "contracts": Measure(_over_contracts, _stated(), panels=_contract_panels),
}
