"""Networks from graphs: of networkx, and from GraphML and GML files such as the Topology Zoo's.

nodes, links = tidegate.graphs.network("Abilene.graphml", rate="10gbit")
scenario = tidegate.Scenario(duration="1s", node=nodes, link=links, flow=[...])
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate._tidegate import TidegateError
from tidegate.policies import Link, Node
from tidegate.quantities import Rate, Time

__all__ = ["network", "read"]

FIBRE = 2e8
"""Speed of light in fibre in m/s."""

EARTH = 6_371_000.0
"""Mean radius of the Earth in m."""

MAX_NAME = 64
"""Characters that a name has at most."""

Graph = Any
"""A graph of networkx."""


def read(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from a `.graphml` or `.gml` file.

    Raises:
        TidegateError: The file cannot be read, or is no graph; or networkx is not installed.
    """
    try:
        import networkx
    except ImportError:
        raise TidegateError('graphs need networkx: pip install "tidegate[graphs]"') from None
    file = Path(path)
    readers = {".graphml": networkx.read_graphml, ".gml": _gml}
    if file.suffix not in readers:
        raise TidegateError(f"{file}: a graph is a .graphml or a .gml file")
    try:
        return readers[file.suffix](file)
    except OSError as error:
        raise TidegateError(f"{file}: {error.strerror or error}") from error
    except Exception as error:
        raise TidegateError(f"{file}: not a graph: {error}") from error


def _gml(file: Path) -> Graph:
    """Read a GML file, also one in which nodes share labels."""
    import networkx

    return networkx.read_gml(file, label="id")


def network(
    graph: Graph | str | os.PathLike[str],
    *,
    rate: str | None = None,
    delay: str | None = None,
) -> tuple[list[Node], list[Link]]:
    """Return the switches and links of a graph, as a scenario takes them.

    A node's name is its `label` if no other node has that, or else its key; other characters than
    letters, digits, `-` and `_` become `-`. A link's rate is the edge's attribute `rate`, which is
    text as in a scenario, or `LinkSpeedRaw` in bit/s as in the Topology Zoo; `rate` where there is
    none. Its delay is the edge's attribute `delay`; or that of
    light in fibre over the great circle between its ends, where both have a `Latitude` and a
    `Longitude` in degrees; or `delay`. Every edge is a link in both directions, and in one direction
    if the graph is directed. Edges from a node to itself are left out.

    Args:
        graph: A graph of networkx, or the path of a file for `read`.
        rate: Rate of links of which the graph states none.
        delay: Delay of links of which it states none, and no places either; without it, none.

    Raises:
        TidegateError: The graph cannot be read, or a link has no rate.
    """
    if isinstance(graph, str | os.PathLike):
        graph = read(graph)
    names = _names(graph)
    nodes = [Node(name=name) for name in names.values()]
    places = {key: _place(attributes) for key, attributes in graph.nodes(data=True)}
    links = [
        Link(
            from_=names[start],
            to=names[end],
            rate=_rate(attributes, rate, f"{names[start]}-{names[end]}"),
            delay=_delay(attributes, places[start], places[end], delay),
            duplex=False if graph.is_directed() else None,
        )
        for start, end, attributes in graph.edges(data=True)
        if start != end
    ]
    return nodes, links


def _names(graph: Graph) -> dict[Any, str]:
    """Return the name of each node."""
    labels = {key: _valid(attributes.get("label", key)) for key, attributes in graph.nodes(data=True)}
    often = Counter(labels.values())
    names = {key: label if often[label] == 1 and label else _valid(key) for key, label in labels.items()}
    twice = [name for name, count in Counter(names.values()).items() if count > 1]
    if twice:
        raise TidegateError(f"two nodes of the graph are called `{twice[0]}`")
    return names


def _valid(label: object) -> str:
    """Return a label as scenarios have names: `São Paulo` is `Sao-Paulo`."""
    letters = unicodedata.normalize("NFKD", str(label)).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "-", letters).strip("-")[:MAX_NAME]


def _rate(attributes: Mapping[str, Any], default: str | None, link: str) -> str:
    stated = attributes.get("rate", default)
    if "rate" not in attributes and "LinkSpeedRaw" in attributes:
        try:
            stated = Rate(round(float(attributes["LinkSpeedRaw"])))
        except (OverflowError, TidegateError, TypeError, ValueError) as error:
            raise TidegateError(
                f"link {link}: the `LinkSpeedRaw` {attributes['LinkSpeedRaw']!r} is not a rate in bit/s"
            ) from error
    if stated is None:
        raise TidegateError(f"link {link}: the graph states no rate; give one for such links")
    return str(stated)


def _place(attributes: Mapping[str, Any]) -> tuple[float, float] | None:
    try:
        return math.radians(float(attributes["Latitude"])), math.radians(float(attributes["Longitude"]))
    except (KeyError, TypeError, ValueError):
        return None


def _delay(
    attributes: Mapping[str, Any],
    start: Sequence[float] | None,
    end: Sequence[float] | None,
    default: str | None,
) -> str | None:
    if "delay" in attributes:
        return str(attributes["delay"])
    if start is None or end is None:
        return default
    half = [(end[axis] - start[axis]) / 2 for axis in (0, 1)]
    chord = math.sin(half[0]) ** 2 + math.cos(start[0]) * math.cos(end[0]) * math.sin(half[1]) ** 2
    metres = 2 * EARTH * math.asin(math.sqrt(min(1.0, chord)))
    # Whole microseconds: places are not known better.
    return str(Time(round(metres / FIBRE, 6)))
