"""Remarks beside the tables: footnotes 8 and 9, rates times 1000 (4.1.1), over-reservation (section 6)."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Panel
from tidegate_papers.measures import Row, everything, minus, ratio
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import PACKET_TIME, PATHS, Figures, ms, named
from tidegate_papers.virtualclock.section4 import LINK_12

SCALED = "all rates times 1000"
SCALE = 1000
SWITCHED = ("s1-s2", "s2-s3", "s3-s4")
ACCESS = ("h1-s1", "h2-s2", "h3-s3", "h4-s4")
ENVELOPE = '{ rate = "20mbit", burst = "3000B", peak = "40mbit", queue = "20p" }'

RESERVED = (1.0, 1.05, 1.1, 1.2, 1.3)
"""Reservations of the flows of three hops, as multiples of the rate at which they send: the last one
takes what is left of the links."""
LONGEST = "h1-h4"
"""The flows that reserve more."""

LINK_RATES = {0.78: 400_000, 0.85: 367_000, 0.90: 347_000, 0.95: 328_000}
"""Rate of the links between switches in bit/s, by the utilisation that the pattern test then has."""


def _scaled_settings() -> dict[str, Overrides]:
    sets = [("duration", "330ms"), ("warmup", "30ms"), ("sample", "1ms")]
    sets += [(f"link.{link}.rate", "400mbit") for link in SWITCHED]
    sets += [(f"link.{link}.rate", "10gbit") for link in ACCESS]
    for path in PATHS:
        sets += [
            (f"flow.{path}.reserve", "20mbit"),
            (f"flow.{path}.interval", "1.2ms"),
            (f"flow.{path}.source.rate", "20mbit"),
            (f"flow.{path}.envelope", ENVELOPE),
        ]
    envelope = ENVELOPE.replace("mbit", "kbit")
    return {MAIN: [(f"flow.{path}.envelope", envelope) for path in PATHS], SCALED: sets}


def _scaled(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    slow, fast = runs[MAIN], runs[SCALED]
    figures: Figures = {}
    for switch, link in LINK_12.items():
        queues = (measures.link(one, link, "queue_seen_mean") for one in (fast, slow))
        figures[f"queue over that of Test One, {switch}"] = ratio(*queues)
    delays = [measures.queueing(one, everything) for one in (fast, slow)]
    times = [None if value is None else value * SCALE for value in delays[0]]
    figures["queueing delay times 1000 over that of Test One"] = ratio(times, delays[1])
    return {MAIN: figures}


def _reference_queue(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    results = runs[MAIN]
    used = measures.link(results, "s1->s2", "utilisation")
    waits = measures.link(results, "s1->s2", "wait_mean")
    # Pollaczek and Khinchine, for one size of packets.
    expected: Values = [None if load is None else load / (1 - load) * PACKET_TIME / 2 for load in used]
    return {
        MAIN: {
            "utilisation": used,
            "queue": measures.link(results, "s1->s2", "queue_mean"),
            "queueing delay": ms(waits),
            "queueing delay over that of Pollaczek and Khinchine": ratio(waits, expected),
        }
    }


def _high_load(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for load in LINK_RATES:
        results = runs[_load(load)]
        train, poisson, even = (
            measures.queueing(results, named(prefix)) for prefix in ("train-", "random-", "even-")
        )
        figures[f"packet train over constant rate, {_load(load)}"] = ratio(train, even)
        figures[f"packet train over Poisson, {_load(load)}"] = ratio(train, poisson)
    over = [figures[f"packet train over constant rate, {_load(load)}"] for load in LINK_RATES]
    figures["its fall from 78 % to 95 %"] = minus(over[0], over[-1])
    return {MAIN: figures}


def _load(load: float) -> str:
    return f"{100 * load:.0f} %"


def _over_reserved_settings() -> dict[str, Overrides]:
    # AIR and the envelopes stay.
    return {
        _factor(factor): [
            (f"flow.{LONGEST}.reserve", f"{round(20_000 * factor)}bit"),
            (f"flow.{LONGEST}.interval", f"{1_200_000 / factor:.0f}us"),
        ]
        for factor in RESERVED
    }


def _factor(factor: float) -> str:
    return f"{factor:.2f}"


def _over_reserved(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"queueing delay, reserving {name} times its rate"] = ms(_delay(results))
        figures[f"queueing delay of the others, {name}"] = ms(measures.queueing(results, _others))
    plain = figures["queueing delay, reserving 1.00 times its rate"]
    for name in ("1.10", "1.30"):
        more = figures[f"queueing delay, reserving {name} times its rate"]
        figures[f"delay saved by reserving {name} times the rate"] = minus(plain, more)
    return {MAIN: figures}


def _delay(results: Results) -> Values:
    return measures.queueing(results, named(LONGEST))


def _others(row: Row) -> bool:
    return bool(row["group"] != LONGEST)


def _over_reserved_panels(runs: Runs) -> tuple[Panel, ...]:
    curves = {
        "flows that reserve more": [ms(_delay(one)) for one in runs.values()],
        "all others": [ms(measures.queueing(one, _others)) for one in runs.values()],
    }
    return (
        Panel(
            "Over-reservation",
            "reservation over the flow's rate",
            "queueing delay (ms)",
            tuple(Curve(name, RESERVED, delays) for name, delays in curves.items()),
        ),
    )


MEASURES = {
    "scaled": Measure(_scaled, _scaled_settings()),
    "reference-queue": Measure(_reference_queue),
    "high-load": Measure(
        _high_load, {_load(load): [("topology.rate", f"{rate}bit")] for load, rate in LINK_RATES.items()}
    ),
    "over-reserved": Measure(_over_reserved, _over_reserved_settings(), panels=_over_reserved_panels),
}
