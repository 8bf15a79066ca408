"""The topology `graph`: networks of the Internet Topology Zoo, as networkx reads the same files."""

import io
import math
import re
import tarfile
from pathlib import Path
from typing import Any

import networkx
import pytest

import tidegate
from captures import DATA
from conftest import call
from tidegate import backends
from tidegate.source import resolve

ZOO = DATA / "topology/zoo"
ALL = DATA / "topology/InternetTopologyZoo-graphml.tar.gz"
needs_zoo = pytest.mark.skipif(not ZOO.is_dir(), reason="needs the Topology Zoo in ../shared/data")
SCENARIO = """version = 1
name = "graph"
duration = "1s"
topology = {{ kind = "graph", file = "{file}", rate = "10gbit"{keys} }}
"""
FLOW = """[[flow]]
name = "a"
from = "{start}"
to = "{end}"
size = "1250B"
source = {{ kind = "cbr", rate = "10mbit" }}
"""
TRIANGLE = """graph [
  node [ id 1 label "a" ] node [ id 2 label "b" ] node [ id 3 label "c" ]
  edge [ source 1 target 2 LinkSpeedRaw 1e7 ] edge [ source 2 target 3 ]
]
"""


def network(file: Path, first: str, keys: str = "") -> dict[str, Any]:
    """Return the nodes and links of a scenario of a graph, hosts and their links behind all others.

    Args:
        file: The graph.
        first: The label of its first node, or its id with an n before it.
        keys: More keys of the topology.
    """
    name = "-".join(re.findall(r"\w+", first, re.ASCII))[:48]
    text = SCENARIO.format(file=file, keys=f', access = {{ rate = "1gbit" }}{keys}')
    text += FLOW.format(start=f"{name}-host", end=name)
    return backends.network(resolve(text).scenario)


def first_of(graph: networkx.MultiGraph) -> str:
    """Return the label of the first node, or its id with an n before it."""
    first = next(iter(graph))
    label = str(graph.nodes[first].get("label", "None"))
    return label if re.search(r"\w", label, re.ASCII) and label != "None" else f"n{first}"


def read(file: Path | io.BytesIO) -> networkx.MultiGraph:
    """Return what networkx reads, without edges from a node to itself."""
    graph = networkx.read_graphml(file, force_multigraph=True)
    graph.remove_edges_from(list(networkx.selfloop_edges(graph, keys=True)))
    return graph


def kilometres(one: dict, other: dict) -> float:
    """Return the distance of two places by the law of cosines."""
    (here, east), (there, west) = (
        (math.radians(float(end["Latitude"])), math.radians(float(end["Longitude"]))) for end in (one, other)
    )
    cosine = math.sin(here) * math.sin(there) + math.cos(here) * math.cos(there) * math.cos(east - west)
    return 6371.0088 * math.acos(max(-1.0, min(1.0, cosine)))


def delay_of(graph: networkx.MultiGraph, start: str, end: str) -> float:
    """Return the delay of an edge in s: 5 us a km, and 1 ms where a place is not known."""
    ends = graph.nodes[start], graph.nodes[end]
    known = all("Latitude" in one and "Longitude" in one for one in ends)
    return kilometres(*ends) * 5e-6 if known else 1e-3


@needs_zoo
@pytest.mark.parametrize("name", ["Abilene", "Geant2012", "Nsfnet", "Dfn", "Uunet", "Arpanet196912"])
def test_links_have_the_speeds_and_delays_of_the_file(name: str) -> None:
    graph = read(ZOO / f"{name}.graphml")
    found = network(ZOO / f"{name}.graphml", first_of(graph), ', delay = "1ms"')
    ids = list(graph)
    between = found["links"][: 2 * graph.number_of_edges()]
    ours = sorted((link["from"], link["to"], link["rate"], link["delay"]) for link in between)
    theirs = []
    for start, end, data in graph.edges(data=True):
        rate = round(data.get("LinkSpeedRaw", 0)) or 10_000_000_000
        delay = delay_of(graph, start, end)
        for one, other in ((start, end), (end, start)):
            theirs.append((ids.index(one), ids.index(other), rate, delay))
    for here, there in zip(ours, sorted(theirs), strict=True):
        assert here[:3] == there[:3]
        assert here[3] == pytest.approx(there[3], abs=2e-9)


