"""A network that is not ABR between two ABR segments: a frame relay service, or a circuit."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate import Results
from tidegate.source import Overrides
from tidegate.summary import Values
from tidegate_papers import measures
from tidegate_papers.claims import MAIN, Columns
from tidegate_papers.measures import Row
from tidegate_papers.paper import Measure, Runs
from tidegate_papers.vsvd.common import KCELLS, MBIT, SAMPLED, Figures, longest, samples, spacing

SEGMENTS = {"first segment": "vc1", "cloud": "vc1 on sw1->in1", "second segment": "vc1 on sw2->sw3"}
"""Whose ACR is that of VC 1 in each segment."""

ALONE, SHARED = (0.1, 0.15), (0.2, 0.25)
"""Seconds before VC 3 comes on behind the cloud, and while it sends."""

BORDERS = ("sw1-in1", "sw2-sw3")
"""Where VS/VD stands: where cells enter the cloud, and behind it."""

COMMITTED = '"40mbit"'

SERVICES: dict[str, Overrides] = {
    "frame relay": [],
    "circuit": [("link.in1-in2.meter", '"flow-monitor"'), ("link.in1-in2.rate", COMMITTED)],
}
"""The cloud: a committed rate that is policed, or a line of that rate."""

# = kalyanaraman1998 8
BORDER: Overrides = [("link.sw1-in1.ceiling", COMMITTED), *((f"link.{one}.vsvd", "{}") for one in BORDERS)]
"""Both borders end the loops, and the first one does not send faster than the cloud carries."""


def _lost(results: Results) -> Values:
    """Return the cells of all VCs that were dropped: only the cloud has ports that drop."""
    return [float(sum(row["dropped_packets"] for row in rows)) for rows in measures.flows(results, _all)]


def _all(_: Row) -> bool:
    return True


def _rate(results: Results, subject: str, span: tuple[float, float]) -> Values:
    step = spacing(results)
    part = slice(round(span[0] / step), round(span[1] / step))
    return [float(run[part].mean()) / MBIT for run in samples(results, subject, "acr")]


def _figures(runs: Runs, _: Mapping[str, Columns]) -> Columns:
    figures: Figures = {}
    for name, results in runs.items():
        figures[f"cells lost in the cloud, {name}"] = _lost(results)
        if name.endswith("no border"):
            continue
        for segment, subject in SEGMENTS.items():
            figures[f"{segment}, {name}"] = _rate(results, subject, ALONE)
            figures[f"{segment} beside VC 3, {name}"] = _rate(results, subject, SHARED)
        waiting = zip(
            *(samples(results, f"{vc} on sw1->in1", "vc_queue") for vc in ("vc1", "vc2")), strict=True
        )
        figures[f"per-VC queues of the border, {name}"] = [
            float((one + other).max()) / KCELLS for one, other in waiting
        ]
        figures[f"class queue of the border, {name}"] = longest(results, "sw1->in1")
    return {MAIN: figures}


MEASURES = {
    "cloud": Measure(
        _figures,
        {
            f"{service}{name}": [*sets, *border]
            for service, sets in SERVICES.items()
            for name, border in (("", BORDER), (", no border", []))
        },
        series=SAMPLED,
    )
}
"""Measures of this file, by their names."""
