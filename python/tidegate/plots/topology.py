"""The topology of a scenario, with the rates of its links and their load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate import _tidegate
from tidegate._tidegate import TidegateError
from tidegate.plots.style import MUTED, RC, new_figure
from tidegate.results import Results
from tidegate.show import plural, quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LABELLED = 24
"""Most links that have their rate and load beside them."""

MAX_NAMED = 120
"""Most nodes that have their names in them."""

SMALL, LARGE = (8.0, 5.0), (14.0, 9.0)
"""Sizes of the figure in inches, for few nodes and for many."""

MANY = 30
"""Nodes above which the figure is large."""

LAYOUT_STEPS = 400

CROWDED = 7
"""Links between two levels from which their labels are not all as high."""

NEARER = (0.5, 0.3)
"""Places of the labels of neighbouring links then, from the lower end."""

IDLE = "#bbbbbb"
SHOWN = 0.01
"""Least load that is shown, as a share."""


@dataclass(frozen=True)
class _Cable:
    """Both directions of a link.

    Attributes:
        ends: The nodes, by index.
        rate: The higher rate of the two in bit/s.
        delay: The longer delay in seconds.
        load: The higher load of the two, as a share of its rate; None if it is not known.
        nth: Its number among those between the same nodes, from 0.
    """

    ends: tuple[int, int]
    rate: float
    delay: float
    load: float | None
    nth: int


def topology(source: _tidegate.Scenario | Results) -> Figure:
    """Draw the nodes and links of a scenario, with rate, delay and load of each link.

    Of results the load is the measured utilisation, the higher one of both directions. Of a scenario it
    is the mean rate of the sources on it, as a share of the link's rate; a link that is the slowest on
    the route of a flow that sends as much as it can counts as full, and transfers are not counted.

    Args:
        source: A loaded scenario, or results of one.

    Raises:
        TidegateError: networkx is not installed, or the scenario of results has gone.
    """
    scenario = source.scenario() if isinstance(source, Results) else source
    network = json.loads(scenario.network_json())
    loads = _measured(source) if isinstance(source, Results) else _offered(scenario)
    return _drawn(
        scenario.name, network["nodes"], _cables(network["links"], loads), isinstance(source, Results)
    )


def _measured(results: Results) -> dict[str, float | None]:
    return {row.link: row.utilisation.mean for row in results.link_rows()}


def _offered(scenario: _tidegate.Scenario) -> dict[str, float | None]:
    """Return the load of each link by what the sources send."""
    rates = [capacity[1] for capacity in scenario.capacities()]
    offered = [0.0] * len(rates)
    for demand in scenario.demands():
        parts = zip(demand["capacities"], demand["parts"], strict=True)
        route = {index: part for index, part in parts if index < len(scenario.links)}
        if demand["rate"] is not None:
            for index, part in route.items():
                offered[index] += demand["rate"] * part
        elif demand["everything"] and route:
            slowest = min(route, key=lambda index: rates[index])
            offered[slowest] = max(offered[slowest], rates[slowest])
    return {name: offered[index] / rates[index] for index, name in enumerate(scenario.links)}


def _cables(links: list[Mapping[str, Any]], loads: Mapping[str, float | None]) -> list[_Cable]:
    """Join the two directions of each link."""
    found: dict[tuple[int, int, str], list[Mapping[str, Any]]] = {}
    for link in links:
        first, second = sorted((link["from"], link["to"]))
        nth = link["name"].partition("#")[2]
        found.setdefault((first, second, nth), []).append(link)
    cables = []
    for (first, second, nth), both in found.items():
        known = [load for link in both if (load := loads.get(link["name"])) is not None]
        cables.append(
            _Cable(
                (first, second),
                max(link["rate"] for link in both),
                max(link["delay"] for link in both),
                max(known, default=None),
                int(nth or 1) - 1,
            )
        )
    return cables


def _drawn(name: str, nodes: list[Mapping[str, Any]], cables: list[_Cable], is_measured: bool) -> Figure:
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    places = _places(len(nodes), cables)
    with mpl.rc_context(RC):
        figure = new_figure(*(LARGE if len(nodes) > MANY else SMALL))
        axes = figure.subplots()
        axes.set_axis_off()
        # From light to dark, in any colour vision and in print.
        colours, scale = mpl.colormaps["viridis_r"], Normalize(0.0, 1.0)
        for cable, at in zip(cables, _label_places(cables, places), strict=True):
            (x0, y0), (x1, y1) = places[cable.ends[0]], places[cable.ends[1]]
            load = cable.load or 0.0
            bend = 0.0 if not cable.nth else 0.15 * ((cable.nth + 1) // 2) * (-1) ** cable.nth
            axes.annotate(
                "",
                (x1, y1),
                (x0, y0),
                arrowprops={
                    "arrowstyle": "-",
                    "connectionstyle": f"arc3,rad={bend}",
                    "color": colours(scale(min(load, 1.0))) if load >= SHOWN else IDLE,
                    "linewidth": 1.0 + 4.0 * min(load, 1.0),
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
            if len(cables) <= MAX_LABELLED:
                along = (x0 + at * (x1 - x0), y0 + at * (y1 - y0))
                middle = (along[0] - bend * (y1 - y0) / 2, along[1] + bend * (x1 - x0) / 2)
                axes.annotate(
                    _label(cable),
                    middle,
                    ha="center",
                    va="center",
                    fontsize=7,
                    bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
                )
        _draw_nodes(axes, nodes, cables, places)
        axes.margins(0.1)
        axes.set_title(f"{name}: {plural(len(nodes), 'node')}, {plural(len(cables), 'link')}")
        if any((cable.load or 0.0) >= SHOWN for cable in cables):
            bar = figure.colorbar(mpl.cm.ScalarMappable(scale, colours), ax=axes, shrink=0.6, pad=0.02)
            bar.set_label("utilisation" if is_measured else "load that the sources offer")
            bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    return figure


def _label_places(cables: list[_Cable], places: Any) -> list[float]:
    """Return where on each link its label stands; those of links side by side are not all as high."""
    beside: dict[tuple[float, float], list[int]] = {}
    for index, cable in enumerate(cables):
        heights = [places[end][1] for end in cable.ends]
        if heights[0] != heights[1]:
            beside.setdefault((min(heights), max(heights)), []).append(index)
    found = [0.5] * len(cables)
    for row in beside.values():
        if len(row) >= CROWDED:
            row.sort(key=lambda index: sum(places[end][0] for end in cables[index].ends))
            for nth, index in enumerate(row):
                low = min(cables[index].ends, key=lambda end: places[end][1])
                share = NEARER[nth % len(NEARER)]
                found[index] = share if low == cables[index].ends[0] else 1 - share
    return found


def _label(cable: _Cable) -> str:
    """Return what stands beside a link."""
    lines = [_short(cable.rate, "bit/s")]
    if cable.delay:
        lines.append(_short(cable.delay, "s"))
    if cable.load is not None and cable.load >= SHOWN:
        lines.append(f"{100 * cable.load:.0f} %")
    return "\n".join(lines)


def _short(value: float, unit: str) -> str:
    """Return a quantity without zeros behind its point."""
    number, _, scaled = quantity(value, unit).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {scaled}"


def _draw_nodes(axes: Any, nodes: list[Mapping[str, Any]], cables: list[_Cable], places: Any) -> None:
    """Draw switches as squares and hosts, which have one link, as circles."""
    degree = [0] * len(nodes)
    for cable in cables:
        for end in cable.ends:
            degree[end] += 1
    for marker, wanted in (("s", False), ("o", True)):
        chosen = [index for index in range(len(nodes)) if (degree[index] <= 1) == wanted]
        size = 12 if len(nodes) > MAX_NAMED else 260
        axes.scatter(
            [places[index][0] for index in chosen],
            [places[index][1] for index in chosen],
            s=size, marker=marker, c="white", edgecolors=MUTED, zorder=3,
        )  # fmt: skip
    if len(nodes) <= MAX_NAMED:
        for index, node in enumerate(nodes):
            axes.annotate(node["name"], places[index], ha="center", va="center", fontsize=7, zorder=4)


def _places(count: int, cables: list[_Cable]) -> Any:
    """Return a place for each node, the same every time: in levels, if the links allow it."""
    levels = _levels(count, cables)
    if levels is not None:
        return levels
    try:
        import networkx as nx
    except ImportError:
        raise TidegateError("a topology is laid out by networkx: pip install 'tidegate[graphs]'") from None
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(cable.ends for cable in cables)
    return nx.spring_layout(graph, iterations=LAYOUT_STEPS, seed=1)


def _levels(count: int, cables: list[_Cable]) -> list[tuple[float, float]] | None:
    """Return places in levels by the number of links to the nearest host, hosts at the bottom.

    None where that shows little: no node is a host, or links join nodes of a level that are not side
    by side.
    """
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for cable in cables:
        first, second = cable.ends
        neighbours[first].append(second)
        neighbours[second].append(first)
    hosts = [index for index in range(count) if len(set(neighbours[index])) == 1]
    level = dict.fromkeys(hosts, 0)
    reached = hosts
    while reached:
        beyond = {after for index in reached for after in neighbours[index]} - level.keys()
        level |= dict.fromkeys(beyond, level[reached[0]] + 1)
        reached = sorted(beyond)
    if len(level) < count or len(hosts) == count:
        return None
    rows = [
        [index for index in range(count) if level[index] == one] for one in range(max(level.values()) + 1)
    ]
    order = {index: place for row in rows[1:] for place, index in enumerate(row)}
    # Hosts are below their switches.
    rows[0].sort(key=lambda host: (order[neighbours[host][0]], host))
    for cable in cables:
        first, second = cable.ends
        if level[first] == level[second] and abs(order[first] - order[second]) > 1:
            return None
    width = max(len(row) for row in rows)
    places = [(0.0, 0.0)] * count
    for height, row in enumerate(rows):
        for place, index in enumerate(row):
            places[index] = ((place + 0.5) * width / len(row), float(height))
    return places
