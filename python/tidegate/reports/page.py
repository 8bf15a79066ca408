"""The page: blocks as HTML that needs no other file and no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby

from tidegate.reports import charts
from tidegate.reports.blocks import Block, Chart, Page

TEMPLATE = "page.html"


def html(page: Page) -> str:
    """Return a report as the text of a page."""
    from bokeh.embed import components
    from bokeh.resources import Resources
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("tidegate.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found = list(_charts(page))
    made = [charts.drawn(chart, f"chart-{number}") for number, chart in enumerate(found)]
    script, places = components([figure for figure, _ in made], wrap_script=False) if made else ("", ())
    library = Resources(mode="inline", components=["bokeh"], log_level="warn").js_raw if made else []
    parts = {
        id(chart): (number, entries, Markup(places[number]))
        for number, (chart, (_, entries)) in enumerate(zip(found, made, strict=True))
    }
    environment.filters["side_by_side"] = _side_by_side
    text: str = environment.get_template(TEMPLATE).render(
        page=page,
        charts=lambda chart: parts[id(chart)],
        kind=lambda block: type(block).__name__,
        address=address,
        style=Markup(_file("style.css")),
        scripts=[Markup(_inline(one)) for one in (*library, script, _file("page.js"))] if made else [],
    )
    return text


def address(number: int, heading: str) -> str:
    """Return the identifier of a heading: no other section of the page has its number."""
    words = re.findall("[a-z0-9]+", heading.lower())
    return "-".join(["part", str(number), *words])


def _side_by_side(blocks: Sequence[Block]) -> list[tuple[bool, list[Block]]]:
    """Return blocks in parts of charts, which stand side by side, and of others."""
    parts = groupby(blocks, key=lambda block: isinstance(block, Chart))
    return [(charted, list(part)) for charted, part in parts]


def _charts(page: Page) -> Iterable[Chart]:
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                yield block


def _file(name: str) -> str:
    return (files("tidegate.reports") / "page" / name).read_text(encoding="utf-8")


def _inline(script: str) -> str:
    """Return a script that no text in it can end early."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
