"""The drawing of a network, with the rates and the load of its links."""

from __future__ import annotations

import io
import re
from pathlib import Path

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.plots.topology import topology
from tidegate.reports.blocks import Block, Drawing, Notes
from tidegate.results import Results
from tidegate.show import plural, with_interval
from tidegate.summary import LinkSummary

MAX_NAMED = 3
"""Busiest links that are named."""

BUSY = 0.5
"""Least share of the time in which a link sends that is called busy."""


def of_results(results: Results) -> list[Block]:
    """Return the network of results, with the measured utilisation of its links."""
    busy = busiest(results)
    named = ", ".join(f"{row.link} ({with_interval(row.utilisation, 'share')})" for row in busy)
    caption = "Links have their rate, delay and utilisation; thick and dark ones are busy."
    if named:
        caption += f" Busiest: {named}."
    try:
        return [_drawing(results.scenario(), results, caption)]
    except TidegateError as error:
        return [_not_drawn(error)]


def of_text(text: str, name: str, base_dir: Path | None) -> list[Block]:
    """Return the network of a scenario, with the load that its sources offer."""
    try:
        scenario = _tidegate.Scenario.parse(text, name, base_dir or Path())
        caption = "Links have their rate, delay and the load that the sources offer, as the scenario is."
        return [_drawing(scenario, None, caption)]
    except TidegateError as error:
        return [_not_drawn(error)]


def busiest(results: Results) -> list[LinkSummary]:
    """Return the links with the greatest utilisation, the greatest first."""
    busy = [row for row in results.link_rows() if (row.utilisation.mean or 0.0) >= BUSY]
    return sorted(busy, key=lambda row: -(row.utilisation.mean or 0.0))[:MAX_NAMED]


def _drawing(scenario: _tidegate.Scenario, results: Results | None, caption: str) -> Drawing:
    figure = topology(scenario if results is None else results)
    links = plural(len(scenario.links), "one-way link")
    label = f"Network of {scenario.name} with {links}"
    return Drawing(_svg(figure), label, caption)


def _not_drawn(error: TidegateError) -> Notes:
    return Notes([f"The network is not drawn: {error}"])


def _svg(figure: object) -> str:
    """Return a figure of matplotlib as an element that fits its place in a page."""
    import matplotlib as mpl

    out = io.StringIO()
    # Text stays text, and names within the drawing are the same each time.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tidegate"}):
        figure.savefig(out, format="svg", metadata={"Date": None})  # type: ignore[attr-defined]
    text = out.getvalue()
    element = text[text.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    head, rest = element.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} aria-hidden="true">{rest}'
