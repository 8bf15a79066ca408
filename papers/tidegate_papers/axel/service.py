"""Throughput under Axel (2.3.1), the rule for small packets (3), and what section 5 leaves for later."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.axel.burstiness import workahead_added
from tidegate_papers.axel.common import (
    BURSTY,
    DELAYS,
    POLICIES,
    SMOOTH,
    Figures,
    in_ms,
    settings,
    under,
    worst,
)
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import everything, minus, ratio
from tidegate_papers.paper import Measure, Runs

Earlier = Mapping[str, Columns]

AXEL = "Axel"
VIRTUAL_CLOCK = "VirtualClock"

SATURATED = {
    **{name: POLICIES[name] for name in (VIRTUAL_CLOCK, AXEL, "PeakVC", "Pulse", "FIFO+")},
    "Axel, real backlog": '{ kind = "axel", backlog = "real" }',
}


def _throughput(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    whole = sum(RESERVED.values())
    for policy, results in runs.items():
        rates = [
            [row["throughput"] / RESERVED[row["group"]] for row in rows]
            for rows in measures.flows(results, everything)
        ]
        shares = [[rate * whole / SATURATED_LINK for rate in run] for run in rates]
        figures |= {
            f"least rate over R r / Σ r, {policy}": [min(run) for run in shares],
            f"largest rate over R r / Σ r, {policy}": [max(run) for run in shares],
            f"least rate over r, {policy}": [min(run) for run in rates],
        }
    return {MAIN: figures}


SATURATED_LINK = 2e6
"""Rate of the link of the saturated flows, in bit/s."""

UNIT = 50e3
"""Smallest reservation in bit/s; the names of flows say how many times that they reserve."""

RESERVED = {
    name: UNIT * int(name.rpartition("-")[2])
    for name in (
        *(f"{SMOOTH}-{times}" for times in (1, 2, 4, 8)),
        *(f"{BURSTY}-{times}" for times in (1, 2, 5, 9)),
    )
}

FORMS = ("exact", "simplified")
DEPTHS = {"W of 500 packets": "24000B", "W of 2 packets": "96B"}


def _small_packets(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for depth in DEPTHS:
        exact, simplified = (runs[f"{form}, {depth}"] for form in FORMS)
        for group in (BURSTY, SMOOTH):
            for what, figure in DELAYS.items():
                pair = (worst(results, group, figure) for results in (simplified, exact))
                figures[f"{what}, {group}, simplified over exact, {depth}"] = ratio(*pair)
    return {MAIN: figures}


def _small_settings() -> dict[str, Overrides]:
    return {
        f"{form}, {depth}": [
            *under(f'{{ kind = "axel", delta = "{form}" }}'),
            (f"flow.{BURSTY}.workahead", size),
        ]
        for form in FORMS
        for depth, size in DEPTHS.items()
    }


LENGTHS = {"W / 64 r": 64, "W / 16 r": 16, "W / 4 r": 4, "W / r": 1}
"""Lengths of acceleration, as parts of W / r."""

W_OVER_R = 96_000 * 8 / 737_280
"""W / r of a flow in s."""


def _acceleration_settings() -> dict[str, Overrides]:
    lengths = {name: round(1e6 * W_OVER_R / part) for name, part in LENGTHS.items()}
    accelerated = {
        name: f'{{ kind = "axel", acceleration = "{length}us" }}' for name, length in lengths.items()
    }
    return settings({AXEL: POLICIES[AXEL], **accelerated})


def _delays(runs: Runs) -> Figures:
    return {
        f"{what}, {group}, {name}": worst(results, group, figure)
        for name, results in runs.items()
        for group in (BURSTY, SMOOTH)
        for what, figure in DELAYS.items()
    }


def _acceleration(runs: Runs, _: Earlier) -> Columns:
    figures = _delays(runs)
    pairs = zip(runs[AXEL].fingerprints, runs["W / r"].fingerprints, strict=True)
    figures["outcomes that differ from Axel's, W / r"] = [int(one != other) for one, other in pairs]
    for group in (BURSTY, SMOOTH):
        pair = (figures[f"mean, {group}, {length}"] for length in ("W / 16 r", "W / r"))
        figures[f"mean, {group}, W / 16 r over W / r"] = ratio(*pair)
    return {MAIN: figures}


FLOORS = (0.25, 0.5, 0.75, 1.0)


def _at_least(floor: float) -> str:
    return f'{{ kind = "axel-floor", floor = {floor} }}'


def _floor_name(floor: float) -> str:
    return f"floor of {floor:g}"


def _floor(runs: Runs, _: Earlier) -> Columns:
    figures = _delays(runs)
    for name, results in runs.items():
        figures[f"added to W, {SMOOTH}, {name}"] = workahead_added(results, SMOOTH)
    for what, name, other in (
        (f"mean, {SMOOTH}", _floor_name(0.5), AXEL),
        (f"longest, {SMOOTH}", _floor_name(1), AXEL),
        (f"mean, {BURSTY}", _floor_name(0.5), VIRTUAL_CLOCK),
    ):
        over = ratio(figures[f"{what}, {name}"], figures[f"{what}, {other}"])
        figures[f"{what}, {name} over {other}"] = over
    return {MAIN: figures}


BURSTS = {"1 burst": 1, "2 bursts": 2, "3 bursts": 3}

LINK = 1e6
"""Rate of the link of the worst case in bytes/s: also the peak rate of its bursty flows."""

OWN = 125e3
"""Rate that each of its bursty flows reserves, and the smooth one, in bytes/s."""

DEPTH = 100e3
SIZE = 100
"""W of a bursty flow, and the size of all packets, in bytes."""


def bound(bursts: int, smooth: float) -> float:
    """Return the longest time by which a packet leaves after its stamp, in s.

    Args:
        bursts: Number of bursty flows.
        smooth: Rate that smooth flows reserve together, in bytes/s.
    """
    # = pincheira1994 5
    return max(bursts * LINK + smooth - LINK, 0) * DEPTH / ((LINK - OWN) * LINK) + SIZE / LINK


def _worst_case(runs: Runs, _: Earlier) -> Columns:
    figures: Figures = {}
    for name, bursts in BURSTS.items():
        late = bound(bursts, LINK - bursts * OWN)
        # A packet comes when the one before it is stamped. Queueing delays end with its first bit.
        most = in_ms(late + SIZE / OWN - SIZE / LINK)
        delays = _longest(runs[name])
        figures[f"longest, {SMOOTH}, {name}"] = delays
        figures[f"longest, {SMOOTH}, {name}, over the bound"] = ratio(delays, [most] * len(delays))
        figures[f"beyond the bound, {name}"] = minus(delays, [most] * len(delays))
    added = workahead_added(runs["3 bursts"], SMOOTH)
    grows: Values = [OWN * bound(3, LINK - 3 * OWN) + SIZE] * len(added)
    figures[f"added to W, {SMOOTH}, 3 bursts, over the bound"] = ratio(added, grows)
    for name in (VIRTUAL_CLOCK, _floor_name(0.5)):
        figures[f"longest, {SMOOTH}, 3 bursts, {name}"] = _longest(runs[name])
    return {MAIN: figures}


def _longest(results: Results) -> Values:
    return worst(results, SMOOTH, DELAYS["longest"])


def _worst_settings() -> dict[str, Overrides]:
    bursts: dict[str, Overrides] = {
        name: [
            (f"flow.{BURSTY}.count", str(count)),
            ("flow.rest.reserve", f"{7 - count}mbit"),
            ("flow.rest.peak", f"{7 - count}mbit"),
            ("flow.rest.source.rate", f"{7 - count}mbit"),
        ]
        for name, count in BURSTS.items()
    }
    others = {VIRTUAL_CLOCK: POLICIES[VIRTUAL_CLOCK], _floor_name(0.5): _at_least(0.5)}
    return {**bursts, **settings(others)}


PARTS = ("supplement", "replace")


def _measured(runs: Runs, _: Earlier) -> Columns:
    figures = _delays(runs)
    for name, results in runs.items():
        p99 = measures.queueing_p99(results, BURSTY)
        figures[f"99 %, {BURSTY}, {name}"] = [in_ms(value) for value in p99]
        for group in (BURSTY, SMOOTH):
            figures[f"added to W, {group}, {name}"] = workahead_added(results, group)
    for part in PARTS:
        pair = (figures[f"99 %, {BURSTY}, {name}"] for name in (part, AXEL))
        figures[f"99 %, {BURSTY}, {part} over {AXEL}"] = ratio(*pair)
    return {MAIN: figures}


MEASURES = {
    "throughput": Measure(_throughput, settings(SATURATED)),
    "small-packets": Measure(_small_packets, _small_settings()),
    "acceleration": Measure(_acceleration, _acceleration_settings()),
    "worst-case": Measure(_worst_case, _worst_settings(), workahead=(1.0,)),
    "floor": Measure(
        _floor,
        settings(
            {
                **{name: POLICIES[name] for name in (VIRTUAL_CLOCK, AXEL)},
                **{_floor_name(floor): _at_least(floor) for floor in FLOORS},
            }
        ),
        workahead=(1.0,),
    ),
    "measured": Measure(
        _measured,
        settings(
            {
                AXEL: POLICIES[AXEL],
                **{part: f'{{ kind = "axel-measured", upstream = "{part}" }}' for part in PARTS},
            }
        ),
        workahead=(1.0,),
    ),
}
