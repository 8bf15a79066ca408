"""Networks from graphs."""

from pathlib import Path

import pytest

import tidegate
from tidegate import TidegateError, graphs

networkx = pytest.importorskip("networkx")

ZOO = Path(__file__).parents[2] / "shared" / "data"


def test_a_graph_becomes_a_network_that_runs():
    graph = networkx.Graph()
    graph.add_edge("a", "b", rate="1mbit", delay="5ms")
    graph.add_edge("b", "c", LinkSpeedRaw="2000000.0")
    graph.add_edge("c", "c")
    nodes, links = graphs.network(graph, delay="1ms")
    assert [node.name for node in nodes] == ["a", "b", "c"]
    assert [(link.from_, link.to, link.rate, link.delay) for link in links] == [
        ("a", "b", "1mbit", "5ms"),
        ("b", "c", "2000000bit", "1ms"),
    ]
    flow = tidegate.Flow(name="data", from_="a", to="c", size="250B", source=tidegate.Poisson(rate="400kbit"))
    scenario = tidegate.Scenario(duration="1s", node=nodes, link=links, flow=[flow])
    assert tidegate.simulate(scenario).flows["hops"].to_pylist() == [2]


def test_a_directed_graph_has_links_in_one_direction():
    _, links = graphs.network(networkx.DiGraph([("a", "b")]), rate="1mbit")
    assert [link.duplex for link in links] == [False]


def test_delays_follow_from_places():
    graph = networkx.Graph()
    graph.add_node(0, label="Berlin", Latitude=52.52, Longitude=13.405)
    graph.add_node(1, label="Paris", Latitude=48.8566, Longitude=2.3522)
    graph.add_edge(0, 1)
    nodes, (link,) = graphs.network(graph, rate="10gbit")
    assert [node.name for node in nodes] == ["Berlin", "Paris"]
    # 878 km, as geographers state it.
    assert tidegate.parse_time(link.delay) == pytest.approx(878e3 / 2e8, rel=0.005)


def test_a_gml_file_is_read_with_labels_that_are_shared(tmp_path):
    (tmp_path / "a.gml").write_text(
        'graph [ node [ id 0 label "A" ] node [ id 1 label "B" ] node [ id 2 label "B" ]'
        " edge [ source 0 target 1 LinkSpeedRaw 2000000.0 ] edge [ source 1 target 2 ] ]"
    )
    nodes, links = graphs.network(tmp_path / "a.gml", rate="1mbit")
    assert [node.name for node in nodes] == ["A", "1", "2"]
    assert [(link.from_, link.to, link.rate) for link in links] == [
        ("A", "1", "2000000bit"),
        ("1", "2", "1mbit"),
    ]


def test_nodes_that_share_a_label_keep_their_keys():
    graph = networkx.Graph()
    graph.add_node(0, label="X")
    graph.add_node(1, label="X")
    graph.add_node(2, label="")
    graph.add_node(3, label="São Paulo (SP)")
    assert [node.name for node in graphs.network(graph)[0]] == ["0", "1", "2", "Sao-Paulo-SP"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "a graph is a .graphml or a .gml file"),
        ("a.graphml", "<x", "not a graph: "),
        ("a.gml", "graph [ node [", "not a graph: "),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(TidegateError, match=message):
        graphs.read(tmp_path / name)
    with pytest.raises(TidegateError, match="No such file"):
        graphs.read(tmp_path / "missing.gml")


def test_a_link_without_a_rate_is_refused():
    with pytest.raises(TidegateError, match="link a-b: the graph states no rate"):
        graphs.network(networkx.Graph([("a", "b")]))
    for stated in ("fast", float("inf"), 0):
        graph = networkx.Graph()
        graph.add_edge("a", "b", LinkSpeedRaw=stated)
        with pytest.raises(TidegateError, match=r"link a-b: the `LinkSpeedRaw` .* is not a rate in bit/s"):
            graphs.network(graph)
    graph = networkx.Graph()
    graph.add_node(0, label="1")
    graph.add_node(1, label="")
    with pytest.raises(TidegateError, match="two nodes of the graph are called `1`"):
        graphs.network(graph)


def test_every_topology_of_the_zoo_is_a_network():
    files = sorted(ZOO.rglob("*.graphml"))
    if not files:
        pytest.skip("no .graphml files in ../shared/data")
    for file in files:
        nodes, links = graphs.network(file, rate="1gbit", delay="1ms")
        names = {node.name for node in nodes}
        assert names
        assert all({link.from_, link.to} <= names for link in links), file
        if links:
            flow = tidegate.Flow(
                name="data",
                from_=links[0].from_,
                to=links[0].to,
                size="1kB",
                source=tidegate.Cbr(rate="8mbit"),
            )
            run = tidegate.simulate(tidegate.Scenario(duration="50ms", node=nodes, link=links, flow=[flow]))
            assert run.packet_hops >= 45, file


def test_the_page_makes_a_network_of_abilene(monkeypatch, capsys):
    files = list(ZOO.rglob("Abilene.graphml"))
    if not files:
        pytest.skip("no Abilene.graphml in ../shared/data")
    monkeypatch.chdir(files[0].parent)
    page = (Path(__file__).parents[1] / "docs" / "fabrics.md").read_text()
    exec(page.partition("```python\n")[2].partition("```")[0], {})
    delay = float("".join(c for c in capsys.readouterr().out if c in "0123456789."))
    # New York to Seattle are some 3,900 km along a great circle.
    assert 3.9e6 / 2e8 < delay < 0.05