@needs_zoo
def test_every_network_of_the_zoo_is_read(tmp_path: Path) -> None:
    counted = 0
    with tarfile.open(ALL) as files:
        for member in files:
            if not member.name.endswith(".graphml"):
                continue
            content = files.extractfile(member)
            assert content is not None
            text = content.read()
            graph = read(io.BytesIO(text))
            file = tmp_path / "network.graphml"
            file.write_bytes(text)
            found = network(file, first_of(graph))
            names = [node["name"] for node in found["nodes"]]
            assert len(set(names)) == len(names) == 2 * len(graph)
            assert len(found["links"]) == 2 * (graph.number_of_edges() + len(graph))
            counted += 1
    assert counted > 250


@needs_zoo
def test_gml_as_networkx_writes_it_is_the_same_network(tmp_path: Path) -> None:
    graph = networkx.read_graphml(ZOO / "Geant2012.graphml", force_multigraph=True)
    networkx.write_gml(
        networkx.relabel_nodes(graph, {one: int(one) for one in graph}), tmp_path / "g.gml", str
    )
    text = (tmp_path / "g.gml").read_text()
    # It writes its own labels in place of the file's.
    assert text.count("  node [") == len(graph)
    ours = network(ZOO / "Geant2012.graphml", first_of(graph))
    other = network(tmp_path / "g.gml", "0")
    for key in ("from", "to", "rate", "delay"):
        assert [link[key] for link in ours["links"]] == [link[key] for link in other["links"]]


def test_packets_take_the_delay_of_the_fibre(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text(
        'graph [ node [ id 1 label "West End" Latitude 0.0 Longitude 0.0 ]\n'
        'node [ id 2 label "East End" Latitude 0.0 Longitude 10.0 ] edge [ source 1 target 2 ] ]'
    )
    text = SCENARIO.format(file=tmp_path / "g.gml", keys="") + FLOW.format(start="West-End", end="East-End")
    delay = tidegate.simulate(text).groups["a"].delay_mean.mean
    # A degree of the equator is 111.19 km; a packet is 1 us long.
    assert delay == pytest.approx(10 * 111.195 * 5e-6 + 1e-6, rel=1e-4)


def test_an_edge_without_a_speed_needs_a_rate(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text(TRIANGLE)
    scenario = tmp_path / "a.toml"
    scenario.write_text(SCENARIO.format(file="g.gml", keys="").replace(', rate = "10gbit"', ""))
    refused = call("check", str(scenario))
    assert refused.exit_code == 1
    assert "the edge from b to c states no speed, and there is no `rate`" in refused.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.graphml", TRIANGLE, "is not a graph in GraphML"),
        ("g.gml", "graph [ node [ id 1 ]", "is not a graph in GML: it ends within a list"),
        ("g.gml", "\x00", "is not a graph in GML"),
        ("g.graphml", "", "is not a graph in GraphML"),
    ],
)
def test_a_file_that_is_no_graph_is_told(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    scenario = tmp_path / "a.toml"
    scenario.write_text(SCENARIO.format(file=name, keys=""))
    refused = call("check", str(scenario))
    assert refused.exit_code == 1
    assert said in refused.stderr


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    for name in ("missing.graphml", "."):
        scenario = tmp_path / "a.toml"
        scenario.write_text(SCENARIO.format(file=name, keys=""))
        refused = call("check", str(scenario))
        assert refused.exit_code == 1
        assert "cannot read" in refused.stderr
