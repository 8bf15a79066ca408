"""AI from 1/AR to the length of the run, between TDM and FIFO, and leaky buckets beside (sections 2.2, 5, 6).

It is Test One, with the envelope of a flow as deep as AR * AI. Waiting in an envelope is the
source's own and does not count as queueing; what an envelope discards is what it costs.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import estimate
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.curves import Curve, Level, Panel
from tidegate_papers.measures import everything, minus
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.virtualclock.common import FIFO, PACKET, PATHS, Figures, ms

RATE = 10
"""AR of every flow in packets/s."""

SHORTEST = 1 / RATE
INTERVALS = (SHORTEST, 0.2, 0.4, 0.8, 1.2, 2.4, 6, 15, 60, 300)
"""AI in seconds; the last is as long as what is measured of the run."""

LINKS = ("s1-s2", "s2-s3", "s3-s4")

UNLIMITED = 10**6
"""Packets of a burst that no source comes near."""

QUEUE = "20p"
"""Longest queue at a source, as in Test One."""

AIR = 12
"""Packets of Test One's envelope, and of the leaky buckets."""

NAMED = {SHORTEST: "AI = 1/AR", 1.2: "AI = 1.2 s", 6: "AI = 6 s", 60: "AI = 60 s", 300: "AI = the run"}
"""Average intervals of the table; the others are in the picture."""


def _name(interval: float) -> str:
    return NAMED.get(interval, f"AI = {interval:g} s")


def _settings() -> dict[str, Overrides]:
    settings: dict[str, Overrides] = {
        _name(interval): [
            *_envelopes(round(interval * RATE), QUEUE),
            *((f"flow.{path}.interval", f"{interval:g}s") for path in PATHS),
        ]
        for interval in INTERVALS
    }
    tdm = f'{{ kind = "tdm", rate = "400kbit", slot = "{PACKET}B", slots = 20 }}'
    settings["TDM"] = [*_envelopes(1, QUEUE), *((f"link.{link}.scheduler", tdm) for link in LINKS)]
    settings["FIFO"] = [*FIFO, *_envelopes(UNLIMITED, QUEUE)]
    settings["leaky bucket"] = [*FIFO, *_envelopes(1, f"{AIR}p")]
    settings["credits, dropped"] = [*FIFO, *_excess("drop")]
    marked = f'{{ kind = "drop-tail", limit = "100p", marked = "{AIR}p" }}'
    settings["credits, marked"] = [
        *FIFO,
        *_excess("mark"),
        *((f"link.{link}.dropper", marked) for link in LINKS),
    ]
    return settings


def _envelopes(burst: int, queue: str) -> Overrides:
    # Without a limit on the burst there is none on its rate.
    peak = "" if burst == UNLIMITED else ', peak = "40kbit"'
    envelope = f'{{ rate = "20kbit", burst = "{burst * PACKET}B"{peak}, queue = "{queue}" }}'
    return [(f"flow.{path}.envelope", envelope) for path in PATHS]


def _excess(fate: str) -> Overrides:
    envelope = f'{{ rate = "20kbit", burst = "{AIR * PACKET}B", excess = "{fate}" }}'
    return [(f"flow.{path}.envelope", envelope) for path in PATHS]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures |= {
            f"queueing delay, {name}": _delay(results),
            f"discarded, {name}": measures.share_discarded(results, everything),
            f"lost in the network, {name}": measures.share_lost(results, everything),
        }
    delay, discarded = "queueing delay", "discarded"
    for what, more, one in (
        (delay, "AI = 1.2 s", "AI = 1/AR"),
        (delay, "AI = the run", "AI = 1.2 s"),
        (delay, "TDM", "AI = 1/AR"),
        (delay, "FIFO", "AI = the run"),
        (discarded, "AI = 1/AR", "AI = 1.2 s"),
        (discarded, "AI = 1.2 s", "AI = the run"),
        (discarded, "leaky bucket", "AI = 1.2 s"),
        (discarded, "credits, dropped", "AI = 1.2 s"),
    ):
        over = minus(figures[f"{what}, {more}"], figures[f"{what}, {one}"])
        figures[f"{what}, {more}, over {one}"] = over
    return {MAIN: figures}


def _delay(results: Results) -> list[float | None]:
    return ms(measures.queueing(results, everything))


def _panels(runs: Runs) -> tuple[Panel, ...]:
    swept = [runs[_name(interval)] for interval in INTERVALS]
    delays = tuple(
        Level(mean, name) for name in ("TDM", "FIFO") if (mean := estimate(_delay(runs[name])).mean)
    )
    cut = {
        "by the envelope": [measures.share_discarded(one, everything) for one in swept],
        "in the network": [measures.share_lost(one, everything) for one in swept],
    }
    return (
        Panel(
            "What waits in the network",
            "AI (s)",
            "queueing delay (ms)",
            (Curve("VirtualClock", INTERVALS, [_delay(one) for one in swept]),),
            log_x=True,
            log_y=True,
            levels=delays,
        ),
        Panel(
            "What is lost",
            "AI (s)",
            "share of packets (%)",
            tuple(Curve(name, INTERVALS, shares) for name, shares in cut.items()),
            log_x=True,
        ),
    )


SPECTRUM = Measure(_figures, _settings(), panels=_panels)
